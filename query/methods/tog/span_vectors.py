"""Vectors of spans of questions and of words of predicates: questions are made of the same words again and again."""

from collections.abc import Callable, Sequence

from conspectus.prompts.embedding.vector_cache import KeptVectors
from conspectus.query.context import Context
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import per_index

Embed = Callable[[Sequence[str]], Vectors]
"""Gives the unit vectors (n, d) of n short texts, n above 0."""

_MOST_KEPT = 50_000


def span_vectors(context: Context) -> Embed:
    """Return a function that embeds spans and caches them while the index is open (first window of a long span)."""
    return _cache(context).of_all


@per_index
def _cache(context: Context) -> KeptVectors:
    embedder = context.embedder

    def make(texts: Sequence[str]) -> Vectors:
        return embedder.embed([embedder.windows(text)[0] for text in texts])

    return KeptVectors(make, _MOST_KEPT)
