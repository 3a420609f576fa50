"""A build rehearsed: the real steps of a build with a model, and made-up replies where none is remembered.

Prompts, merging, communities and reports are those of the build itself, so that what
changes there changes here.
"""

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.pipelines.backends.llm import ModelJudgement
from conspectus.pipelines.estimation.asked import Observed, Probe, Rehearsed
from conspectus.pipelines.estimation.habits import Habits
from conspectus.pipelines.estimation.made_up import MadeUp
from conspectus.pipelines.resolution.resolve import Embed, resolve
from conspectus.pipelines.resolution.undo_log import Marks
from conspectus.pipelines.runner import no_progress
from conspectus.pipelines.steps.communities import Earlier
from conspectus.pipelines.steps.extract.llm import Guidance, extract_chunks
from conspectus.pipelines.steps.vectors import STAGE as EMBED
from conspectus.prompts.client.usage import Spending
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.storage.arrays import Vectors
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.records import Chunk, Document
from conspectus.storage.settings import Settings, read_tuned
from conspectus.storage.text.embedded import entity_text, predicate_texts, relation_text, report_text


@dataclass(frozen=True, slots=True)
class Corpus:
    """Documents and their chunks."""

    documents: Sequence[Document]
    chunks: Sequence[Chunk]

    def part(self, digests: Collection[str]) -> "Corpus":
        """Return the chunks with these texts, each text once, and the documents that they stand in."""
        wanted = set(digests)
        chosen = {digest(each.text): each for each in self.chunks if digest(each.text) in wanted}
        held = {each.document_id for each in chosen.values()}
        chunks = sorted(chosen.values(), key=lambda each: each.id)
        return Corpus([each for each in self.documents if each.id in held], chunks)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """What a rehearsed build was asked, by step and model, and the texts of it that a build would embed."""

    spending: tuple[Spending, ...]
    entities: tuple[str, ...]
    relations: tuple[str, ...]
    predicates: tuple[str, ...]
    reports: tuple[str, ...]


def rehearse(
    corpus: Corpus,
    settings: Settings,
    memo: Memo,
    habits: Habits,
    *,
    retry: bool = False,
    earlier: Earlier | None = None,
    marks: Marks = (),
) -> Rehearsal:
    """Return what a build of a corpus takes, which keeps communities of an `earlier` version.

    SettingsError where the prompts of the settings cannot be read.
    """
    texts = {digest(each.text): each.text for each in corpus.chunks}
    ranks = {key: rank for rank, key in enumerate(sorted(texts))}
    made_up = MadeUp(habits, settings.descriptions, settings.reports, texts, ranks)
    judgement = ModelJudgement(
        settings, memo, no_progress, Rehearsed(settings.llm, memo, made_up), retry=retry, earlier=earlier
    )
    found = judgement.find(corpus.documents, corpus.chunks)
    vectors = _remembered_vectors(settings, memo)
    resolved = resolve(
        corpus.documents, corpus.chunks, found, settings, embed=vectors, marks=marks, model=judgement.voter
    )
    found = resolved.found
    told = judgement.tell(corpus.documents, corpus.chunks, found, lambda relations: None)
    name_of = {each.id: each.name for each in told.entities}
    return Rehearsal(
        judgement.spending(),
        tuple(entity_text(each) for each in found.knowledge.entities),
        tuple(relation_text(each, name_of) for each in told.relations),
        tuple(predicate_texts(told.relations)),
        tuple(report_text(each) for each in told.reports),
    )


def _remembered_vectors(settings: Settings, memo: Memo) -> Embed:
    """Return what gives the vectors of names that the memo holds, and nothing near for others: nothing is embedded."""
    embedder = open_embedder(settings.embedding, settings.embedding_server)

    def embed(texts: Sequence[str]) -> Vectors:
        keys = [digest(embedder.windows(text)[0]) for text in texts]
        held = memo.get_many(f"{EMBED} {embedder.name}", keys)
        size = max((len(each) // 4 for each in held.values()), default=1)
        nothing = np.zeros(size, np.float32)
        rows = [np.frombuffer(held[key], np.float32) if key in held else nothing for key in keys]
        return np.stack(rows) if rows else np.zeros((0, size), np.float32)

    return embed


def look_up(chunks: Sequence[Chunk], settings: Settings, memo: Memo) -> tuple[list[Observed], set[str]]:
    """Return the remembered replies to chunks, and the digests of the chunks of which some reply is not remembered."""
    probe = Probe(settings.llm, memo)
    tuned = read_tuned(settings.extraction)
    guidance = Guidance(tuned.extracts_as(), tuned.extract_examples, tuned.claims_examples)
    asyncio.run(extract_chunks(chunks, settings.extraction, probe, guidance=guidance))
    return probe.found, probe.unknown
