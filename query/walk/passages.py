"""The chunks of entities, and the ranking of passages found by a walk or a subgraph."""

from collections.abc import Collection, Mapping
from functools import cached_property

import numpy as np
from conspectus.query.abstention import no_answer, no_answer_of_graph
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage.arrays import Ints
from conspectus.storage.index import per_index
from conspectus.storage.joins import chunks_of_entities
from conspectus.storage.name_tables import title_table
from conspectus.storage.records import Chunk, Name
from conspectus.storage.text.normalise import entity_key

_POOL = 20
"""Number of chunks nearest to the question, beyond the requested passages, that compete with the chunks of entities."""


class EntityChunks:
    """The chunks that mention an entity, and those of documents with its name as title."""

    def __init__(self, context: Context, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._index = context.index
        self._mentioning = chunks_of_entities(context.index)
        self._names = context.index.each(Name)

    def titled(self, entity: int) -> list[int]:
        """Return the rows of the chunks of documents with the entity's name as title, ascending."""
        key, chunk_rows = entity_key(self._graph.names[entity]), self._index.ids(Chunk)
        same = (self._names[row] for row in self._titled(key))
        return sorted({chunk_rows[id_] for name in same for id_ in name.chunk_ids if id_ in chunk_rows})

    def _titled(self, key: str) -> list[int]:
        """Return the rows of the names of documents that have a key."""
        if self._index.is_mapped(Name):
            return [row for row in title_table(self._index).like(key) if entity_key(self._names[row].name) == key]
        return self._rows_by_key.get(key, [])

    @cached_property
    def _rows_by_key(self) -> dict[str, list[int]]:
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self._names):
            rows.setdefault(entity_key(name.name), []).append(row)
        return rows

    def mentioning(self, entity: int) -> list[int]:
        """Return the rows of the chunks that mention the entity or have its name as title, ascending."""
        rows = self._mentioning[entity].tolist() if len(self._graph.entity_ids) else ()
        return sorted({*rows, *self.titled(entity)})


@per_index
def open_entity_chunks(context: Context) -> EntityChunks:
    """Return the chunks of the index's entities, read on first use."""
    return EntityChunks(context, open_graph(context))


def has_imported_graph(context: Context) -> bool:
    """Return whether the index was made with a graph of the user's (`kg.files`)."""
    graph = context.index.manifest.settings.get("kg")
    return bool(graph and graph.get("files"))


def has_documents(context: Context) -> bool:
    """Return whether the index contains documents, not only a graph."""
    return context.index.manifest.rows["chunks"] > 0


def unanswered(context: Context, question: str) -> str:
    """Return that nothing supports an answer: nothing in the graph if the whole index contains no documents."""
    return no_answer(question) if has_documents(context) or context.narrowed else no_answer_of_graph(question)


def chunks_named_in(context: Context, question: str) -> set[int]:
    """Return the rows of the chunks of documents titled, or entities named, in the question."""
    rows = context.chunk_rows
    names = open_question(context, question).links.names
    return {rows[chunk] for name in names for chunk in name.chunk_ids if chunk in rows}


def nearest_chunks(context: Context, query: str, rows: Collection[int], most: int) -> list[tuple[int, float]]:
    """Return the `most` given chunks nearest to a query, with their cosines; ties by row."""
    if not rows:
        return []
    places: Ints = np.array(sorted(rows), np.int64)
    cosines = context.chunk_vectors.scores(context.embedder.embed_query(query)[np.newaxis], places)[0]
    order = np.argsort(-cosines, kind="stable")[:most]
    return [(int(places[at]), float(cosines[at])) for at in order]


def rank_passages(context: Context, question: str, bonus: Mapping[int, float], most: int) -> tuple[Passage, ...]:
    """Return the best passages by cosine with the question plus a bonus.

    Args:
        context: The open index.
        question: The question.
        bonus: Chunk rows found by the walk or subgraph, with the bonus added to their cosine. The chunks nearest to
            the question compete with them without a bonus.
        most: Maximum number of passages.

    Returns:
        The passages with the highest scores, ties by row; none if the index contains only a graph.
    """
    if not has_documents(context):
        return ()
    vector = context.embedder.embed_query(question)[np.newaxis]
    _, nearest = context.chunk_vectors.search(vector, _POOL + most)
    pool: Ints = np.array(sorted({*nearest[0].tolist(), *bonus}), np.int64)
    cosines = context.chunk_vectors.scores(vector, pool)[0]
    scores = {
        row: float(cosine) + bonus.get(row, 0.0) for row, cosine in zip(pool.tolist(), cosines.tolist(), strict=True)
    }
    ranked = sorted(scores, key=lambda row: (-scores[row], row))[:most]
    return tuple(context.passage(row, scores[row]) for row in ranked)
