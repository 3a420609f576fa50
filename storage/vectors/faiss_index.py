"""Vector indexes in FAISS files: exact search for small tables, search among the proposals of codes for large ones.

All vectors are in an `IndexFlatIP`, which NumPy maps and searches. With more than `EXACT_ROWS` there is a second file
of codes, `<name>.codes` (see `codes`), for which FAISS is needed (the extra `local`). Processes share one copy of a
mapped file, and opening it takes no time. Whoever opens a file has compared it with its checksum.
"""

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from struct import Struct

import numpy as np
from conspectus.storage.arrays import Vectors, drop_pages
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors.codes import open_codes, write_codes
from conspectus.storage.vectors.exact import ExactIndex

EXACT_ROWS = 200_000
"""Up to this many vectors a search compares all of them; beyond, those that their codes propose."""
_BLOCK_ROWS = 1 << 14
_HEAD = Struct("<4siqqq?iQ")
"""Of an IndexFlatIP (faiss/impl/index_write.cpp): kind, dimension, rows, two unused numbers, trained, metric, size."""


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
    with path.open("wb") as file:
        file.write(_head(*vectors.shape))
        for start in range(0, len(vectors), _BLOCK_ROWS):
            file.write(np.ascontiguousarray(vectors[start : start + _BLOCK_ROWS], "<f4").tobytes())
            drop_pages(vectors)


def _head(n_rows: int, dimension: int) -> bytes:
    return _HEAD.pack(b"IxFI", dimension, n_rows, 1 << 20, 1 << 20, True, 0, n_rows * dimension)


@cache
def has_faiss() -> bool:
    """Return whether FAISS is installed."""
    return find_spec("faiss") is not None


def open_faiss(path: Path, *, n_rows: int, dimension: int, coded: bool = False) -> ExactIndex:
    """Return the index in a file that `write_faiss` wrote, mapped and read-only.

    Args:
        path: The file.
        n_rows: The expected number of vectors.
        dimension: The expected dimension of a vector.
        coded: Whether the file at `codes_path` belongs to it; ignored without FAISS, which then compares all vectors.

    Raises:
        IndexCorrupt: The file is missing, has another layout, or does not contain n_rows vectors of that dimension.
    """
    try:
        with path.open("rb") as file:
            is_right = file.read(_HEAD.size) == _head(n_rows, dimension)
        whole = path.stat().st_size == _HEAD.size + 4 * n_rows * dimension
    except OSError as error:
        raise IndexCorrupt(f"{path}: cannot be read: {error.strerror}") from error
    if not (is_right and whole):
        raise IndexCorrupt(f"{path}: not {n_rows} vectors of dimension {dimension}, as Conspectus writes them")
    matrix: Vectors = np.empty((0, dimension), np.float32)  # which cannot be mapped
    if n_rows:
        matrix = np.memmap(path, "<f4", "r", _HEAD.size, (n_rows, dimension)).view(np.ndarray)
    return open_codes(codes_path(path), matrix) if coded and has_faiss() else ExactIndex(matrix)
