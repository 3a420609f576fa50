"""Codes of one bit a number, which propose the vectors of a large index that are worth comparing with a query.

RaBitQ (Gao and Long, SIGMOD 2024), as FAISS computes it: of a vector less the mean, the code keeps the signs and two
numbers, from which its inner product with a query is estimated with a known error. Reading all codes takes a
twenty-seventh of the memory traffic of reading all vectors (384 numbers), and nothing is trained. The error is that of
random directions only if no number of a vector stands out, so vectors are turned first.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import Bools, Rows, Vectors, drop_pages, read_ahead
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.vectors.faiss_layout import coded_bytes

_BLOCK_ROWS = 1 << 14
_ROWS_OF_MEAN = 1 << 14


@dataclass(frozen=True)
class Codes:
    """The open codes of vectors; safe to share between threads."""

    index: Any

    def nearest(self, queries: Vectors, count: int, among: Bools | None = None) -> Rows:
        """Return the (q, count) rows with the best estimates for queries (q, d); -1 where one is no number.

        Args:
            queries: Unit vectors.
            count: The number of rows.
            among: The rows to choose from, bool (n,); None for all.
        """
        import faiss

        codes = faiss.rev_swig_ptr(self.index.codes.data(), self.index.codes.size())
        read_ahead(codes, np.zeros(1, np.int64), np.array([len(codes)]))
        with one_blas_thread():
            turned = queries @ _turn(queries.shape[1])
        parameters: Any = faiss.RaBitQSearchParameters()
        parameters.qb = self.index.qb
        if among is not None:
            selector: Any = faiss.IDSelectorBitmap
            parameters.sel = selector(np.packbits(among, bitorder="little"))
        found: Rows = self.index.search(turned, count, params=parameters)[1]
        return found


def rows_to_compare(k: int) -> int:
    """Return how many proposed rows are compared with a query to find the k best (docs/decisions/vectors.md)."""
    return 1000 + 30 * k


def write_codes(path: Path, vectors: Vectors) -> None:
    """Write the codes of vectors (n, d), which may be mapped, as FAISS would write them.

    The same vectors give the same bytes, on any number of cores.

    Raises:
        OSError: The file cannot be written.
    """
    with path.open("wb") as file, one_blas_thread():
        sample = vectors[:: len(vectors) // _ROWS_OF_MEAN + 1]
        mean = (np.mean(sample, axis=0, dtype=np.float64) @ _turn(vectors.shape[1])).astype(np.float32)
        file.writelines(coded_bytes(_codes(vectors, mean), len(vectors), mean))


def _codes(vectors: Vectors, mean: Vectors) -> Iterator[bytes]:
    import faiss

    index: Any = faiss.IndexRaBitQ(len(mean), faiss.METRIC_INNER_PRODUCT)
    faiss.copy_array_to_vector(mean, index.center)
    index.is_trained = True
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = np.asarray(vectors[start : start + _BLOCK_ROWS], np.float32)
        yield index.sa_encode(block @ _turn(len(mean))).tobytes()
        drop_pages(vectors)


@cache
def _turn(dimension: int) -> Vectors:
    """Return an orthonormal (d, d) matrix that spreads each number over all: random signs, then the cosine transform.

    >>> np.abs(_turn(6) @ _turn(6).T - np.eye(6)).max() < 1e-6
    np.True_
    """
    place = np.arange(dimension)
    turn = np.sqrt(2 / dimension) * np.cos(np.pi / dimension * (place[:, None] + 0.5) * place)
    turn[:, 0] = np.sqrt(1 / dimension)
    turn *= np.random.default_rng(0).choice([-1.0, 1.0], dimension)[:, None]
    found: Vectors = turn.astype(np.float32)
    return found
