"""Codes of one bit a number, which propose the vectors of a large index that are worth comparing with a query.

RaBitQ (Gao and Long, SIGMOD 2024), as FAISS computes it: of a vector less the mean, the code keeps the signs and two
numbers, from which its inner product with a query is estimated with a known error. Reading all codes takes a
twenty-seventh of the memory traffic of reading all vectors (384 numbers), and nothing is trained. The error is that of
random directions only if no number of a vector stands out, so vectors are turned first.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import Bools, Rows, Vectors, drop_pages
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.vectors.base import checked_queries, checked_rows
from conspectus.storage.vectors.exact import ExactIndex

_BLOCK_ROWS = 1 << 14
_ROWS_OF_MEAN = 1 << 14


@dataclass(frozen=True)
class CodedIndex(ExactIndex):
    """A matrix of unit rows with their codes; safe to share between threads.

    The scores are those of an exact index, but a search can miss a row that the codes do not propose.
    """

    codes: Any

    def _candidates(self, query: Vectors, k: int) -> Rows:
        if rows_to_compare(k) >= self.n_rows:
            return np.arange(self.n_rows, dtype=np.int64)
        return self._proposed(query, k, None)

    def search_among(self, queries: Vectors, k: int, among: Bools) -> tuple[Vectors, Rows]:
        """Return scores and rows, both (q, min(k, number of rows among)), best first; ties by the smaller row.

        Args:
            queries: (q, d) unit vectors.
            k: The number of rows.
            among: (n_rows,) the rows to choose from. If they are few, each is compared.
        """
        queries, permitted = checked_queries(queries, self.dimension), np.flatnonzero(among)
        k = min(k, len(permitted))
        few = rows_to_compare(k) >= len(permitted)
        found = [self.best(each, permitted if few else self._proposed(each, k, among), k) for each in queries]
        scores = np.array([scores for scores, _ in found], np.float32).reshape(len(queries), k)
        return scores, np.array([rows for _, rows in found], np.int64).reshape(len(queries), k)

    def _proposed(self, query: Vectors, k: int, among: Bools | None) -> Rows:
        """Return the rows with the best estimates, ascending, so that the file is read forwards."""
        import faiss

        with one_blas_thread():
            turned = query[np.newaxis] @ _turn(self.dimension)
        parameters: Any = faiss.RaBitQSearchParameters()
        parameters.qb = self.codes.qb
        if among is not None:
            selector: Any = faiss.IDSelectorBitmap
            parameters.sel = selector(np.packbits(among, bitorder="little"))
        rows = self.codes.search(turned, rows_to_compare(k), params=parameters)[1][0]
        found: Rows = np.sort(rows[rows >= 0])
        if len(found) < k:
            raise IndexCorrupt("codes of vectors are no numbers")
        return found


@dataclass(frozen=True)
class PartOfIndex:
    """Some rows of an index with codes, as an index; none of its vectors is copied.

    Attributes:
        whole: The index.
        rows: Its rows, ascending (n_rows,).
    """

    whole: CodedIndex
    rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.rows)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.whole.dimension

    def search(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Return scores and rows, both (q, min(k, n_rows)), best first; ties by the smaller row."""
        scores, rows = self.whole.search_among(queries, k, self._among)
        return scores, np.searchsorted(self.rows, rows)

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Return the (q, len(rows)) scores; IndexError for a row that does not exist."""
        return self.whole.scores(queries, self.rows[checked_rows(rows, self.n_rows)])

    def vectors(self, rows: Rows) -> Vectors:
        """Return the (len(rows), d) vectors of the given rows; IndexError for a row that does not exist."""
        return self.whole.vectors(self.rows[checked_rows(rows, self.n_rows)])

    @cached_property
    def _among(self) -> Bools:
        among = np.zeros(self.whole.n_rows, np.bool_)
        among[self.rows] = True
        return among


def rows_to_compare(k: int) -> int:
    """Return how many proposed rows are compared with a query to find the k best (docs/decisions/vectors.md)."""
    return 1000 + 30 * k


def write_codes(path: Path, vectors: Vectors) -> None:
    """Write the codes of vectors (n, d), which may be mapped, as a FAISS file.

    The same vectors give the same bytes, on any number of cores.

    Raises:
        OSError: The file cannot be written.
    """
    import faiss

    dimension = vectors.shape[1]
    index: Any = faiss.IndexRaBitQ(dimension, faiss.METRIC_INNER_PRODUCT)
    with one_blas_thread():
        sample = vectors[:: len(vectors) // _ROWS_OF_MEAN + 1]
        mean = (np.mean(sample, axis=0, dtype=np.float64) @ _turn(dimension)).astype(np.float32)
        faiss.copy_array_to_vector(mean, index.center)
        index.is_trained = True
        for start in range(0, len(vectors), _BLOCK_ROWS):
            index.add(np.asarray(vectors[start : start + _BLOCK_ROWS], np.float32) @ _turn(dimension))
            drop_pages(vectors)
    path.write_bytes(faiss.serialize_index(index))


def open_codes(path: Path, matrix: Vectors) -> CodedIndex:
    """Return vectors (n, d) with the codes that `write_codes` wrote, which are mapped.

    Raises:
        IndexCorrupt: The file cannot be read, or has codes of other vectors.
    """
    import faiss

    try:
        codes: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    except (RuntimeError, MemoryError) as error:
        # Without C++ function and file names. A MemoryError is of an absurd length.
        reason = (str(error).rpartition("Error: ")[2] or "out of memory").strip()
        raise IndexCorrupt(f"{path}: not a readable FAISS index: {reason}") from error
    if not isinstance(codes, faiss.IndexRaBitQ) or (codes.ntotal, codes.d) != matrix.shape:
        raise IndexCorrupt(f"{path}: not the codes of {len(matrix)} vectors of dimension {matrix.shape[1]}")
    return CodedIndex(matrix, codes)


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
