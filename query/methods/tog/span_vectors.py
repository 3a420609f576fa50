"""Vectors of spans of questions and of words of predicates: questions are made of the same words again and again."""

from collections.abc import Callable, Sequence

from conspectus.prompts.embedding.vector_cache import KeptVectors
from conspectus.query.context import Context
from conspectus.storage.arrays import Vectors

Embed = Callable[[Sequence[str]], Vectors]
"""Gives the unit vectors (n, d) of n short texts, n above 0."""

_MOST_KEPT = 50_000


def span_vectors(context: Context) -> Embed:
    """Return what gives the vectors of spans, remembered while the index is open; of a long one its first window's."""
    embedder = context.embedder

    def make(texts: Sequence[str]) -> Vectors:
        return embedder.embed([embedder.windows(each)[0] for each in texts])

    return context.index.keep("span vectors", lambda: KeptVectors(make, _MOST_KEPT)).of_all
