"""Codes of one bit a number, which propose the vectors of a large index that are worth comparing with a query.

RaBitQ (Gao and Long, SIGMOD 2024), as FAISS computes it: of a vector less the mean, the code keeps the signs and two
numbers, from which its inner product with a query is estimated with a known error. Reading all codes takes a
twenty-seventh of the memory traffic of reading all vectors (384 numbers), and nothing is trained. The error is that of
random directions only if no number of a vector stands out, so vectors are turned first.
"""

from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from struct import Struct
from typing import Any

import numpy as np
from conspectus.storage.arrays import Rows, Vectors, drop_pages
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.vectors.exact import ExactIndex
from numpy.typing import NDArray

_HEAD = Struct("<4siqqq?iQQiQ")
"""Of a FAISS file of codes (faiss/impl/index_write.cpp). FAISS trusts the sizes in it, and reads past the end."""
_BLOCK_ROWS = 1 << 14
_ROWS_OF_MEAN = 1 << 14


@dataclass(frozen=True)
class CodedIndex(ExactIndex):
    """A matrix of unit rows, or some of them, with their codes; safe to share between threads.

    The scores are those of an exact index, but a search can miss a row that the codes do not propose. None of the
    vectors is copied.

    Attributes:
        codes: The codes of all rows of the matrix.
        part: The rows of the matrix that are those of the index, ascending (n_rows,); None for all.
    """

    codes: Any
    part: Rows | None = None

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self.matrix) if self.part is None else len(self.part)

    def places(self, rows: Rows) -> Rows:
        """Return the rows of the matrix that have the numbers of some rows."""
        return rows if self.part is None else self.part[rows]

    def _candidates(self, query: Vectors, k: int) -> Rows:
        """Return the rows with the best estimates, or all of few; ascending, so that the file is read forwards."""
        import faiss

        if rows_to_compare(k) >= self.n_rows:
            return np.arange(self.n_rows, dtype=np.int64)
        with one_blas_thread():
            turned = query[np.newaxis] @ _turn(self.dimension)
        parameters: Any = faiss.RaBitQSearchParameters()
        parameters.qb = self.codes.qb
        if self.part is not None:
            selector: Any = faiss.IDSelectorBitmap
            parameters.sel = selector(self._bits)
        rows = self.codes.search(turned, rows_to_compare(k), params=parameters)[1][0]
        found: Rows = np.sort(rows[rows >= 0])
        if len(found) < k:
            raise IndexCorrupt("codes of vectors are no numbers")
        return found if self.part is None else np.searchsorted(self.part, found)

    @cached_property
    def _bits(self) -> NDArray[np.uint8]:
        """Which rows of the matrix are in the index, a bit each."""
        among = np.zeros(len(self.matrix), np.bool_)
        among[self.part] = True
        return np.packbits(among, bitorder="little")


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
    path.write_bytes(faiss.serialize_index(index).tobytes())


def open_codes(path: Path, matrix: Vectors) -> CodedIndex:
    """Return vectors (n, d) with the codes that `write_codes` wrote, which are mapped.

    Raises:
        IndexCorrupt: The file cannot be read, or has codes of other vectors.
    """
    import faiss

    n_rows, dimension = matrix.shape
    of_row = (dimension + 7) // 8 + 8  # bytes: a sign a number, and two float32
    head = _HEAD.pack(b"Ixrq", dimension, n_rows, 1 << 20, 1 << 20, True, 0, dimension, of_row, 0, n_rows * of_row)
    try:
        with path.open("rb") as file:
            is_right = file.read(len(head)) == head
        whole = path.stat().st_size == len(head) + n_rows * of_row + 8 + 4 * dimension + 1  # the mean, and bits
        codes: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC) if is_right and whole else None
    except (OSError, RuntimeError, MemoryError) as error:
        raise IndexCorrupt(f"{path}: cannot be read: {error}") from error
    if codes is None:
        raise IndexCorrupt(f"{path}: not the codes of {n_rows} vectors of dimension {dimension}")
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
