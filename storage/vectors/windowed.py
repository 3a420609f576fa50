"""Vector search over table rows with any number of vectors each; a row scores its best vector.

A text longer than the embedding model's input is embedded in windows; a text that is never searched by similarity has
no vector. `<name>.rows.npy`, next to `<name>.faiss`, has the table row of each vector.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Bools, Rows, Vectors, gather_sorted
from conspectus.storage.cancellation import check
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.vectors.codes import CodedIndex
from conspectus.storage.vectors.exact import ExactIndex, checked_queries, checked_rows
from conspectus.storage.vectors.faiss_index import open_faiss, write_faiss


@dataclass(frozen=True)
class WindowedIndex:
    """An index over windows that returns table rows; the score of a row is that of its best window.

    `table_rows[i]` is the table row of vector i, ascending. A row without a vector is never returned, and its
    score is -1, the minimum.
    """

    windows: ExactIndex
    table_rows: Rows
    table_size: int | None = None
    """The number of table rows; None if the last one has a vector."""

    @property
    def n_rows(self) -> int:
        """The number of table rows."""
        if self.table_size is not None:
            return self.table_size
        return int(self.table_rows[-1]) + 1 if len(self.table_rows) else 0

    @cached_property
    def n_found(self) -> int:
        """The number of table rows that have a vector."""
        return int(np.count_nonzero(np.diff(self.table_rows, prepend=-1)))

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.windows.dimension

    def search(self, queries: Vectors, k: int) -> tuple[Vectors, Rows]:
        """Return scores and table rows, both (q, min(k, n_found)), best first; ties by the smaller row."""
        queries = checked_queries(queries, self.dimension)
        k = min(k, self.n_found)
        if self.windows.n_rows == self.n_found:
            near, found = self.windows.search(queries, k)
            return near, self.table_rows[found]
        scores = np.empty((len(queries), k), dtype=np.float32)
        rows = np.empty((len(queries), k), dtype=np.int64)
        open_queries = np.arange(len(queries))
        fetch = min(self.windows.n_rows, 2 * k)
        while k and open_queries.size:
            check()
            near, found = self.windows.search(queries[open_queries], fetch)
            short = []
            for i, place in enumerate(open_queries):
                # Vector rows rise with table rows, so the first window found is the table row's best.
                first = np.sort(np.unique(self.table_rows[found[i]], return_index=True)[1])[:k]
                if len(first) < k:
                    short.append(place)
                else:
                    scores[place], rows[place] = near[i][first], self.table_rows[found[i][first]]
            open_queries = np.array(short, dtype=np.int64)
            fetch = min(self.windows.n_rows, 2 * fetch)
        return scores, rows

    def scores(self, queries: Vectors, rows: Rows) -> Vectors:
        """Return the (q, len(rows)) scores; IndexError for a table row that does not exist."""
        rows = checked_rows(rows, self.n_rows)
        queries = checked_queries(queries, self.dimension)
        best: Vectors = np.full((len(queries), len(rows)), -1.0, dtype=np.float32)
        every_window, starts, has_some = self._windows_of(rows)
        if has_some.any():
            scores = self.windows.scores(queries, every_window)
            best[:, has_some] = np.maximum.reduceat(scores, starts, axis=1)
        return best

    def mean_vectors(self, rows: Rows) -> Vectors:
        """Return the (len(rows), d) unit mean of each table row's windows, zeros for a row without one."""
        rows = checked_rows(rows, self.n_rows)
        unit: Vectors = np.zeros((len(rows), self.dimension), dtype=np.float32)
        every_window, starts, has_some = self._windows_of(rows)
        if has_some.any():
            sums = np.add.reduceat(self.windows.vectors(every_window), starts, axis=0)
            unit[has_some] = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return unit

    def vectors_of(self, rows: Rows) -> tuple[Vectors, Rows]:
        """Return the vectors (v, d) of some table rows (k,), and for each vector its position in `rows` (v,)."""
        counts, windows = gather_sorted(self.table_rows, rows)
        return self.windows.vectors(windows), np.repeat(np.arange(len(rows)), counts)

    def part(self, rows: Rows) -> "WindowedIndex":
        """Return the index over some table rows (k,), ascending, which become rows 0 to k - 1.

        Of an index with codes nothing is copied, and scores are the same; the vectors of any other are.
        """
        counts, windows = gather_sorted(self.table_rows, rows)
        owners = np.repeat(np.arange(len(rows)), counts)
        if isinstance(self.windows, CodedIndex):
            return WindowedIndex(replace(self.windows, part=self.windows.places(windows)), owners, len(rows))
        return windowed_in_memory(self.windows.vectors(windows), owners, len(rows))

    def _windows_of(self, rows: Rows) -> tuple[Rows, Rows, Bools]:
        """Return the windows of some table rows, the start of each row's windows, and which rows have windows."""
        counts, windows = gather_sorted(self.table_rows, rows)
        has_some = counts > 0
        counts = counts[has_some]
        return windows, np.cumsum(counts) - counts, has_some


def windowed_in_memory(vectors: Vectors, table_rows: Rows, n_rows: int) -> WindowedIndex:
    """Return an exact index in memory over vectors (v, d) of the rows `table_rows` (ascending) of a table.

    Scores equal those of a small index on disk, bit for bit.
    """
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    return WindowedIndex(ExactIndex(matrix), np.asarray(table_rows, np.int64), n_rows)


def write_windowed(path: Path, vectors: Vectors, table_rows: Rows, *, exact_rows: int, every_row: bool = True) -> None:
    """Write `path` and perhaps `<name>.codes` (FAISS, see `write_faiss`), and `<name>.rows.npy`, in one folder.

    Raises:
        ValueError: `table_rows` does not have one entry per vector or is not ascending, or `every_row` is true and a
            table row has no vector.
    """
    table_rows = np.ascontiguousarray(table_rows, dtype=np.int64)
    if table_rows.shape != (len(vectors),) or not _in_order(table_rows, every_row):
        raise ValueError("every vector needs its table row, every table row a vector, in the table's order")
    write_faiss(path, vectors, exact_rows=exact_rows)
    np.save(_rows_path(path), table_rows)


def open_windowed(
    path: Path, *, n_rows: int, dimension: int, coded: bool = False, every_row: bool = True
) -> WindowedIndex:
    """Return the index that `write_windowed` wrote for a table of `n_rows` rows, mapped and read-only.

    Unless `every_row` is true, rows of the table may be without a vector. `coded` says that `<name>.codes` was written.

    Raises:
        IndexCorrupt: A file is missing or damaged, or does not match the other one or the table.
    """
    beside = _rows_path(path)
    try:
        # An array without entries cannot be mapped.
        table_rows = np.load(beside, mmap_mode="r" if n_rows and every_row else None, allow_pickle=False)
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{beside}: not a readable array: {error}") from error
    if table_rows.ndim != 1 or table_rows.dtype != np.int64 or not _in_order(table_rows, every_row):
        raise IndexCorrupt(f"{beside}: does not have the table row of each vector")
    windows = open_faiss(path, n_rows=len(table_rows), dimension=dimension, coded=coded)
    covered = int(table_rows[-1]) + 1 if len(table_rows) else 0
    if covered != n_rows if every_row else covered > n_rows:
        raise IndexCorrupt(f"{beside}: covers {covered} rows of a table that has {n_rows}")
    return WindowedIndex(windows, table_rows, n_rows)


def _rows_path(path: Path) -> Path:
    return path.with_suffix(".rows.npy")


def _in_order(table_rows: Rows, every_row: bool) -> bool:
    steps = np.diff(table_rows, prepend=-1)
    if len(steps) == 0:
        return True
    if not every_row:
        return bool(table_rows[0] >= 0 and steps.min() >= 0)
    return bool(steps[0] == 1 and steps.min() >= 0 and steps.max() <= 1)
