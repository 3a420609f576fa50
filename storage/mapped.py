"""Tables of large indexes, mapped from files: a row is read when it is asked for, and nothing when they are opened.

Parquet has to be read and decompressed in whole columns. From `MAPPED_ROWS` rows a table is therefore copied once,
batch by batch, to an Arrow file without compression (see `derived`); a build does so for what questions read.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar

from conspectus.storage import tables
from conspectus.storage.cancellation import check
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.made_rows import MadeRows
from conspectus.storage.records import Document
from conspectus.storage.text.postings import starting

if TYPE_CHECKING:
    import pyarrow as pa
    from conspectus.storage.arrays import Rows

Record = TypeVar("Record")
Value = TypeVar("Value")

MAPPED_ROWS = 10_000
"""Rows from which a table is mapped; smaller ones are read from Parquet in milliseconds."""
FORM = 2
"""Raised when the content of mapped files changes."""
_ROWS_OF_BATCH = 1 << 18
_BYTES_OF_BATCH = 1 << 25
"""Where a batch of a mapped table ends."""
_CACHED_ROWS = 1024
_CACHED_IDS = 16_384
_CACHED_DOCUMENTS = 64
"""Records kept in memory of a table that is read row by row; documents are longer than the rest."""


def write_mapped(source: Path, record: type, folder: Path) -> None:
    """Copy a Parquet table to `rows.arrow` in a new folder, in the memory of a batch.

    Raises:
        IndexCorrupt: the table has other columns, its values are not valid, or its ids are not sorted.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    shape = tables.schema(record)
    folder.mkdir()
    # Of a file that is not mapped, all of a column that a row group has is read first: 200 MB for a million mentions.
    before = None
    try:
        with (
            pq.ParquetFile(source, memory_map=True) as stored,
            pa.ipc.new_file(str(folder / "rows.arrow"), shape) as target,
        ):
            if not stored.schema_arrow.equals(shape):
                raise IndexCorrupt(f"{source} has columns {stored.schema_arrow.names}, not those of {record.__name__}")
            for batch in large_batches(stored.iter_batches(tables.ROWS_AT_ONCE)):
                batch.validate(full=True)  # texts are UTF-8 and list offsets are valid: not checked later
                if "id" in shape.names and len(batch):
                    before = _last_of_sorted(source, batch.column("id"), before)
                target.write_batch(batch)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise IndexCorrupt(f"{source} cannot be read: {str(error).splitlines()[0]}") from error


def large_batches(batches: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Yield the rows of small batches in large ones: opening a table reads something of each."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    for batch in batches:
        held.append(batch)
        if sum(map(len, held)) >= _ROWS_OF_BATCH or sum(each.nbytes for each in held) >= _BYTES_OF_BATCH:
            yield pa.concat_batches(held)
            held = []
    if held:
        yield pa.concat_batches(held)


def _last_of_sorted(source: Path, ids: "pa.Array", before: str | None) -> str:
    from pyarrow import compute

    ascend = compute.all(compute.less(ids.slice(0, len(ids) - 1), ids.slice(1))).as_py() is not False
    if not ascend or (before is not None and before >= ids[0].as_py()):
        raise IndexCorrupt(f"{source}: its ids are not sorted, or one stands twice")
    return str(ids[-1].as_py())


def open_mapped(folder: Path, record: type) -> "pa.Table":
    """Return the table that `write_mapped` wrote, memory-mapped; IndexCorrupt if it cannot be read."""
    import pyarrow as pa

    try:
        table = pa.ipc.open_file(pa.memory_map(str(folder / "rows.arrow"))).read_all()
    except (pa.ArrowException, OSError) as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error
    if not table.schema.equals(tables.schema(record)):
        raise IndexCorrupt(f"{folder} has other columns; delete it, and it is made again")
    return table


class TableRows(MadeRows[Record]):
    """The rows of a table as records, each made when it is asked for. Safe to share between threads."""

    def __init__(self, table: "pa.Table", record: type[Record]) -> None:
        self.table = table
        self._record = record
        columns = [(table.column(name), make) for name, make in tables.builders(record).items()]

        def made(row: int) -> Record:
            check()
            values = ((make, column[row].as_py()) for column, make in columns)
            return record(*(make(value) if make else value for make, value in values))

        # Not a method: with a reference to itself a table would stay in memory until cycles are collected.
        self._cached = lru_cache(_CACHED_DOCUMENTS if record is Document else _CACHED_ROWS)(made)

    def at(self, rows: "Rows") -> list[Record]:
        """Return some rows."""
        return tables.records_of(tables.taken(self.table, rows, self._batches), self._record)

    @cached_property
    def _batches(self) -> tables.Batches:
        return tables.batches_of(self.table)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __iter__(self) -> Iterator[Record]:
        for batch in self.table.to_batches(_CACHED_ROWS):
            check()
            yield from tables.records_of(batch, self._record)

    def _made(self, row: int) -> Record:
        return self._cached(row)


class IdRows(Mapping[str, int]):
    """The row of each id of a sorted column, by binary search. Safe to share between threads."""

    def __init__(self, ids: Sequence[str]) -> None:
        after_last = 0

        def found(id_: str) -> int:
            nonlocal after_last
            row = after_last  # many ask in the order of the ids
            if row >= len(ids) or ids[row] != id_:
                row = bisect_left(ids, id_)
            after_last = row + 1
            return row if row < len(ids) and ids[row] == id_ else -1

        self._ids = ids
        self._cached = lru_cache(_CACHED_IDS)(found)

    def __getitem__(self, id_: str) -> int:
        row = self._cached(id_)
        if row < 0:
            raise KeyError(id_)
        return row

    def starting(self, prefix: str) -> list[str]:
        """Return the ids that begin with a prefix, ascending."""
        return starting(self._ids, prefix)

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)


class Changed(Mapping[str, Value]):
    """A mapping of which some values are others, or gone (None); it is neither copied nor changed."""

    def __init__(self, before: Mapping[str, Value], changes: Mapping[str, Value | None]) -> None:
        self._before = before
        self._changes = changes

    def __getitem__(self, id_: str) -> Value:
        if id_ not in self._changes:
            return self._before[id_]
        value = self._changes[id_]
        if value is None:
            raise KeyError(id_)
        return value

    def __iter__(self) -> Iterator[str]:
        yield from (id_ for id_ in self._before if id_ not in self._changes)
        yield from (id_ for id_, value in self._changes.items() if value is not None)

    def __len__(self) -> int:
        return sum(1 for _ in self)


class ById(Mapping[str, Value], Generic[Value]):
    """The values of a column by the ids of their rows."""

    def __init__(self, rows: Mapping[str, int], values: Sequence[Value]) -> None:
        self._rows = rows
        self._values = values

    def __getitem__(self, id_: str) -> Value:
        return self._values[self._rows[id_]]

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)
