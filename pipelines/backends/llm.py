"""Judgement with a language model: GraphRAG's indexing (arXiv 2404.16130, section 3.1)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from conspectus.pipelines.backends.base import Described, Found, Told
from conspectus.pipelines.runner import Progress
from conspectus.pipelines.steps.communities import Division, Earlier, divide
from conspectus.pipelines.steps.descriptions import Summaries
from conspectus.pipelines.steps.extract.llm import Guidance, extract_chunks
from conspectus.pipelines.steps.extract.merge import with_descriptions
from conspectus.pipelines.steps.extract.merge_llm import merge_extractions
from conspectus.pipelines.steps.reports.extractive import report_communities
from conspectus.pipelines.steps.reports.llm import write_reports
from conspectus.pipelines.steps.reports.prompt import Elements
from conspectus.pipelines.steps.sentences import Sentences, sentences_of
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.event_loop import gather_all, wait_for
from conspectus.prompts.client.usage import Meter, Spending
from conspectus.prompts.model import LanguageModel
from conspectus.prompts.replies.reask import Remembering, Retried, Retrying
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Community, Document, Entity, Failure, Mention, Relation, Report
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.text.nlp import NAME, Annotation, Phrase


class MeteredModel(Remembering, Protocol):
    """A model that remembers its replies and counts what it spends."""

    @property
    def meter(self) -> Meter:
        """What it has spent."""
        ...


class AskedModel:
    """The model of a build, and what came of asking it; `retry`: it is asked again for replies that lost something."""

    def __init__(self, metered: MeteredModel, *, retry: bool) -> None:
        self._meter = metered.meter
        self._retrying = Retrying(metered) if retry else None
        self.model: LanguageModel = self._retrying or metered

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of the model so far, by step and model."""
        return self._meter.spending()

    def retried(self) -> Retried:
        """Return what came of asking again so far."""
        return self._retrying.retried if self._retrying else Retried()


class ModelJudgement:
    """Has a model find entities, relationships and claims, sum descriptions up, and write reports leaf-up.

    The model is that of the settings, if no other is given (an estimate gives one that makes its replies up); `retry`
    asks it again for the replies that lost something; communities of an `earlier` version are kept where they can be.
    NeedsModel where the settings name no model, SettingsError where their prompts cannot be read. BudgetReached ends a
    step when its calls under way have ended.
    """

    waits = True

    def __init__(
        self,
        settings: Settings,
        memo: Memo,
        progress: Progress,
        model: MeteredModel | None = None,
        *,
        retry: bool = False,
        earlier: Earlier | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._earlier = earlier
        self._tuned = read_tuned(settings.extraction)
        self._asked = AskedModel(model or ModelClient(settings.llm, memo), retry=retry)
        self._model = self._asked.model

    @property
    def voter(self) -> LanguageModel:
        """The model that finds."""
        return self._model

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the model states of each chunk, merged."""
        settings = self._settings
        tuned = self._tuned
        guidance = Guidance(tuned.extracts_as(), tuned.extract_examples, tuned.claims_examples)
        extractions, lost = wait_for(extract_chunks(chunks, settings.extraction, self._model, self._progress, guidance))
        merged = merge_extractions(documents, chunks, extractions, settings.names)
        return Found(
            merged.knowledge,
            merged.claims,
            leads(chunks, merged.knowledge.mentions),
            [*lost, *merged.failures],
            entity_descriptions=merged.entity_descriptions,
            relation_descriptions=merged.relation_descriptions,
        )

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described) -> Told:
        """Return summed-up descriptions, communities of the stated relations, and the model's reports on them."""
        return wait_for(self._tell(documents, chunks, found, described))

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of the model so far, by step and model."""
        return self._asked.spending()

    def retried(self) -> Retried:
        """Return what came of asking again so far."""
        return self._asked.retried()

    async def _tell(
        self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found, described: Described
    ) -> Told:
        knowledge, settings = found.knowledge, self._settings
        entities, relations = knowledge.entities, knowledge.relations
        name_of = {each.id: each.name for each in entities}
        ends = {each.id: f"{name_of[each.source_id]} and {name_of[each.target_id]}" for each in relations}
        summaries = Summaries(
            {**name_of, **ends},
            {**found.entity_descriptions, **found.relation_descriptions},
            self._model,
            settings.descriptions,
            _sources(knowledge.mentions, chunks),
        )

        async def told() -> tuple[list[Entity], list[Relation], list[Failure]]:
            lost = await summaries.all()
            every = with_descriptions(entities, summaries.texts), _described(summaries.texts, relations)
            described(every[1])
            return (*every, lost)

        async def reported() -> tuple[Division, list[Report], list[Failure]]:
            divided = await asyncio.to_thread(
                divide, entities, relations, knowledge.mentions, None, settings.communities, self._earlier
            )
            elements = Elements(entities, relations, found.claims, knowledge.mentions, chunks, summaries.texts)
            stand_in = _Extractive(documents, chunks, knowledge.mentions, entities, settings)
            reports, lost = await write_reports(
                divided.communities,
                elements,
                self._model,
                settings.reports,
                stand_in,
                self._tuned.reports_as(),
                summaries.ready,
            )
            return divided, reports, lost

        # A report waits for the descriptions of its own elements, not for all.
        telling, reporting = asyncio.create_task(told()), asyncio.create_task(reported())
        await gather_all([telling, reporting])
        entities, relations, lost = telling.result()
        divided, reports, unwritten = reporting.result()
        return Told(entities, relations, divided.communities, reports, [*lost, *unwritten], divided.notes)


def _described(texts: Mapping[str, str], relations: Sequence[Relation]) -> list[Relation]:
    """Return relations with their descriptions."""
    return [replace(each, description=texts.get(each.id, each.description)) for each in relations]


def leads(chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> list[Annotation]:
    """Return, for each chunk, the names that stand in it: what an untitled text begins with names it."""
    named: dict[str, list[tuple[int, int, str]]] = {}
    for each in mentions:
        if each.entity_id and each.start is not None and each.end is not None:
            named.setdefault(each.chunk_id, []).append((each.start, each.end, each.surface))
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
    """Return the digests of the chunk texts that each entity or relation is mentioned in."""
    digest_of = {each.id: digest(each.text) for each in chunks}
    found: dict[str, set[str]] = {}
    for each in mentions:
        owner = each.entity_id or each.relation_id or ""
        found.setdefault(owner, set()).add(digest_of[each.chunk_id])
    return {owner: tuple(sorted(texts)) for owner, texts in found.items()}


class _Extractive:
    """Stands in for reports that the model did not write; the sentences are looked at when the first one is needed."""

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
        """Return the extractive report on a community, None where no sentence can be quoted."""
        self._sentences = self._sentences or sentences_of(*self._given)
        n_chunks = len(self._given[1])
        made = report_communities([community], self._entities, self._sentences, n_chunks, self._settings.reports)
        return made[0] if made else None
