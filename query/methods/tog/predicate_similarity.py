"""How near relations are to a question, by what their predicates say."""

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.local_search import Closeness
from conspectus.query.walk.graph import KnowledgeGraph, predicate_vectors
from conspectus.storage.arrays import Ints


def closeness_to(context: Context, graph: KnowledgeGraph, question: str) -> Closeness:
    """Return the closeness of relations to a question: the cosine of their predicate's words with it."""
    cosines = np.asarray(predicate_vectors(context) @ context.embedder.embed_query(question), np.float64)

    def closeness(relations: Ints) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return cosines[graph.stated[relations]]

    return closeness
