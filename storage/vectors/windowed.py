"""Rows of a table that have one or several vectors each, found by their best one.

A text longer than the embedding model reads is embedded in windows. Beside `<name>.faiss` stands
`<name>.rows.npy`: for each vector the table row it belongs to.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from storage.errors import IndexCorrupt
from storage.vectors.base import Floats, Rows, VectorIndex, checked_queries, checked_rows
from storage.vectors.faiss_index import open_faiss, write_faiss


@dataclass(frozen=True)
class WindowedIndex:
    """An index over windows, answering in table rows; a table row scores what its best window scores.

    `table_rows[i]` is the table row of vector row i: it starts at 0 and rises by 0 or 1, so that every
    table row has a vector.
    """

    windows: VectorIndex
    table_rows: Rows

    @property
    def n_rows(self) -> int:
        """The number of table rows."""
        return int(self.table_rows[-1]) + 1 if len(self.table_rows) else 0

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self.windows.dimension

    def search(self, queries: Floats, k: int) -> tuple[Floats, Rows]:
        """Return scores and table rows, both (q, min(k, n_rows)), best first; ties by the smaller row."""
        queries = checked_queries(queries, self.dimension)
        k = min(k, self.n_rows)
        if self.windows.n_rows == self.n_rows:
            return self.windows.search(queries, k)
        scores = np.empty((len(queries), k), dtype=np.float32)
        rows = np.empty((len(queries), k), dtype=np.int64)
        open_queries = np.arange(len(queries))
        fetch = min(self.windows.n_rows, 2 * k)
        while k and open_queries.size:
            near, found = self.windows.search(queries[open_queries], fetch)
            short = []
            for i, place in enumerate(open_queries):
                # Vector rows rise with table rows, so the first window met is the table row's best.
                first = np.sort(np.unique(self.table_rows[found[i]], return_index=True)[1])[:k]
                if len(first) < k:
                    short.append(place)
                else:
                    scores[place], rows[place] = near[i][first], self.table_rows[found[i][first]]
            open_queries = np.array(short, dtype=np.int64)
            fetch = min(self.windows.n_rows, 2 * fetch)
        return scores, rows

    def scores(self, queries: Floats, rows: Rows) -> Floats:
        """Return the (q, len(rows)) scores; IndexError for a table row that does not exist."""
        rows = checked_rows(rows, self.n_rows)
        queries = checked_queries(queries, self.dimension)
        if rows.size == 0:
            return np.empty((len(queries), 0), dtype=np.float32)
        first = np.searchsorted(self.table_rows, rows, side="left")
        counts = np.searchsorted(self.table_rows, rows, side="right") - first
        starts = np.cumsum(counts) - counts
        every_window = np.repeat(first - starts, counts) + np.arange(counts.sum())
        best: Floats = np.maximum.reduceat(self.windows.scores(queries, every_window), starts, axis=1)
        return best

    def mean_vectors(self, rows: Rows) -> Floats:
        """Return the (len(rows), d) unit mean of each table row's windows."""
        rows = checked_rows(rows, self.n_rows)
        first = np.searchsorted(self.table_rows, rows, side="left")
        counts = np.searchsorted(self.table_rows, rows, side="right") - first
        if rows.size == 0:
            return np.empty((0, self.dimension), dtype=np.float32)
        starts = np.cumsum(counts) - counts
        every_window = np.repeat(first - starts, counts) + np.arange(counts.sum())
        sums = np.add.reduceat(self.windows.vectors(every_window), starts, axis=0)
        unit: Floats = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return unit


def write_windowed(path: Path, vectors: Floats, table_rows: Rows, *, exact_rows: int, seed: int) -> None:
    """Write `path` (FAISS, see `write_faiss`) and, beside it, the table row of each vector.

    Raises ValueError unless `table_rows` has one entry a vector, starts at 0 and rises by 0 or 1.
    """
    table_rows = np.ascontiguousarray(table_rows, dtype=np.int64)
    if table_rows.shape != (len(vectors),) or not _covers_its_table(table_rows):
        raise ValueError("every vector needs its table row, every table row a vector, in the table's order")
    write_faiss(path, vectors, exact_rows=exact_rows, seed=seed)
    np.save(_rows_path(path), table_rows)


def open_windowed(path: Path, *, n_rows: int, dimension: int, probes: int) -> WindowedIndex:
    """Return the index that `write_windowed` wrote for a table of `n_rows` rows, mapped and read-only.

    Raises IndexCorrupt where a file is missing or damaged, or does not fit the other or the table.
    """
    beside = _rows_path(path)
    try:
        table_rows = np.load(beside, mmap_mode="r" if n_rows else None, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise IndexCorrupt(f"{beside}: not a readable array: {error}") from error
    if table_rows.ndim != 1 or table_rows.dtype != np.int64 or not _covers_its_table(table_rows):
        raise IndexCorrupt(f"{beside}: does not give the table row of each vector")
    windows = open_faiss(path, n_rows=len(table_rows), dimension=dimension, probes=probes)
    index = WindowedIndex(windows, table_rows)
    if index.n_rows != n_rows:
        raise IndexCorrupt(f"{beside}: covers {index.n_rows} rows of a table that has {n_rows}")
    return index


def _rows_path(path: Path) -> Path:
    return path.with_suffix(".rows.npy")


def _covers_its_table(table_rows: Rows) -> bool:
    steps = np.diff(table_rows, prepend=-1)
    return bool(len(steps) == 0 or (steps[0] == 1 and steps.min() >= 0 and steps.max() <= 1))
