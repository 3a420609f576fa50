"""The backend with a language model: GraphRAG's indexing (Edge et al. 2024, arXiv 2404.16130, section 3.1)."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain

from conspectus.pipelines.backends.base import Descriptions, Extraction, Reports
from conspectus.pipelines.backends.nlp import AskedModel, NlpBackend
from conspectus.pipelines.runner import Pending
from conspectus.pipelines.steps.communities import Division
from conspectus.pipelines.steps.descriptions import DescriptionWriter
from conspectus.pipelines.steps.extract.llm import extract_chunks, guidance_of
from conspectus.pipelines.steps.extract.merge import with_descriptions
from conspectus.pipelines.steps.extract.merge_llm import merge_extractions, with_predicate
from conspectus.pipelines.steps.reports.prompt import claim_group
from conspectus.prompts.client.event_loop import gather_all, wait_for
from conspectus.storage.hashing import digest
from conspectus.storage.records import Chunk, Community, Document, Mention, Relation
from conspectus.storage.spilled import few_as_list, in_blocks, rows_by_id, spilled, text_column
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.nlp import NAME, Annotation, Annotations, Phrase


class LlmBackend(NlpBackend):
    """GraphRAG's indexing: a model extracts, summarises descriptions, and writes reports, deepest communities first.

    Communities of an `earlier` version are preserved if possible. SettingsError if the prompts of the settings cannot
    be read. BudgetReached ends a step after its running calls have ended.
    """

    is_remote = True
    describes = True
    _asked: AskedModel
    _writer: DescriptionWriter | None = None
    _claims: tuple[str, ...] = ()

    def extract(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Extraction:
        """Return the model's statements about each chunk, merged (GraphRAG, sections 3.1.2 and A.1)."""
        self._documents, self._chunks, settings = documents, chunks, self._settings.extraction
        guidance = guidance_of(settings)
        asking = extract_chunks(documents, chunks, settings, self._asked.model, self._progress, guidance)
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

    def describe(self, extraction: Extraction) -> Pending[Descriptions]:
        """Begin to summarise the descriptions of entities and relations from several chunks (section 3.1.3)."""
        self._asked.check()  # votes on names may be waiting
        self._writer = wait_for(self._begin_descriptions(extraction))
        return Pending(partial(_summed_up, self._writer, extraction))

    def divide(self, extraction: Extraction) -> Division:
        """Return the communities of the stated relations (section 3.1.4)."""
        return self._divided(extraction, None)

    def report(self, extraction: Extraction, communities: Sequence[Community]) -> Reports:
        """Return the model's reports (section 3.1.5). A report only waits for the descriptions of its own elements."""
        if not self._settings.reports_with:
            return super().report(extraction, communities)
        if self._settings.build.batch and self._writer:
            wait_for(self._writer.all())
            self._asked.check()
        reports = wait_for(self._report(extraction, communities))
        self._asked.check()
        return reports

    async def _begin_descriptions(self, extraction: Extraction) -> DescriptionWriter:
        entities, relations = extraction.knowledge.entities, extraction.knowledge.relations
        entity_row, relation_row = rows_by_id(entities), rows_by_id(relations)
        claims: dict[str, list[str]] = {}
        about: dict[str, str] = {}

        def name_of(id_: str) -> str:
            if id_ in about:
                return about[id_]
            if id_ in entity_row:
                return entities[entity_row[id_]].name
            relation = relations[relation_row[id_]]
            return f"{name_of(relation.source_id)} and {name_of(relation.target_id)}"

        def sources_of(ids: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
            of_claims = ((claim_group(each), each.chunk_id) for each in extraction.claims)
            return _sources(chain(_stating(ids, extraction.knowledge.mentions), of_claims), self._chunks)

        for claim in extraction.claims:
            id_ = claim_group(claim)
            claims.setdefault(id_, []).append(claim.description)
            about[id_] = f"the claim ({claim.type}) about {name_of(claim.subject_id)}"
        self._claims = tuple(id_ for id_, descriptions in claims.items() if len(descriptions) > 1)
        told = extraction.entity_descriptions, extraction.relation_descriptions, claims
        return DescriptionWriter(name_of, told, self._asked.model, sources_of)

    async def _all_ready(self, writer: DescriptionWriter, ids: Iterable[str]) -> None:
        """Wait for the descriptions of some elements and all claims, which are listed with their entities."""
        await writer.ready((*ids, *self._claims))

    async def _report(self, extraction: Extraction, communities: Sequence[Community]) -> Reports:
        if self._writer is None:
            raise ValueError("`describe` comes before `report`")
        writer = self._writer
        written = self._written(extraction, communities, writer.texts, partial(self._all_ready, writer))
        reporting = asyncio.create_task(written)
        # Both finish before the error of either is raised, because their calls are paid for.
        await gather_all([asyncio.create_task(writer.all()), reporting])
        return Reports(*reporting.result())


def _summed_up(writer: DescriptionWriter, extraction: Extraction) -> Descriptions:
    """Return entities and relations with predicates, and with the descriptions that a writer is still working on."""
    failures = wait_for(writer.all())
    texts, entities = writer.texts, extraction.knowledge.entities
    relations = (
        with_predicate(
            replace(relation, description=texts.get(relation.id, relation.description)),
            extraction.predicates.get(relation.id, ()),
        )
        for relation in extraction.knowledge.relations
    )
    told = (texts.get(id_, "") for id_ in text_column(entities, "id"))
    return Descriptions(
        with_descriptions(entities, told), few_as_list(spilled(Relation, in_blocks(Relation, relations))), failures
    )


def name_phrases(chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> Annotations:
    """Return the first name in each chunk as an annotation: that of an untitled text represents it."""
    first: dict[str, tuple[int, int, str]] = {}
    for mention in mentions:
        if mention.entity_id and mention.start is not None and mention.end is not None:
            named = mention.start, mention.end, mention.surface
            first[mention.chunk_id] = min(first.get(mention.chunk_id, named), named)
    placed = ((chunk.start, first.get(chunk.id)) for chunk in chunks)
    return Annotations(
        Annotation((Phrase(name[0] - start, name[1] - start, name[2], NAME),) if name else (), ())
        for start, name in placed
    )


def _stating(ids: Sequence[str], mentions: Sequence[Mention]) -> Iterator[tuple[str, str]]:
    """Yield the id of an entity or relation, one of some, and that of a chunk, for each mention."""
    import pyarrow as pa
    from pyarrow import compute

    columns = arrow_of(Mention, mentions, ["entity_id", "relation_id", "chunk_id"])
    wanted = pa.array(ids, pa.string())
    for column in ("entity_id", "relation_id"):
        rows = columns.filter(compute.is_in(columns[column], wanted))
        yield from zip(rows[column].to_pylist(), rows["chunk_id"].to_pylist(), strict=True)


def _sources(stated: Iterable[tuple[str, str]], chunks: Sequence[Chunk]) -> Mapping[str, tuple[str, ...]]:
    """Return the digests of the texts that state each thing, given its id and that of a chunk."""
    row_of = rows_by_id(chunks)
    digest_of = cache(lambda id_: digest(chunks[row_of[id_]].text))
    found: dict[str, set[str]] = {}
    for owner, chunk_id in stated:
        found.setdefault(owner, set()).add(digest_of(chunk_id))
    return {owner: tuple(sorted(texts)) for owner, texts in found.items()}
