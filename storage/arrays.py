"""Array aliases, compressed sparse rows, and the exceptions that `np.load` raises for a corrupt file.

The aliases name a use, not only a dtype; the docstring of a signature states the shape.
"""

import mmap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from tokenize import TokenError
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
"""Scores, weights, probabilities: all values used in computations."""
Vectors = npt.NDArray[np.float32]
"""Embeddings as stored: one vector (d,) or one per row (n, d)."""
Ints = npt.NDArray[np.int64]
"""Counts, node numbers, offsets."""
SmallInts = npt.NDArray[np.int32]
"""Counts, and numbers of things, of which there are very many and none large."""
Rows = npt.NDArray[np.int64]
"""Row numbers of a table."""
Bools = npt.NDArray[np.bool_]
"""Masks."""

Number = TypeVar("Number", bound=np.number[Any])

UNREADABLE_ARRAY = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    EOFError,
    MemoryError,
    OverflowError,
    RecursionError,
    TokenError,
)
"""Exceptions that `np.load` raises for a corrupt file.

The header of an .npy file is Python text: it may be truncated (TokenError), nested too deeply (RecursionError), or
state a size beyond all memory.
"""


def drop_pages(vectors: Vectors) -> None:
    """Take the pages of mapped vectors that were read out of this process's memory; the file keeps them."""
    mapped = _file_of(vectors)
    if mapped is not None and hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def read_ahead(array: npt.NDArray[Any], first: Rows, last: Rows) -> None:
    """Ask the system to read ranges of a large mapped array from disk, all at once.

    Otherwise each range is read when it is touched, one after the other, and much around it too: a thousand vectors
    take seconds from a disk that gives them in a tenth of one.

    Args:
        array: (n, ...), C-contiguous.
        first: (k,) where each range of its rows begins.
        last: (k,) where it ends, exclusive.
    """
    mapped = _file_of(array)
    if mapped is None or array.nbytes < _LARGE or not hasattr(mmap, "MADV_WILLNEED"):
        return
    first, last = first[last > first], last[last > first]
    begin = array.ctypes.data - np.frombuffer(mapped, np.uint8).ctypes.data
    starts, ends = (begin + rows * array.strides[0] for rows in (first, last))
    starts -= starts % mmap.PAGESIZE
    for start, length in zip(starts.tolist(), (ends - starts).tolist(), strict=True):
        mapped.madvise(mmap.MADV_WILLNEED, start, length)


_LARGE = 1 << 26
"""Bytes from which an array is worth asking for; a smaller one is in memory after some faults."""


def _file_of(array: object) -> mmap.mmap | None:
    """Return the mapped file that an array views, None for an array in memory."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if isinstance(array, mmap.mmap) else None


def gather(indptr: Ints, rows: Rows) -> tuple[Ints, Ints]:
    """Return the storage positions of the entries of some rows of a compressed sparse matrix, row after row.

    Args:
        indptr: (n + 1,) offsets; the entries of row i are `indptr[i]` to `indptr[i + 1]`.
        rows: (k,) rows in any order, repeated or not.

    Returns:
        (counts (k,), entries (e,)): the number of entries of each row, and their positions in the order of `rows`.

    >>> gather(np.array([0, 1, 1, 4]), np.array([2, 0]))
    (array([3, 1]), array([1, 2, 3, 0]))
    """
    starts = indptr[rows]
    counts = indptr[rows + 1] - starts
    return counts, _ranges(starts, counts)


def gather_sorted(values: Ints, wanted: Ints) -> tuple[Ints, Ints]:
    """Return where each wanted value occurs in an ascending array: (counts (k,), entries (e,)).

    >>> gather_sorted(np.array([3, 3, 5]), np.array([5, 4, 3]))
    (array([1, 0, 2]), array([2, 0, 1]))
    """
    starts = np.searchsorted(values, wanted, side="left")
    counts = np.searchsorted(values, wanted, side="right") - starts
    return counts, _ranges(starts, counts)


def runs(*columns: npt.NDArray[np.integer] | Floats) -> tuple[Rows, Ints]:
    """Return the rows sorted by columns, and where in that order each distinct combination of values begins.

    Args:
        columns: One array (n,) or several, the first the most significant. The sort is stable.

    >>> runs(np.array([2, 1, 2, 1]), np.array([0, 5, 0, 4]))
    (array([3, 1, 0, 2]), array([0, 1, 2]))
    """
    order = np.lexsort(columns[::-1])
    new = np.zeros(len(order), np.bool_)
    new[:1] = True
    for key in columns:
        ordered = key[order]
        new[1:] |= ordered[1:] != ordered[:-1]
    return order, np.flatnonzero(new)


def distinct(values: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """Return the distinct values of an array of any shape, ascending (d,).

    `np.unique` returns the same, but hashes the values since NumPy 2.3: a hundred thousand that differ take ten times
    as long as to sort them.

    >>> distinct(np.array([3, 1, 3]))
    array([1, 3])
    """
    ordered = np.sort(values, axis=None)
    new = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return ordered[new]


def places_within(*groups: npt.NDArray[np.integer]) -> Ints:
    """Return the number of elements of the same group before each; equal groups stand together.

    >>> places_within(np.array([3, 3, 5]))
    array([0, 1, 0])
    """
    begins = np.ones(len(groups[0]), np.bool_)
    begins[1:] = np.any([each[1:] != each[:-1] for each in groups], axis=0)
    starts = np.flatnonzero(begins)
    places: Ints = np.arange(len(begins)) - np.repeat(starts, np.diff(starts, append=len(begins)))
    return places


def unit_sum(vectors: Sequence[Vectors] | Vectors) -> Vectors:
    """Return the normalised sum of unit vectors; of one, a copy.

    >>> unit_sum(np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)).round(2).tolist()
    [0.7099999785423279, 0.7099999785423279]
    """
    total: Vectors = np.asarray(vectors).sum(axis=0)
    return total if len(vectors) == 1 else total / np.linalg.norm(total)


def ranks(texts: Sequence[str]) -> SmallInts:
    """Return the place of each text in alphabetical order.

    >>> ranks(["fern", "ferry", "bay"])
    array([1, 2, 0], dtype=int32)
    """
    ranks = np.empty(len(texts), np.int32)
    ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return ranks


def parts_of(starts: Ints, size: int = 1 << 20) -> Iterator[tuple[int, int]]:
    """Yield ranges [first, last) of consecutive groups, each with about `size` members: at most one group more.

    Args:
        starts: (n + 1,) offsets; the members of group i are `starts[i]` to `starts[i + 1]`.
        size: The number of members of a range.

    >>> [*parts_of(np.array([0, 2, 3, 9, 10]), 4)], [*parts_of(np.array([0]))]
    ([(0, 2), (2, 4)], [])
    """
    full = np.searchsorted(starts, np.arange(starts[0], starts[-1], size), side="right") - 1
    return pairwise(np.unique([0, *full.tolist(), len(starts) - 1]).tolist())


def _ranges(starts: Ints, counts: Ints) -> Ints:
    ends = np.cumsum(counts)
    entries: Ints = np.arange(counts.sum(), dtype=np.int64) + np.repeat(starts - (ends - counts), counts)
    return entries
