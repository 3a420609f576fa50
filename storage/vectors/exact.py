"""Exact search by brute force: every query against every vector of a matrix; scoring and ranking, checked."""

from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Number, Rows, Vectors, read_ahead
from conspectus.storage.cancellation import check
from numpy.typing import NDArray

_ROUNDING = 4e-5
"""Largest difference of two products of unit vectors in float32 and in float64."""
_ROWS_AT_ONCE = 4096
"""Rows that are copied at once, because a FAISS file begins its vectors at an odd byte; in a third of the time."""


@dataclass(frozen=True)
class ExactIndex:
    """A matrix (n, d) of unit rows, which may be mapped; the reference for testing every other index.

    A score is the inner product of two unit vectors (the cosine), computed in float64 and rounded to float32, so it
    does not depend on the kind of index or on other queries of the batch.
    """

    matrix: Vectors

    @property
    def n_rows(self) -> int:
        """The number of rows of the matrix."""
        return int(self.matrix.shape[0])

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.matrix.shape[1])

    def search(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Return scores and rows, both (q, min(k, n_rows)), best first; ties by the smaller row."""
        queries = checked_queries(queries, self.dimension)
        k = min(k, self.n_rows)
        scores = np.empty((len(queries), k), dtype=np.float32)
        rows = np.empty((len(queries), k), dtype=np.int64)
        for i in range(len(queries) if k else 0):
            check()
            candidates = self._candidates(queries[i], k)
            near = inner_products(queries[i : i + 1], self.vectors(candidates))[0]
            scores[i], rows[i] = best(near, candidates, k)
        return scores, rows

    def _candidates(self, query: Vectors, k: int) -> Rows:
        """Return a superset of the k best rows, by products in float32; a ninth of the time of all in float64."""
        blocks = (self.matrix[start : start + _ROWS_AT_ONCE] for start in range(0, len(self.matrix), _ROWS_AT_ONCE))
        near = np.concatenate([np.require(block, requirements="A") @ query for block in blocks])
        least = np.partition(near, self.n_rows - k)[self.n_rows - k]
        found: Rows = np.flatnonzero(near >= least - _ROUNDING)
        return found if len(found) >= k else np.arange(self.n_rows, dtype=np.int64)  # vectors that are no numbers

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Return the (q, len(rows)) scores; IndexError for a row that does not exist."""
        return inner_products(checked_queries(queries, self.dimension), self.vectors(rows))

    def vectors(self, rows: Rows) -> Vectors:
        """Return the (len(rows), d) vectors of the given rows; IndexError for a row that does not exist."""
        places = self.places(checked_rows(rows, self.n_rows))
        read_ahead(self.matrix, places, places + 1)
        found: Vectors = self.matrix[places]
        return found

    def places(self, rows: Rows) -> Rows:
        """Return the rows of the matrix that have the numbers of some rows."""
        return rows


_BLOCK_ROWS = 1 << 16


def inner_products(queries: Vectors, vectors: Vectors) -> Vectors:
    """Return the (q, n) inner products of (q, d) and (n, d), summed in float64 and rounded to float32."""
    left = queries.astype(np.float64)
    products = np.empty((len(queries), len(vectors)), dtype=np.float32)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        check()
        right = vectors[start : start + _BLOCK_ROWS].astype(np.float64)
        products[:, start : start + _BLOCK_ROWS] = left @ right.T
    return products


def best(scores: NDArray[Number], rows: Rows, k: int) -> tuple[NDArray[Number], Rows]:
    """Return the k highest scores with their rows, best first, the smaller row first where scores tie.

    >>> best(np.float32([0.5, 0.9, 0.5]), np.array([7, 8, 2]), 2)
    (array([0.9, 0.5], dtype=float32), array([8, 2]))
    """
    if 0 < k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        above, ties = np.flatnonzero(scores > least), np.flatnonzero(scores == least)
        missing = k - len(above)
        if missing < len(ties):  # most passages score 0 in words
            ties = ties[np.argpartition(rows[ties], missing)[:missing]]
        kept = np.append(above, ties)
        scores, rows = scores[kept], rows[kept]
    order = np.lexsort((rows, -scores))[:k]
    return scores[order], rows[order]


def checked_queries(queries: Vectors, dimension: int) -> Vectors:
    """Return the queries as contiguous float32 (q, dimension); raise ValueError for any other shape."""
    if queries.ndim != 2 or queries.shape[1] != dimension:
        raise ValueError(f"queries have shape {queries.shape}; this index takes (any, {dimension})")
    return np.ascontiguousarray(queries, dtype=np.float32)


def checked_rows(rows: Rows, n_rows: int) -> Rows:
    """Return the rows as int64; raise IndexError unless each is at least 0 and below n_rows."""
    rows = np.asarray(rows, dtype=np.int64)
    if rows.size and (rows.min() < 0 or rows.max() >= n_rows):
        raise IndexError(f"rows {rows.min()} to {rows.max()} are asked for; the index has {n_rows}")
    return rows
