"""Scoring and ranking of vectors, and checks of what is asked for."""

import numpy as np
from conspectus.storage.arrays import Number, Rows, Vectors
from conspectus.storage.cancellation import check
from numpy.typing import NDArray

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
