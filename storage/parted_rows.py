"""Rows of whole numbers that are worked on part by part: in memory while they are few, else in unnamed files."""

from array import array
from collections.abc import Iterable, Sequence

import numpy as np
from conspectus.storage import spilled
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import SmallInts
from conspectus.storage.numbering import PARTS
from numpy.typing import NDArray


class PartedRows:
    """Rows (n, width) of numbers below 2^31, divided by their first number, which is not negative.

    Rows with one first number are in one part, in the order in which they were added. Few rows are a single part.

    Args:
        width: the numbers of a row.

    >>> rows = PartedRows(2)
    >>> rows.add([3, 4, 7, 5])
    >>> [part.tolist() for part in rows.parts()]
    [[[3, 4], [7, 5]]]
    """

    def __init__(self, width: int) -> None:
        self._width = width
        self._waiting = array("i")
        self._files: list[AppendedArray[np.int32]] = []
        self._parts: list[SmallInts] = []

    def add(self, numbers: "Iterable[int] | NDArray[np.integer]") -> None:
        """Add rows: an array of them, or their numbers row after row."""
        if isinstance(numbers, np.ndarray):
            self._waiting.frombytes(numbers.astype(np.int32).tobytes())
        else:
            self._waiting.extend(numbers)
        if len(self._waiting) * self._waiting.itemsize >= spilled.BYTES_IN_MEMORY and (
            folder := spilled.spill_folder()
        ):
            self._files = self._files or [AppendedArray(folder) for _ in range(PARTS)]
            self._divide()

    def parts(self) -> Sequence[SmallInts]:
        """Return the rows of each part, (k, width), not copied: nothing can be added any more."""
        if self._files:
            self._divide()
            self._parts = [file.array().reshape(-1, self._width) for file in self._files]
            self._files = []
        return self._parts or [self._rows()]

    def _rows(self) -> SmallInts:
        return np.frombuffer(self._waiting, np.int32).reshape(-1, self._width)

    def _divide(self) -> None:
        rows = self._rows()
        part_of = (rows[:, 0] % PARTS).astype(np.uint8)
        order = np.argsort(part_of, kind="stable")
        ends = np.cumsum(np.bincount(part_of, minlength=PARTS))
        for file, own in zip(self._files, np.split(order, ends[:-1]), strict=True):
            file.append(rows[own])
        self._waiting = array("i")
