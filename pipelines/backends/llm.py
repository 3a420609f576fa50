"""The backend with a language model: GraphRAG's indexing (Edge et al. 2024, arXiv 2404.16130, section 3.1)."""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Protocol

from conspectus.pipelines.backends.base import Descriptions, Extraction, Reports
from conspectus.pipelines.resolution.corrections import Rule
from conspectus.pipelines.runner import Pending, Progress
from conspectus.pipelines.steps.communities import Division, Earlier, divide
from conspectus.pipelines.steps.descriptions import DescriptionWriter
from conspectus.pipelines.steps.extract.llm import Guidance, extract_chunks
from conspectus.pipelines.steps.extract.merge import with_descriptions
from conspectus.pipelines.steps.extract.merge_llm import merge_extractions, with_predicate
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.reports.llm import write_reports
from conspectus.pipelines.steps.reports.prompt import Elements, claim_group
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.batch import Outbox
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.event_loop import gather_all, wait_for
from conspectus.prompts.client.usage_and_cost import Meter, Spending
from conspectus.prompts.language_model import LanguageModel
from conspectus.prompts.replies.structured import Remembering, Retried, Retrying
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Report
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.spilled import text_column
from conspectus.storage.text.nlp import NAME, Annotation, Phrase


class MeteredModel(Remembering, Protocol):
    """A model that caches its replies and counts its spending."""

    @property
    def meter(self) -> Meter:
        """Its spending."""
        ...


class AskedModel:
    """The model of a build, and the results of its calls; with `retry` incomplete replies are requested again.

    With an `outbox` requests wait for a batch; `check` ends the build if there are any.
    """

    def __init__(self, metered: MeteredModel, *, retry: bool, outbox: Outbox | None = None) -> None:
        self._outbox = outbox
        self._meter = metered.meter
        self._retrying = Retrying(metered) if retry else None
        self.model: LanguageModel = self._retrying or metered

    @classmethod
    def of(cls, settings: Settings, memo: Memo, *, retry: bool) -> "AskedModel":
        """Return the model of the settings; results of batches are imported first.

        Raises:
            NeedsModel: The settings name none.
            InputError: The results of a batch cannot be read.
        """
        outbox = Outbox(Path(settings.build.batch), memo) if settings.build.batch else None
        if outbox:
            outbox.take_back(retry=retry)
        return cls(ModelClient(settings.llm, memo, outbox=outbox), retry=retry, outbox=outbox)

    def check(self) -> None:
        """Raise BatchWritten if requests wait for a batch: the next steps need their replies."""
        if self._outbox:
            self._outbox.check()

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to the model so far, by step."""
        return self._meter.spending()

    def retried(self) -> Retried:
        """Return the results of retries so far."""
        return self._retrying.retried if self._retrying else Retried()


class LlmBackend:
    """GraphRAG's indexing: a model extracts, summarises descriptions, and writes reports, deepest communities first.

    `retry` requests incomplete replies again. Communities of an `earlier` version are preserved if possible. Raises
    NeedsModel if the settings name no model, SettingsError if their prompts cannot be read. BudgetReached ends a step
    after its running calls have ended.
    """

    is_remote = True
    describes = True

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        progress: Progress,
        *,
        retry: bool = False,
        earlier: Earlier | None = None,
        rules: Sequence[Rule] = (),
    ) -> None:
        self._rules = rules
        self._settings = settings
        self._progress = progress
        self._earlier = earlier
        self._tuned = read_tuned(settings.extraction)
        self._asked = AskedModel.of(settings, memo, retry=retry)
        self._writer: DescriptionWriter | None = None
        self._claims: tuple[str, ...] = ()
        self.model: LanguageModel = self._asked.model

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return the model's statements about each chunk, merged (GraphRAG, sections 3.1.2 and A.1)."""
        settings, tuned = self._settings, self._tuned
        guidance = Guidance(tuned.extracts_as(), tuned.extract_examples, tuned.claims_examples)
        asking = extract_chunks(documents, chunks, settings.extraction, self.model, self._progress, guidance)
        extractions, lost = wait_for(asking)
        self._asked.check()
        merged = merge_extractions(documents, chunks, extractions, self._rules)
        return Extraction(
            merged.knowledge,
            merged.claims,
            name_phrases(chunks, merged.knowledge.mentions),
            [*lost, *merged.failures],
            entity_descriptions=merged.entity_descriptions,
            relation_descriptions=merged.relation_descriptions,
            predicates=merged.predicates,
        )

    def describe(
        self,
        documents: Sequence[Document],  # noqa: ARG002  (the protocol's)
        chunks: Sequence[Chunk],
        extraction: Extraction,
    ) -> Pending[Descriptions]:
        """Begin to summarise the descriptions of entities and relations from several chunks (section 3.1.3)."""
        self._asked.check()  # votes on names may be waiting
        self._writer = wait_for(self._begin_descriptions(chunks, extraction))
        return _SummedUp(self._writer, extraction)

    def divide(self, documents: Sequence[Document], chunks: Sequence[Chunk], extraction: Extraction) -> Division:  # noqa: ARG002  (the protocol's)
        """Return the communities of the stated relations (section 3.1.4)."""
        known = extraction.knowledge
        return divide(known.entities, known.relations, known.mentions, None, self._settings.communities, self._earlier)

    def report(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        extraction: Extraction,
        communities: Sequence[Community],
    ) -> Reports:
        """Return the model's reports (section 3.1.5). A report only waits for the descriptions of its own elements."""
        if not self._settings.reports_with:
            return self._quoting(documents, chunks, extraction, communities)
        if self._settings.build.batch and self._writer:
            wait_for(self._writer.all())
            self._asked.check()
        reports = wait_for(self._report(documents, chunks, extraction, communities))
        self._asked.check()
        return reports

    def spending(self) -> tuple[Spending, ...]:
        """Return the calls to the model so far, by step."""
        return self._asked.spending()

    def retried(self) -> Retried:
        """Return the results of retries so far."""
        return self._asked.retried()

    async def _begin_descriptions(self, chunks: Sequence[Chunk], extraction: Extraction) -> DescriptionWriter:
        knowledge = extraction.knowledge
        name_of = {entity.id: entity.name for entity in knowledge.entities}
        claims: dict[str, list[str]] = {}
        about: dict[str, str] = {}
        for claim in extraction.claims:
            id_ = claim_group(claim)
            claims.setdefault(id_, []).append(claim.description)
            about[id_] = f"the claim ({claim.type}) about {name_of[claim.subject_id]}"
        self._claims = tuple(claims)
        ends = {
            relation.id: f"{name_of[relation.source_id]} and {name_of[relation.target_id]}"
            for relation in knowledge.relations
        }
        return DescriptionWriter(
            {**name_of, **ends, **about},
            {**extraction.entity_descriptions, **extraction.relation_descriptions, **claims},
            self.model,
            {**_sources(knowledge.mentions, chunks), **_claim_sources(extraction.claims, chunks)},
        )

    def _quoting(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        extraction: Extraction,
        communities: Sequence[Community],
    ) -> Reports:
        known, sentences = extraction.knowledge, sentences_of(documents, chunks, extraction.knowledge.mentions)
        made = report_communities(
            communities, known.entities, sentences, len(chunks), self._settings.reports.min_size, documents
        )
        return Reports(made, [])

    async def _all_ready(self, writer: DescriptionWriter, ids: Iterable[str]) -> None:
        """Wait for the descriptions of some elements, and of all claims, which are listed with their entities."""
        await writer.ready((*ids, *self._claims))

    async def _report(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        extraction: Extraction,
        communities: Sequence[Community],
    ) -> Reports:
        if self._writer is None:
            raise ValueError("`describe` comes before `report`")
        known, writer = extraction.knowledge, self._writer
        reporting = asyncio.create_task(
            write_reports(
                communities,
                Elements(
                    known.entities,
                    known.relations,
                    extraction.claims,
                    known.mentions,
                    chunks,
                    writer.texts,
                    len(documents),
                ),
                self.model,
                self._settings.reports,
                Extractive(documents, chunks, known.mentions, known.entities, self._settings),
                self._tuned.reports_as(),
                partial(self._all_ready, writer),
            )
        )
        # Both finish before the error of either is raised, because their calls are paid for.
        await gather_all([asyncio.create_task(writer.all()), reporting])
        return Reports(*reporting.result())


class _SummedUp(Pending[Descriptions]):
    """Entities and relations with predicates, and with the descriptions that a writer is still working on."""

    def __init__(self, writer: DescriptionWriter, extraction: Extraction) -> None:
        self._writer = writer
        self._knowledge = extraction.knowledge
        self._predicates = extraction.predicates

    def result(self) -> Descriptions:
        failures = wait_for(self._writer.all())
        texts = self._writer.texts
        relations = [
            with_predicate(
                replace(relation, description=texts.get(relation.id, relation.description)),
                self._predicates.get(relation.id, ()),
            )
            for relation in self._knowledge.relations
        ]
        entities = self._knowledge.entities
        told = (texts.get(id_, "") for id_ in text_column(entities, "id"))
        return Descriptions(with_descriptions(entities, told), relations, failures)


def name_phrases(chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> list[Annotation]:
    """Return the names in each chunk as an annotation: the first name of an untitled text represents it."""
    named: dict[str, list[tuple[int, int, str]]] = {}
    for mention in mentions:
        if mention.entity_id and mention.start is not None and mention.end is not None:
            named.setdefault(mention.chunk_id, []).append((mention.start, mention.end, mention.surface))
    return [
        Annotation(
            tuple(
                Phrase(start - chunk.start, end - chunk.start, surface, NAME)
                for start, end, surface in sorted(named.get(chunk.id, ()))
            ),
            (),
        )
        for chunk in chunks
    ]


def _sources(mentions: Sequence[Mention], chunks: Sequence[Chunk]) -> Mapping[str, tuple[str, ...]]:
    """Return the digests of the chunk texts that mention each entity or relation."""
    digest_of = {chunk.id: digest(chunk.text) for chunk in chunks}
    found: dict[str, set[str]] = {}
    for mention in mentions:
        owner = mention.entity_id or mention.relation_id or ""
        found.setdefault(owner, set()).add(digest_of[mention.chunk_id])
    return {owner: tuple(sorted(texts)) for owner, texts in found.items()}


def _claim_sources(claims: Sequence[Claim], chunks: Sequence[Chunk]) -> dict[str, tuple[str, ...]]:
    """Return the digests of the chunks that state the claims of each group."""
    digest_of = {chunk.id: digest(chunk.text) for chunk in chunks}
    found: dict[str, set[str]] = {}
    for claim in claims:
        found.setdefault(claim_group(claim), set()).add(digest_of[claim.chunk_id])
    return {id_: tuple(sorted(texts)) for id_, texts in found.items()}


class Extractive:
    """Replaces reports that the model did not write; the sentences are indexed when the first one is needed."""

    def __init__(
        self,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        mentions: Sequence[Mention],
        entities: Sequence[Entity],
        settings: Settings,
    ) -> None:
        self._given = (documents, chunks, mentions)
        self._entities = entities
        self._settings = settings
        self._sentences: Sentences | None = None

    def __call__(self, community: Community) -> Report | None:
        """Return the extractive report on a community, None if no sentence can be quoted."""
        self._sentences = self._sentences or sentences_of(*self._given)
        n_chunks = len(self._given[1])
        made = report_communities(
            [community], self._entities, self._sentences, n_chunks, self._settings.reports.min_size
        )
        return made[0] if made else None
