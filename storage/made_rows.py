"""A sequence whose items are made when they are asked for, from columns or a table."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from operator import eq
from typing import TypeVar, overload

Item = TypeVar("Item")


class MadeRows(Sequence[Item]):
    """A sequence that makes each item when it is asked for; equal to any sequence of equal items."""

    @abstractmethod
    def _made(self, row: int) -> Item:
        """Return the item of a row, 0 <= row < len."""

    @overload
    def __getitem__(self, row: int) -> Item: ...

    @overload
    def __getitem__(self, row: slice) -> list[Item]: ...

    def __getitem__(self, row: int | slice) -> Item | list[Item]:
        rows = range(len(self))[row]
        return [self._made(each) for each in rows] if isinstance(rows, range) else self._made(rows)

    def __eq__(self, other: object) -> bool:
        """Return whether two sequences have equal items."""
        return isinstance(other, Sequence) and len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment]


class RowsFrom(MadeRows[Item]):
    """Chosen rows, each made when it is asked for."""

    def __init__(self, rows: Sequence[int], make: Callable[[int], Item]) -> None:
        self._rows = rows
        self._make = make

    def __len__(self) -> int:
        return len(self._rows)

    def _made(self, row: int) -> Item:
        return self._make(self._rows[row])
