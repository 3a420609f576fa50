"""Vectors of some rows, held in memory: those of a part of an index on disk, and new ones beside them."""

from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import Rows, Vectors, gather_sorted
from conspectus.storage.vectors.faiss_index import FaissIndex
from conspectus.storage.vectors.windowed import WindowedIndex


def held(vectors: Vectors, table_rows: Rows, n_rows: int) -> WindowedIndex:
    """Return the index over vectors (n, d) of the rows `table_rows` (ascending) of a table of `n_rows`.

    Every vector is compared, as in a small index on disk; scores are the same bit for bit.
    """
    import faiss

    index: Any = faiss.IndexFlatIP(vectors.shape[1])
    index.add(np.ascontiguousarray(vectors, dtype=np.float32))
    return WindowedIndex(FaissIndex(Path("memory"), index, 0, 0), np.asarray(table_rows, np.int64), n_rows)


def picked(whole: WindowedIndex, rows: Rows) -> tuple[Vectors, Rows]:
    """Return the vectors of some rows of a table, and for each the place in `rows` of the one that it belongs to."""
    counts, windows = gather_sorted(whole.table_rows, rows)
    return whole.windows.vectors(windows), np.repeat(np.arange(len(rows)), counts)
