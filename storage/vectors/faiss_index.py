"""Vector indexes in FAISS files: exact search for small tables, search among the proposals of codes for large ones.

All vectors are in an `IndexFlatIP`. With more than `EXACT_ROWS` there is a second file of codes, `<name>.codes`
(see `codes`): a search compares only the vectors that the codes propose. Files are opened read-only and mapped, so
processes share one copy and opening takes no time.

Without FAISS (the extra `local`) exact files are written with the same bytes and searched with NumPy; codes need it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import Bools, Rows, Vectors, read_ahead
from conspectus.storage.cancellation import check
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors.base import VectorIndex, best, checked_queries, checked_rows, inner_products
from conspectus.storage.vectors.codes import Codes, rows_to_compare, write_codes
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_layout import (
    WrongLayoutError,
    check_coded_layout,
    check_layout,
    flat_bytes,
    flat_matrix,
)

EXACT_ROWS = 200_000
"""Up to this many vectors a search compares all of them; beyond, those that their codes propose."""
_ROWS_WITHOUT_FAISS = 20_000
"""Up to this many vectors are compared without FAISS, whose import takes longer (a tenth of a cold question)."""
# FAISS sums in float32: two unit vectors' product is off by at most a few 1e-7.
_ROUNDING = 1e-5
# Rows fetched past k, so that the k-th is usually clearly ahead of its successors in the first search.
_SPARE_ROWS = 8
_BLOCK_QUERIES = 256
# FAISS 1.15 reads past the end of some truncated files when it maps them, so each ends with
# these bytes and its length, which FAISS itself does not read.
_END_MARK = b"end of vectors\n\0"


@dataclass(frozen=True)
class FaissIndex:
    """An open FAISS file (see `open_faiss`); safe to share between threads.

    FAISS proposes the rows and their scores are recomputed (see VectorIndex), so an exact index returns
    what ExactIndex returns, bit for bit. An index with codes can miss a row that they do not propose.
    """

    path: Path
    index: Any
    codes: Codes | None = None

    @property
    def n_rows(self) -> int:
        """The number of vectors in the file."""
        return int(self.index.ntotal)

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return int(self.index.d)

    def search(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Return scores and rows, both (q, min(k, n_rows)), best first; ties by the smaller row."""
        queries = checked_queries(queries, self.dimension)
        k = min(k, self.n_rows)
        scores = np.empty((len(queries), k), dtype=np.float32)
        rows = np.empty((len(queries), k), dtype=np.int64)
        if k == 0:
            return scores, rows
        for start in range(0, len(queries), _BLOCK_QUERIES):
            block = queries[start : start + _BLOCK_QUERIES]
            for i, candidates in enumerate(self._candidates(block, k), start):
                check()
                scores[i], rows[i] = self._best(queries[i], candidates, k)
        return scores, rows

    def search_among(self, queries: Vectors, k: int, among: Bools) -> tuple[Vectors, Rows]:
        """Return what `search` returns, (q, min(k, number of rows among)), of an index with codes.

        Args:
            queries: (q, d) unit vectors.
            k: The number of rows.
            among: (n_rows,) the rows to choose from. If they are few, each is compared.
        """
        queries = checked_queries(queries, self.dimension)
        permitted = np.flatnonzero(among)
        k = min(k, len(permitted))
        if self.codes is not None and rows_to_compare(k) < len(permitted):
            candidates = self._proposed(self.codes, queries, k, among)
        else:
            candidates = [permitted] * len(queries)
        found = [self._best(query, rows, k) for query, rows in zip(queries, candidates, strict=True)]
        scores = np.array([scores for scores, _ in found], np.float32).reshape(len(queries), k)
        return scores, np.array([rows for _, rows in found], np.int64).reshape(len(queries), k)

    def _best(self, query: Vectors, candidates: Rows, k: int) -> tuple[Vectors, Rows]:
        return best(inner_products(query[np.newaxis], self.vectors(candidates))[0], candidates, k)

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Return the (q, len(rows)) scores; IndexError for a row that does not exist."""
        return inner_products(checked_queries(queries, self.dimension), self.vectors(rows))

    def vectors(self, rows: Rows) -> Vectors:
        """Return the (len(rows), d) vectors of the given rows; IndexError for a row that does not exist."""
        rows = checked_rows(rows, self.n_rows)
        if rows.size == 0:
            return np.empty((0, self.dimension), dtype=np.float32)
        import faiss

        whole: Vectors = faiss.rev_swig_ptr(self.index.get_xb(), self.n_rows * self.dimension)
        whole = whole.reshape(self.n_rows, self.dimension)
        read_ahead(whole, rows, rows + 1)
        return whole[rows]  # reconstruct_batch takes 20 times as long

    def _candidates(self, queries: Vectors, k: int) -> list[Rows]:
        """Return for each query a superset of its k best rows, ties with the k-th included."""
        if self.codes is not None and rows_to_compare(k) < self.n_rows:
            return self._proposed(self.codes, queries, k, None)
        candidates = [np.empty(0, dtype=np.int64)] * len(queries)
        open_queries = np.arange(len(queries))
        fetch = min(self.n_rows, k + _SPARE_ROWS)
        while open_queries.size:
            with _readable(self.path):
                near, rows = self.index.search(queries[open_queries], fetch)
            if rows.min() < 0:
                raise IndexCorrupt(f"{self.path}: its vectors contain NaN")
            clear = (near[:, -1] < near[:, k - 1] - _ROUNDING) | (fetch == self.n_rows)
            for i in np.flatnonzero(clear):
                candidates[open_queries[i]] = rows[i]
            open_queries = open_queries[~clear]
            fetch = min(self.n_rows, 2 * fetch)
        return candidates

    def _proposed(self, codes: Codes, queries: Vectors, k: int, among: Bools | None) -> list[Rows]:
        # Ascending, so that the file is read forwards.
        found = [np.sort(rows[rows >= 0]) for rows in codes.nearest(queries, rows_to_compare(k), among)]
        if min(map(len, found)) < k:
            raise IndexCorrupt(f"{self.path}: its codes are no numbers")
        return found


@dataclass(frozen=True)
class PartOfIndex:
    """Some rows of an index with codes, as an index; none of its vectors is copied.

    Attributes:
        whole: The index.
        rows: Its rows, ascending (n_rows,).
    """

    whole: FaissIndex
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


def codes_path(path: Path) -> Path:
    """Return the file of the codes that belong to a file of vectors."""
    return path.with_suffix(".codes")


def write_faiss(path: Path, vectors: Vectors, *, exact_rows: int) -> None:
    """Write the (n, d) vectors to a FAISS file, and with more than `exact_rows` rows their codes to `codes_path`.

    The same vectors give the same bytes, on any number of cores.

    Raises:
        OSError: A file cannot be written.
        MissingPart: There are more rows, and FAISS is not installed.
    """
    if len(vectors) > exact_rows:
        if not has_faiss():
            raise MissingPart(f"searching {len(vectors):,} vectors needs FAISS: pip install 'conspectus[local]'")
        write_codes(codes_path(path), vectors)
        _end(codes_path(path))
    with path.open("wb") as file:
        file.writelines(flat_bytes(vectors))
    _end(path)


def _end(path: Path) -> None:
    length = path.stat().st_size
    with path.open("ab") as file:
        file.write(_END_MARK + length.to_bytes(8, "big"))


@cache
def has_faiss() -> bool:
    """Return whether FAISS is installed."""
    return find_spec("faiss") is not None


def open_faiss(path: Path, *, n_rows: int, dimension: int, coded: bool = False) -> VectorIndex:
    """Return the index in a file that `write_faiss` wrote, mapped and read-only.

    Args:
        path: The file.
        n_rows: The expected number of vectors.
        dimension: The expected dimension of a vector.
        coded: Whether the file at `codes_path` belongs to it; ignored without FAISS, which then compares all vectors.

    Raises:
        IndexCorrupt: The file is missing, has another layout, or does not contain n_rows vectors of that dimension.
    """
    _check_length(path)
    _check_layout(path, check_layout, n_rows, dimension)
    if n_rows <= _ROWS_WITHOUT_FAISS or not has_faiss():
        return ExactIndex(flat_matrix(path, n_rows, dimension))
    import faiss

    with _readable(path):
        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    codes = _open_codes(codes_path(path), n_rows, dimension) if coded else None
    return FaissIndex(path, index, codes)


def _open_codes(path: Path, n_rows: int, dimension: int) -> Codes:
    import faiss

    _check_length(path)
    _check_layout(path, check_coded_layout, n_rows, dimension)
    with _readable(path):
        return Codes(faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC))


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Translate FAISS's errors about a file into IndexCorrupt, including a MemoryError for an absurd length."""
    try:
        yield
    except (RuntimeError, MemoryError) as error:
        raise IndexCorrupt(f"{path}: not a readable FAISS index: {_reason(error)}") from error


def _check_length(path: Path) -> None:
    end = len(_END_MARK) + 8
    try:
        length = path.stat().st_size - end
        with path.open("rb") as file:
            file.seek(max(0, length))
            whole = file.read() == _END_MARK + max(0, length).to_bytes(8, "big")
    except OSError as error:
        raise IndexCorrupt(f"{path}: cannot be read: {error.strerror}") from error
    if not whole:
        raise IndexCorrupt(f"{path}: cut short, or not written by Conspectus")


def _check_layout(path: Path, check: Callable[..., None], n_rows: int, dimension: int) -> None:
    try:
        end = path.stat().st_size - len(_END_MARK) - 8
        check(path, n_rows=n_rows, dimension=dimension, end=end)
    except WrongLayoutError as error:
        raise IndexCorrupt(f"{path}: {error}") from error


def _reason(error: BaseException) -> str:
    """Return FAISS's message without C++ function and file names."""
    return (str(error).rpartition("Error: ")[2] or "out of memory").strip()
