"""The graphs that walks read: the arrays of an index, or a live graph.

ToG and ToG-2 with a model can walk a live graph (`conspectus.query.remote_graph`) as well as an index. Methods that
need a whole graph (the question reader, FastToG's communities, Steiner trees) use `KnowledgeGraph`; over a live graph
it contains the neighbourhood of the entities that the question names.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from conspectus.query.walk.graph import KnowledgeGraph, open_graph, predicate_vectors
from conspectus.storage.arrays import Vectors

if TYPE_CHECKING:
    from conspectus.query.context import Context
    from conspectus.query.remote_graph.graph import LiveGraph


WalkGraph: TypeAlias = "KnowledgeGraph | LiveGraph"
"""Entities, relations and predicates by number; the numbers do not change while a live graph grows."""


def open_walk_graph(context: "Context") -> WalkGraph:
    """Return the graph to walk: the context's live graph if it has one, otherwise the index's."""
    return context.live or open_graph(context)


def near_predicates(context: "Context", question: str) -> Vectors:
    """Return the cosine of each predicate of the graph to walk with a question, (p,)."""
    if context.live:
        return context.live.near_predicates(question)
    found: Vectors = predicate_vectors(context) @ context.embedder.embed_query(question)
    return found


def near_names(context: "Context", question: str, entities: Sequence[int]) -> Vectors:
    """Return the cosine of the name of each entity with a question, 0 for one without a vector."""
    if context.live:
        return context.live.near_names(question, entities)
    vectors = context.index.vectors("entities").mean_vectors(np.asarray(entities, np.int64))
    found: Vectors = vectors @ context.embedder.embed_query(question)
    return found
