"""Judgement with a language model: GraphRAG's indexing (arXiv 2404.16130, section 3.1)."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pipelines.judgement import Found, Told
from pipelines.runner import Progress
from pipelines.steps.communities import divide
from pipelines.steps.descriptions_model import summarise
from pipelines.steps.extraction_model import extract_chunks
from pipelines.steps.merge_model import ModelKnowledge, merge_extractions
from pipelines.steps.report_elements import elements_of
from pipelines.steps.reports import report_communities
from pipelines.steps.reports_model import write_reports
from pipelines.steps.sentences import Sentences, sentences_of
from prompts.client import ModelClient
from prompts.usage import Spending
from storage.hashing import digest
from storage.memo import Memo
from storage.records import Chunk, Community, Document, Entity, Failure, Mention, Relation, Report
from storage.settings import Settings
from storage.text.nlp import NAME, Annotation, Phrase


class ModelJudgement:
    """Has a model find entities, relationships and claims, sum descriptions up, and write reports leaf-up.

    NeedsModel where the settings name no model. BudgetReached ends a step when its calls under way have ended.
    """

    waits = True

    def __init__(self, settings: Settings, memo: Memo, progress: Progress) -> None:
        self._settings = settings
        self._progress = progress
        self._model = ModelClient(settings.llm, memo)
        self._merged: ModelKnowledge | None = None

    def find(self, documents: Sequence[Document], chunks: Sequence[Chunk]) -> Found:
        """Return what the model states of each chunk, merged."""
        settings = self._settings
        extractions, lost = asyncio.run(extract_chunks(chunks, settings.extraction, self._model, self._progress))
        self._merged = merge_extractions(documents, chunks, extractions, settings.names)
        leads = _leads(chunks, self._merged.knowledge.mentions)
        return Found(self._merged.knowledge, self._merged.claims, leads, [*lost, *self._merged.failures])

    def tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found) -> Told:
        """Return summed-up descriptions, communities of the stated relations, and the model's reports on them."""
        return asyncio.run(self._tell(documents, chunks, found))

    def spending(self) -> tuple[Spending, ...]:
        """Return what was asked of the model so far, by step and model."""
        return self._model.meter.spending()

    async def _tell(self, documents: Sequence[Document], chunks: Sequence[Chunk], found: Found) -> Told:
        knowledge, settings = found.knowledge, self._settings
        dividing = asyncio.create_task(
            asyncio.to_thread(
                divide, knowledge.entities, knowledge.relations, knowledge.mentions, None, settings.communities
            )
        )
        entities, relations, lost = await self._described(chunks, found)
        communities = await dividing
        elements = elements_of(entities, relations, found.claims, knowledge.mentions, chunks)
        stand_in = _Extractive(documents, chunks, knowledge.mentions, entities, settings)
        reports, unwritten = await write_reports(communities, elements, self._model, settings.reports, stand_in)
        return Told(entities, relations, communities, reports, [*lost, *unwritten])

    async def _described(
        self, chunks: Sequence[Chunk], found: Found
    ) -> tuple[list[Entity], list[Relation], list[Failure]]:
        assert self._merged  # find comes first
        entities, relations = found.knowledge.entities, found.knowledge.relations
        name_of = {each.id: each.name for each in entities}
        ends = {each.id: f"{name_of[each.source_id]} and {name_of[each.target_id]}" for each in relations}
        told = {**self._merged.entity_descriptions, **self._merged.relation_descriptions}
        sources = _sources(found.knowledge.mentions, chunks)
        texts, failures = await summarise({**name_of, **ends}, told, self._model, self._settings.descriptions, sources)
        return (
            [replace(each, description=texts.get(each.id, each.description)) for each in entities],
            [replace(each, description=texts.get(each.id, each.description)) for each in relations],
            failures,
        )


def _leads(chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> list[Annotation]:
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
