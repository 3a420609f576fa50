"""Rows by keys: sorted keys, each with the rows that have it, in memory or mapped from a file."""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, overload

from conspectus.storage.cancellation import check

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
        return self._text(int(row))

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), _TEXTS_AT_ONCE):
            check()
            yield from self[start : start + _TEXTS_AT_ONCE]

    def taken(self, rows: "Rows") -> list[str]:
        """Return the texts of some rows."""
        return [str(text) for text in self._texts.take(rows).to_pylist()]

    def _text(self, row: int) -> str:
        return str(self._texts[row])


def starting(texts: Sequence[str], prefix: str) -> list[str]:
    """Return which of some ascending texts begin with a prefix."""
    return list(texts[bisect_left(texts, prefix) : bisect_left(texts, f"{prefix}\U0010ffff")])


class Postings:
    """Keys in ascending order, each with its rows in the given order."""

    def __init__(self, keys: "pa.Array", rows: "pa.Array") -> None:
        self._given = keys
        self._keys = TextColumn(lambda: keys)
        self._rows = rows

    @classmethod
    def load(cls, path: Path) -> "Postings":
        """Return saved postings, memory-mapped."""
        import pyarrow as pa

        table = pa.ipc.open_file(pa.memory_map(str(path))).get_batch(0)
        return cls(table.column("key"), table.column("rows"))

    def save(self, path: Path) -> None:
        """Write the postings; equal ones give equal bytes."""
        import pyarrow as pa

        batch = pa.record_batch({"key": self._given, "rows": self._rows})
        with pa.ipc.new_file(str(path), batch.schema) as stream:
            stream.write_batch(batch)

    def get(self, key: str) -> list[int]:
        """Return the rows of a key, empty if there is no such key."""
        place = self._place(key)
        return [] if place is None else list(self._rows[place].as_py())

    def count(self, key: str) -> int:
        """Return how many rows a key has."""
        place = self._place(key)
        return 0 if place is None else len(self._rows[place])

    def starting(self, prefix: str) -> list[str]:
        """Return the keys that begin with a prefix, ascending."""
        return starting(self._keys, prefix)

    def begins(self, prefix: str) -> bool:
        """Return whether a key begins with a prefix."""
        place = bisect_left(self._keys, prefix)
        return place < len(self._keys) and self._keys[place].startswith(prefix)

    def shared(self, most: int) -> list[list[int]]:
        """Return the rows of each key that 2 to `most` rows have, by their first row."""
        from pyarrow import compute

        sizes = compute.list_value_length(self._rows).to_numpy()
        return sorted(self._rows.take(((sizes > 1) & (sizes <= most)).nonzero()[0]).to_pylist())

    def with_keys_of(self, other: "Postings") -> list[int]:
        """Return the rows of the keys that other postings have too, ascending."""
        from pyarrow import compute

        of_both = self._rows.filter(compute.is_in(self._given, value_set=other._given))
        rows: list[int] = compute.list_flatten(of_both).unique().sort().to_pylist()
        return rows

    def __contains__(self, key: str) -> bool:
        """Return whether there is such a key."""
        return self._place(key) is not None

    def _place(self, key: str) -> int | None:
        place = bisect_left(self._keys, key)
        return place if place < len(self._keys) and self._keys[place] == key else None


class PostingsMaker:
    """Makes postings of pairs of a key and a row, in a tenth of the memory of a dictionary of lists.

    >>> made = PostingsMaker()
    >>> for key, row in (("ferry", 3), ("fern", 2), ("ferry", 1)):
    ...     made.add(key, row)
    >>> found = made.postings()
    >>> found.get("ferry"), found.get("fe"), found.starting("fe"), "fern" in found
    ([3, 1], [], ['fern', 'ferry'], True)
    """

    def __init__(self) -> None:
        self._keys: list[str] = []
        self._rows = array("i")
        self._blocks: list[pa.Array] = []

    def add(self, key: str, row: int) -> None:
        """Add a row to those of a key."""
        check()
        self._keys.append(key)
        self._rows.append(row)
        if len(self._keys) == _BLOCK:
            self._add_block()

    def postings(self) -> Postings:
        """Return the postings of the pairs so far."""
        import numpy as np
        import pyarrow as pa
        from pyarrow import compute

        self._add_block()
        keys = pa.chunked_array(self._blocks, pa.large_string()).combine_chunks()
        order = compute.sort_indices(keys)  # stable: the rows of a key stay in order
        keys = keys.take(order)
        differ = compute.not_equal(keys.slice(1), keys.slice(0, max(len(keys) - 1, 0)))
        starts = np.flatnonzero(np.append(np.ones(len(keys[:1]), np.bool_), differ.to_numpy(zero_copy_only=False)))
        rows = np.frombuffer(self._rows, np.int32)[order.to_numpy()]
        return Postings(keys.take(starts), pa.LargeListArray.from_arrays(np.append(starts, len(rows)), rows))

    def _add_block(self) -> None:
        import pyarrow as pa

        self._blocks.append(pa.array(self._keys, pa.large_string()))
        self._keys.clear()


_BLOCK = 65_536
_TEXTS_AT_ONCE = 1024
