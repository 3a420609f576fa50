"""The graphs that walks read: the arrays of an index, or a live graph.

ToG and ToG-2 with a model can walk a live graph (`conspectus.query.remote_graph`) as well as an index. Methods that
need a whole graph (the question reader, FastToG's communities, Steiner trees) use `KnowledgeGraph`; over a live graph
it contains the neighbourhood of the entities that the question names.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors
from conspectus.storage.arrays import Ints, Vectors

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.question.topics import Topics
    from conspectus.query.remote_graph.graph import LiveGraph


class IndexGraph:
    """The graph of an index for walks: its arrays, its entity linker, and its stored vectors."""

    def __init__(self, context: "Context") -> None:
        self._context = context
        graph = open_graph(context)
        self._graph: KnowledgeGraph = graph
        self.names, self.entity_ids, self.predicates = graph.names, graph.entity_ids, graph.predicates
        self.sources, self.targets, self.stated = graph.sources, graph.targets, graph.stated
        self.relation_ids, self.descriptions, self.edges_of = graph.relation_ids, graph.descriptions, graph.edges_of

    def degrees_of(self, entities: Sequence[int]) -> Ints:
        """Return the number of edges of each entity, int64."""
        rows = np.asarray(entities, np.int64)
        found: Ints = self._graph.indptr[rows + 1] - self._graph.indptr[rows]
        return found

    def topics(self, question: str, given: Sequence[str] | None, most: int) -> "Topics":
        """Return the entities that are linked to a question, or those of the given names."""
        from conspectus.query.question.topics import find_topics

        return find_topics(self._context, question, given, most)

    def near_predicates(self, question: str) -> Vectors:
        """Return the cosine of each predicate with a question, (p,)."""
        found: Vectors = predicate_vectors(self._context) @ self._context.embedder.embed_query(question)
        return found

    def near_names(self, question: str, entities: Sequence[int]) -> Vectors:
        """Return the cosine of the name of each entity with a question, 0 for one without a vector."""
        vectors = self._context.index.vectors("entities").mean_vectors(np.asarray(entities, np.int64))
        found: Vectors = vectors @ self._context.embedder.embed_query(question)
        return found


WalkGraph: TypeAlias = "IndexGraph | LiveGraph"
"""A graph that can be walked: it also finds topics, counts edges, and compares names with a question."""
ReadableGraph: TypeAlias = "KnowledgeGraph | IndexGraph | LiveGraph"
"""Entities, relations and predicates by number; the numbers do not change while a live graph grows."""


def open_walk_graph(context: "Context") -> WalkGraph:
    """Return the graph to walk: the context's live graph if it has one, otherwise the index's."""
    return context.live or IndexGraph(context)
