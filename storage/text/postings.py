"""Rows by keys: sorted keys, each with the rows that have it, in memory or mapped from a file."""

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

if TYPE_CHECKING:
    import pyarrow as pa
    from conspectus.storage.arrays import Rows


class TextColumn(Sequence[str]):
    """A column of texts that is opened on first use, and read text by text: most of it is never needed."""

    def __init__(self, column: "Callable[[], pa.ChunkedArray | pa.Array]") -> None:
        self._open = column

    @cached_property
    def _texts(self) -> "pa.ChunkedArray | pa.Array":
        return self._open()

    def __len__(self) -> int:
        return len(self._texts)

    @overload
    def __getitem__(self, row: int) -> str: ...

    @overload
    def __getitem__(self, row: slice) -> list[str]: ...

    def __getitem__(self, row: int | slice) -> str | list[str]:
        if isinstance(row, slice):
            return [str(text) for text in self._texts[row].to_pylist()]
        return str(self._texts[int(row)])

    def taken(self, rows: "Rows") -> list[str]:
        """Return the texts of some rows."""
        return [str(text) for text in self._texts.take(rows).to_pylist()]


class Postings:
    """Keys in ascending order, each with its rows in the given order.

    >>> found = Postings.of({"ferry": [3, 1], "fern": [2]})
    >>> found.get("ferry"), found.get("fe"), found.starting("fe"), "fern" in found
    ([3, 1], [], ['fern', 'ferry'], True)
    """

    def __init__(self, keys: Sequence[str], rows: "Sequence[list[int]] | pa.Array") -> None:
        self._keys = keys
        self._rows = rows

    @classmethod
    def of(cls, rows: Mapping[str, list[int]]) -> "Postings":
        """Return the postings of a mapping."""
        keys = sorted(rows)
        return cls(keys, [rows[key] for key in keys])

    @classmethod
    def load(cls, path: Path) -> "Postings":
        """Return saved postings, memory-mapped."""
        import pyarrow as pa

        table = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        return cls(TextColumn(lambda: table.column("key")), table.column("rows"))

    def save(self, path: Path) -> None:
        """Write the postings; equal ones give equal bytes."""
        import pyarrow as pa

        rows = pa.array(self._rows, pa.large_list(pa.int32()))
        batch = pa.record_batch({"key": pa.array(self._keys, pa.large_string()), "rows": rows})
        with pa.ipc.new_file(str(path), batch.schema) as stream:
            stream.write_batch(batch)

    def get(self, key: str) -> list[int]:
        """Return the rows of a key, empty if there is no such key."""
        place = self._place(key)
        if place is None:
            return []
        found = self._rows[place]
        return list(found) if isinstance(found, list) else list(found.as_py())

    def count(self, key: str) -> int:
        """Return how many rows a key has."""
        place = self._place(key)
        return 0 if place is None else len(self._rows[place])

    def starting(self, prefix: str) -> list[str]:
        """Return the keys that begin with a prefix, ascending."""
        first, last = bisect_left(self._keys, prefix), bisect_left(self._keys, f"{prefix}\U0010ffff")
        return list(self._keys[first:last])

    def __contains__(self, key: str) -> bool:
        """Return whether there is such a key."""
        return self._place(key) is not None

    def _place(self, key: str) -> int | None:
        place = bisect_left(self._keys, key)
        return place if place < len(self._keys) and self._keys[place] == key else None
