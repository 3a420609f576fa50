"""Vector indexes in one FAISS file: exact search for small tables, inverted lists (IVF) for large ones.

Small indexes are `IndexFlatIP`, exact. Larger ones are `IndexIVFFlat`: k-means divides the vectors into
about 4 sqrt(n) lists and a search reads the lists whose centroids are nearest to the query (Sivic and
Zisserman, ICCV 2003; Douze et al., The Faiss library, 2024, section 4). Files are opened read-only and
mapped, so processes share one copy and opening takes no time.

Without FAISS (the extra `local`) exact files are written with the same bytes and searched with NumPy; lists need it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import Rows, Vectors, drop_pages
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors.base import VectorIndex, best, checked_queries, checked_rows, inner_products
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_layout import WrongLayoutError, check_layout, flat_bytes, flat_matrix, ivf_bytes

# Training is the cost that limits a build: on 200,000 x 384 this takes 11 s of one core.
EXACT_ROWS = 200_000
"""Up to this many vectors a search compares all of them; beyond, it probes IVF lists."""
_ROWS_WITHOUT_FAISS = 20_000
"""Up to this many vectors are compared without FAISS, whose import takes longer (a tenth of a cold question)."""
PROBES = 128
"""IVF lists that one search reads: recall@10 of at least .98 on a million vectors."""
_TRAINING_ROUNDS = 10
_TRAINING_ROWS_PER_LIST = 50
# FAISS sums in float32: two unit vectors' product is off by at most a few 1e-7.
_ROUNDING = 1e-5
# Rows fetched past k, so that the k-th is usually clearly ahead of its successors in the first search.
_SPARE_ROWS = 8
_BLOCK_QUERIES = 256
_BLOCK_ASSIGNED = 1 << 16
"""Vectors whose lists are found at once; as many as FAISS takes, so that the rounding is the same."""
# FAISS 1.15 reads past the end of some truncated files when it maps them, so each ends with
# these bytes and its length, which FAISS itself does not read.
_END_MARK = b"end of vectors\n\0"


@dataclass(frozen=True)
class FaissIndex:
    """An open FAISS file (see `open_faiss`); safe to share between threads.

    FAISS proposes the rows and their scores are recomputed (see VectorIndex), so an exact index returns
    what ExactIndex returns, bit for bit. An IVF index can miss a row whose list it does not probe;
    if the lists have fewer than k rows it probes more, and it never returns fewer than requested.
    """

    path: Path
    index: Any
    lists: int
    probes: int

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
                exact = inner_products(queries[i : i + 1], self.vectors(candidates))[0]
                scores[i], rows[i] = best(exact, candidates, k)
        return scores, rows

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Return the (q, len(rows)) scores; IndexError for a row that does not exist."""
        return inner_products(checked_queries(queries, self.dimension), self.vectors(rows))

    def vectors(self, rows: Rows) -> Vectors:
        """Return the (len(rows), d) vectors of the given rows; IndexError for a row that does not exist."""
        rows = checked_rows(rows, self.n_rows)
        if rows.size == 0:
            return np.empty((0, self.dimension), dtype=np.float32)
        if not self.lists:
            import faiss

            whole: Vectors = faiss.rev_swig_ptr(self.index.get_xb(), self.n_rows * self.dimension)
            return whole.reshape(self.n_rows, self.dimension)[rows]  # reconstruct_batch takes 20 times as long
        with _readable(self.path):
            found: Vectors = self.index.reconstruct_batch(rows)
        return found

    def _candidates(self, queries: Vectors, k: int) -> list[Rows]:
        """Return for each query a superset of its k best rows, ties with the k-th included."""
        candidates = [np.empty(0, dtype=np.int64)] * len(queries)
        open_queries = np.arange(len(queries))
        fetch, probes = min(self.n_rows, k + _SPARE_ROWS), min(self.lists, self.probes)
        while open_queries.size:
            with _readable(self.path):
                near, rows = self._nearest(queries[open_queries], fetch, probes)
            filled = rows[:, k - 1] >= 0  # -1: the lists contain no more rows
            everything = fetch == self.n_rows and probes == self.lists
            if rows.max() >= self.n_rows or (everything and not filled.all()):
                raise IndexCorrupt(f"{self.path}: its lists do not contain rows 0 to {self.n_rows - 1} exactly once")
            clear = (rows[:, -1] < 0) | (near[:, -1] < near[:, k - 1] - _ROUNDING) | (fetch == self.n_rows)
            for i in np.flatnonzero(filled & clear):
                candidates[open_queries[i]] = rows[i][rows[i] >= 0]
            open_queries = open_queries[~(filled & clear)]
            fetch, probes = min(self.n_rows, 2 * fetch), min(self.lists, 2 * probes)
        return candidates

    def _nearest(self, queries: Vectors, k: int, probes: int) -> tuple[Vectors, Rows]:
        if not self.lists:
            near, rows = self.index.search(queries, k)
        else:
            import faiss

            parameters: Any = faiss.SearchParametersIVF
            near, rows = self.index.search(queries, k, params=parameters(nprobe=probes))
        return near, rows


def write_faiss(path: Path, vectors: Vectors, *, exact_rows: int, seed: int) -> None:
    """Write the (n, d) vectors to a FAISS file: exact up to `exact_rows` rows, IVF lists beyond.

    The same vectors and seed give the same bytes.

    Raises:
        OSError: The file cannot be written.
        MissingPart: There are more rows, and FAISS is not installed.
    """
    if len(vectors) <= exact_rows:
        with path.open("wb") as file:
            file.writelines(flat_bytes(vectors))
    else:
        _write_lists(path, vectors, seed)
    length = path.stat().st_size
    with path.open("ab") as file:
        file.write(_END_MARK + length.to_bytes(8, "big"))


def _write_lists(path: Path, vectors: Vectors, seed: int) -> None:
    """Write lists as FAISS would, byte for byte, without all vectors in memory: they may be mapped."""
    _need_faiss(len(vectors))
    import faiss

    n_rows, dimension = vectors.shape
    lists = min(n_rows, round(4 * sqrt(n_rows)))
    index: Any = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    index.cp.seed = seed
    index.cp.niter = _TRAINING_ROUNDS
    index.cp.max_points_per_centroid = _TRAINING_ROWS_PER_LIST
    index.cp.min_points_per_centroid = 1  # a small index should cause no warning on stderr
    index.cp.spherical = True
    list_of = np.empty(n_rows, np.int64)
    with _one_thread():
        index.train(_sample(vectors, lists * _TRAINING_ROWS_PER_LIST, seed))
        for start in range(0, n_rows, _BLOCK_ASSIGNED):
            block = np.ascontiguousarray(vectors[start : start + _BLOCK_ASSIGNED], np.float32)
            list_of[start : start + len(block)] = index.quantizer.search(block, 1)[1][:, 0]
            drop_pages(vectors)
    quantizer: Any = faiss.downcast_index(index.quantizer)
    centroids = faiss.rev_swig_ptr(quantizer.get_xb(), lists * dimension)
    with path.open("wb") as file:
        file.writelines(ivf_bytes(vectors, centroids.reshape(lists, dimension), list_of))


def _sample(vectors: Vectors, size: int, seed: int) -> Vectors:
    """Return the vectors that FAISS would choose for training."""
    import faiss

    if len(vectors) <= size:
        return np.ascontiguousarray(vectors, np.float32)
    order = np.empty(len(vectors), np.int32)
    library: Any = faiss
    library.rand_perm(faiss.swig_ptr(order), len(vectors), seed)
    chosen = np.ascontiguousarray(vectors[order[:size]], np.float32)
    drop_pages(vectors)
    return chosen


@cache
def has_faiss() -> bool:
    """Return whether FAISS is installed."""
    return find_spec("faiss") is not None


def _need_faiss(n_rows: int) -> None:
    if not has_faiss():
        raise MissingPart(f"searching {n_rows:,} vectors needs FAISS: pip install 'conspectus[local]'")


def open_faiss(path: Path, *, n_rows: int, dimension: int, probes: int) -> VectorIndex:
    """Return the index in a file that `write_faiss` wrote, mapped and read-only.

    Args:
        path: The file.
        n_rows: The expected number of vectors.
        dimension: The expected dimension of a vector.
        probes: The number of IVF lists that one search reads; ignored for an exact index.

    Raises:
        IndexCorrupt: The file is missing, has another layout, or does not contain n_rows vectors of that dimension.
        MissingPart: It has lists, and FAISS is not installed.
    """
    _check_length(path)
    _check_layout(path, n_rows, dimension)
    if n_rows <= _ROWS_WITHOUT_FAISS or not has_faiss():
        matrix = flat_matrix(path, n_rows, dimension)
        if matrix is not None:
            return ExactIndex(matrix)
    _need_faiss(n_rows)
    import faiss

    with _readable(path):
        index: Any = faiss.read_index(str(path), faiss.IO_FLAG_MMAP_IFC)
    if not isinstance(index, faiss.IndexFlatIP | faiss.IndexIVFFlat):
        raise IndexCorrupt(f"{path}: a FAISS {type(index).__name__}, not one that Conspectus writes")
    if index.metric_type != faiss.METRIC_INNER_PRODUCT:
        raise IndexCorrupt(f"{path}: its vectors are not compared by inner product")
    if (index.ntotal, index.d) != (n_rows, dimension):
        raise IndexCorrupt(
            f"{path}: holds {index.ntotal} vectors of dimension {index.d}; expected {n_rows} of {dimension}"
        )
    lists = int(index.nlist) if isinstance(index, faiss.IndexIVFFlat) else 0
    return FaissIndex(path, index, lists, probes)


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


def _check_layout(path: Path, n_rows: int, dimension: int) -> None:
    try:
        end = path.stat().st_size - len(_END_MARK) - 8
        check_layout(path, n_rows=n_rows, dimension=dimension, end=end)
    except WrongLayoutError as error:
        raise IndexCorrupt(f"{path}: {error}") from error


def _reason(error: BaseException) -> str:
    """Return FAISS's message without C++ function and file names."""
    return (str(error).rpartition("Error: ")[2] or "out of memory").strip()


@contextmanager
def _one_thread() -> Iterator[None]:
    """Train on one thread, so that k-means does not depend on the number of cores."""
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
