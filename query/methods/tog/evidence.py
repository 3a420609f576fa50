"""What the documents say of the entities that a walk came to, and how much of it helps.

ToG-2 (Ma et al. 2024, section 3.2): the chunks of each candidate are scored together with the triple that led to it.
On a graph without documents the verbalised triples of a candidate stand in for its chunks.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from conspectus.prompts.embedding.reranker import open_reranker
from conspectus.query.context import Context
from conspectus.query.methods.tog.beam import Branch
from conspectus.query.methods.tog.policy import Material
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, sentence
from conspectus.storage.errors import SettingsError
from conspectus.storage.index import per_index
from conspectus.storage.records import Mention, Name
from conspectus.storage.text.names import words
from conspectus.storage.text.normalise import entity_key

_EACH = 10
"""Most chunks of one candidate: those nearest to the question."""
_ALIKE = 5
"""Of entities that were reached alike, this many have their chunks looked at."""


class ChunksOf:
    """The chunks that mention an entity or stand in a document of its name."""

    def __init__(self, context: Context, graph: KnowledgeGraph) -> None:
        self._graph = graph
        chunk_rows = context.chunk_rows
        table = context.index.arrow(Mention, "entity_id", "chunk_id")
        of: dict[str, list[int]] = {}
        for entity, chunk in zip(
            table.column("entity_id").to_pylist(), table.column("chunk_id").to_pylist(), strict=True
        ):
            if entity is not None and chunk in chunk_rows:
                of.setdefault(entity, []).append(chunk_rows[chunk])
        self._mentioning = {entity: sorted(set(rows)) for entity, rows in of.items()}
        self._titled: dict[str, list[int]] = {}
        for name in context.index.rows(Name):
            rows = [chunk_rows[each] for each in name.chunk_ids if each in chunk_rows]
            self._titled.setdefault(entity_key(name.name), []).extend(rows)

    def titled(self, entity: int) -> list[int]:
        """Return the rows of the chunks of documents that bear the entity's name."""
        return sorted(set(self._titled.get(entity_key(self._graph.names[entity]), ())))

    def mentioning(self, entity: int) -> list[int]:
        """Return the rows of the chunks that mention the entity, or belong to it."""
        rows = self._mentioning.get(self._graph.entity_ids[entity], ()) if len(self._graph.entity_ids) else ()
        return sorted({*rows, *self.titled(entity)})


@per_index
def open_chunks(context: Context) -> ChunksOf:
    """Return the chunks of the index's entities, read on first use."""
    return ChunksOf(context, open_graph(context))


def has_documents(context: Context) -> bool:
    """Tell whether the index holds documents, and not a graph alone."""
    return context.index.manifest.rows["chunks"] > 0


def material_of(
    context: Context, graph: KnowledgeGraph, query: str, candidates: Sequence[Branch], most: int
) -> list[Material]:
    """Return the chunks of candidates, each under the triple that led there; without documents these triples.

    Of each candidate at most ten chunks are looked at, those nearest to the query; without documents at most `most`
    triples in all, each candidate having its first before any has its second.
    """
    if not has_documents(context):
        return _triples(graph, candidates, most)
    chunks = open_chunks(context)
    vector = context.embedder.embed_query(query)[np.newaxis]
    found = []
    for owner, branch in enumerate(candidates):
        rows = sorted({row for entity in branch.entities[:_ALIKE].tolist() for row in chunks.mentioning(entity)})
        if not rows:
            continue
        cosines = context.chunk_vectors.scores(vector, np.array(rows, np.int64))[0]
        led = int(branch.steps[-1].relation[0]) if branch.steps else -1
        said = sentence(graph, led) if led >= 0 else ""
        for place in np.argsort(-cosines, kind="stable")[:_EACH].tolist():
            passage = context.passage(rows[place], float(cosines[place]))
            text = f"{said} : {passage.title}\n{passage.text}" if said else f"{passage.title}\n{passage.text}"
            found.append(Material(owner, text.strip(), led, passage, max(0.0, float(cosines[place]))))
    return found


def _triples(graph: KnowledgeGraph, candidates: Sequence[Branch], most: int) -> list[Material]:
    found: list[Material] = []
    turn = 0
    while len(found) < max(most, len(candidates)):
        added = [
            Material(owner, sentence(graph, int(branch.steps[-1].relation[turn])), int(branch.steps[-1].relation[turn]))
            for owner, branch in enumerate(candidates)
            if branch.steps and turn < len(branch.steps[-1].relation)
        ]
        if not added:
            break
        found += added
        turn += 1
    return found


def scored(context: Context, query: str, material: Sequence[Material], scorer: str, first_stage: int) -> list[Material]:
    """Return material with scores ≥ 0 of a scorer that is no language model, best first, ties in the order given.

    `embedding` is the mean cosine of query and chunk, and of query and triple; `rerank` the logistic of the
    cross-encoder's logit; `bm25` counts only the chunk's words. With a `first_stage` only so many, the nearest, go to
    `rerank` or `bm25`; the rest is dropped. SettingsError where `rerank` is asked for and rerank.model is not set.
    """
    near = _near(context, query, material)
    if scorer == "embedding" or not material:
        return _best_first(near)
    left = _best_first(near)[:first_stage] if first_stage else list(material)
    if scorer == "bm25":
        return _best_first(_lexical(context, query, left))
    if not context.settings.rerank.model:
        raise SettingsError("tog.scorer is 'rerank': set rerank.model to the folder of a cross-encoder")
    logits = open_reranker(context.settings.rerank.model).scores(query, [each.text for each in left])
    chances = 1 / (1 + np.exp(-np.asarray(logits, np.float64)))
    return _best_first([replace(each, score=float(chance)) for each, chance in zip(left, chances, strict=True)])


def _near(context: Context, query: str, material: Sequence[Material]) -> list[Material]:
    embedder = context.embedder
    vector = embedder.embed_query(query)
    said = [each.text.split(" : ", 1)[0] if each.relation >= 0 else "" for each in material]
    distinct = sorted({each for each in said if each})
    vectors = embedder.embed([embedder.windows(each)[0] for each in distinct]) if distinct else None
    cosines = dict(zip(distinct, (vectors @ vector).tolist(), strict=True)) if vectors is not None else {}
    found = []
    for each, text in zip(material, said, strict=True):
        triple = cosines.get(text)
        parts = [part for part in (each.passage.score if each.passage else None, triple) if part is not None]
        found.append(replace(each, score=max(0.0, sum(parts) / len(parts)) if parts else 0.0))
    return found


def _lexical(context: Context, query: str, material: Sequence[Material]) -> list[Material]:
    if not has_documents(context):
        asked = {word.key for word in words(query)}
        return [replace(each, score=float(len(asked & {word.key for word in words(each.text)}))) for each in material]
    scores = context.bm25.scores(query)
    rows = context.chunk_rows
    return [
        replace(each, score=float(scores[rows[each.passage.chunk_id]]) if each.passage else 0.0) for each in material
    ]


def _best_first(material: Sequence[Material]) -> list[Material]:
    return sorted(material, key=lambda each: -each.score)
