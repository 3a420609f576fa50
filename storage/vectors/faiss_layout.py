"""Size checks on FAISS files before FAISS reads them, because FAISS trusts the sizes in the header.

Only the kinds that `faiss_index` writes are supported. All numbers are little-endian (faiss/impl/index_write.cpp).
A header (dimension, rows, two unused numbers, trained, metric) is followed by the vectors of an exact index, or by the
sizes, codes, mean and bits of a query of an index of codes.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from struct import Struct
from typing import IO

import numpy as np
from conspectus.storage.arrays import Vectors, drop_pages

_HEAD = Struct("<4siqqq?i")
_SIZE = Struct("<Q")
_CODES = Struct("<QQiQ")
_EXACT, _CODED = b"IxFI", b"Ixrq"
_INNER_PRODUCT = 0
_UNUSED = 1 << 20
_QUERY_BITS = bytes([4])
_BLOCK_ROWS = 1 << 14


class WrongLayoutError(ValueError):
    """The file has another layout, or its sizes are inconsistent."""


def check_layout(path: Path, *, n_rows: int, dimension: int, end: int) -> None:
    """Raise WrongLayoutError unless the first `end` bytes of a file are an index of `n_rows` vectors of a dimension."""
    with path.open("rb") as file:
        _check_head(file, n_rows, dimension)
        if _SIZE.unpack(_read(file, _SIZE.size)) != (n_rows * dimension,):
            raise WrongLayoutError("its vectors have another size")
        if file.seek(4 * n_rows * dimension, 1) != end:
            raise WrongLayoutError(f"{end - file.tell()} bytes too many or too few")


def flat_bytes(vectors: Vectors) -> Iterator[bytes]:
    """Yield the bytes of an exact index of vectors (n, d), as FAISS 1.15 writes it."""
    n_rows, dimension = vectors.shape
    yield _HEAD.pack(_EXACT, dimension, n_rows, _UNUSED, _UNUSED, True, _INNER_PRODUCT)
    yield _SIZE.pack(n_rows * dimension)
    for start in range(0, n_rows, _BLOCK_ROWS):
        yield np.ascontiguousarray(vectors[start : start + _BLOCK_ROWS], "<f4").tobytes()
        drop_pages(vectors)


def coded_bytes(codes: Iterable[bytes], n_rows: int, mean: Vectors) -> Iterator[bytes]:
    """Yield the bytes of an index of one-bit codes as FAISS 1.15 writes it.

    Args:
        codes: The codes of all rows, in any pieces.
        n_rows: The number of rows.
        mean: (d,) what was subtracted from the vectors.
    """
    yield _coded_head(n_rows, len(mean))
    yield from codes
    yield _SIZE.pack(len(mean)) + mean.astype("<f4").tobytes() + _QUERY_BITS


def check_coded_layout(path: Path, *, n_rows: int, dimension: int, end: int) -> None:
    """Raise WrongLayoutError unless the first `end` bytes of a file are an index of codes of `n_rows` vectors."""
    head, mean = _coded_head(n_rows, dimension), _SIZE.pack(dimension)
    with path.open("rb") as file:
        if file.read(len(head)) != head:
            raise WrongLayoutError(f"not the codes of {n_rows} vectors of dimension {dimension}")
        file.seek(n_rows * _code_size(dimension), 1)
        if _read(file, len(mean)) != mean:
            raise WrongLayoutError("its mean has another size")
        file.seek(4 * dimension, 1)
        if _read(file, len(_QUERY_BITS)) != _QUERY_BITS or file.tell() != end:
            raise WrongLayoutError("its codes have another size")


def _coded_head(n_rows: int, dimension: int) -> bytes:
    head = _HEAD.pack(_CODED, dimension, n_rows, _UNUSED, _UNUSED, True, _INNER_PRODUCT)
    size = _code_size(dimension)
    return head + _CODES.pack(dimension, size, _INNER_PRODUCT, n_rows * size)


def _code_size(dimension: int) -> int:
    """Return the bytes of a code: a sign a number, and two float32."""
    return (dimension + 7) // 8 + 8


def flat_matrix(path: Path, n_rows: int, dimension: int) -> Vectors:
    """Return the mapped vectors (n_rows, dimension) of an exact index whose layout was checked."""
    if not n_rows:
        return np.empty((0, dimension), np.float32)
    return np.memmap(path, "<f4", "r", _HEAD.size + _SIZE.size, (n_rows, dimension))


def _check_head(file: IO[bytes], n_rows: int, dimension: int) -> None:
    kind, found_dimension, found_rows, _, _, trained, metric = _HEAD.unpack(_read(file, _HEAD.size))
    if kind != _EXACT:
        raise WrongLayoutError("not a FAISS index that Conspectus writes")
    if metric != _INNER_PRODUCT or not trained:
        raise WrongLayoutError("its vectors are not compared by inner product")
    if (found_rows, found_dimension) != (n_rows, dimension):
        raise WrongLayoutError(
            f"holds {found_rows} vectors of dimension {found_dimension}; expected {n_rows} of {dimension}"
        )


def _read(file: IO[bytes], size: int) -> bytes:
    found = file.read(size)
    if len(found) != size:
        raise WrongLayoutError("it is shorter than declared")
    return found
