"""Rows of a build in unnamed files instead of memory: written in blocks, mapped, and read when they are asked for.

Few rows stay in memory. An unnamed file is gone as soon as nobody maps it any more, also after a crash.
"""

import mmap
import shutil
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import chain, pairwise
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from conspectus.storage.appended_array import AppendedArray, Number
from conspectus.storage.arrays import Bools, Rows
from conspectus.storage.mapped import MAPPED_ROWS, IdRows, TableRows
from conspectus.storage.records import Chunk, Document
from conspectus.storage.tables import ROWS_AT_ONCE, arrow_of, by_id, rows_of_ids, schema
from conspectus.storage.text.postings import TextColumn

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")

BYTES_IN_MEMORY = 16 << 20
"""Bytes of a table up to which its rows stay in memory."""
SPILLED = ".spilled-"
"""What names of folders of spilled rows begin with."""
_CACHED_TEXTS = 64
_PARTS = 32
"""Parts into which a table is divided by id, to be sorted one after the other."""
_FEW_IDS = 8 * _PARTS
"""Fewer ids do not tell how the others are distributed."""

_FOLDER: ContextVar[Path | None] = ContextVar("folder of spilled rows", default=None)


@contextmanager
def spilling_to(folder: Path) -> Iterator[None]:
    """Let tables inside the block spill to files in this folder; outside, all rows stay in memory.

    What a process that was killed left there is deleted.
    """
    for left_over in folder.glob(f"{SPILLED}*"):
        shutil.rmtree(left_over, ignore_errors=True)
    before = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def spill_folder() -> Path | None:
    """Return the folder of the innermost `spilling_to`; None outside."""
    return _FOLDER.get()


def array_of(n: int, kind: type[Number]) -> AppendedArray[Number]:
    """Return an array for about `n` numbers, to be made part by part; that of many numbers spills."""
    return AppendedArray(_FOLDER.get() if n * kind().nbytes >= BYTES_IN_MEMORY // 4 else None, kind)


def in_blocks(record: type[Record], rows: Iterable[Record]) -> "Iterator[pa.Table]":
    """Yield rows as Arrow tables, so that the rows made one after the other are never in memory together."""
    block: list[Record] = []
    for row in rows:
        block.append(row)
        if len(block) == ROWS_AT_ONCE:
            yield arrow_of(record, block)
            block = []
    yield arrow_of(record, block)


def spilled(record: type[Record], blocks: "Iterable[pa.Table]") -> TableRows[Record]:
    """Return the rows of some tables, in their order.

    Args:
        record: The type of the rows.
        blocks: Arrow tables with the columns of the type.
    """
    import pyarrow as pa

    folder, blocks, first, size = _FOLDER.get(), iter(blocks), [schema(record).empty_table()], 0
    while folder is None or size < BYTES_IN_MEMORY:
        block = next(blocks, None)
        if block is None:
            return TableRows(pa.concat_tables(first).combine_chunks(), record)
        first.append(block)
        size += block.nbytes
    with tempfile.TemporaryFile(dir=folder) as file:
        with pa.ipc.new_file(file, schema(record)) as target:
            for batch in _batches(chain(_taken(first), blocks)):
                target.write_batch(batch)
        return TableRows(pa.ipc.open_file(_mapped(file)).read_all(), record)


def replaced(record: type[Record], blocks: "Iterable[pa.Table]", kept: Bools, added: "pa.Table") -> TableRows[Record]:
    """Return some rows of a table together with others, sorted by id.

    Args:
        record: The type of the rows.
        blocks: The rows of the table, sorted by id.
        kept: (rows,) which of them remain.
        added: The other rows.
    """
    import pyarrow as pa

    added = by_id(added)
    ids = added["id"].to_pylist()

    def made() -> "Iterator[pa.Table]":
        start = first = 0
        for block in blocks:
            remaining = block.filter(pa.array(kept[start : start + len(block)]))
            last = bisect_right(ids, block["id"][-1].as_py(), first)
            yield by_id(pa.concat_tables([remaining, added.slice(first, last - first)])) if first < last else remaining
            start, first = start + len(block), last
        yield added.slice(first)

    return spilled(record, made())


def blocks_of(table: "pa.Table") -> "Iterator[pa.Table]":
    """Yield the rows of a table in blocks."""
    for start in range(0, len(table), ROWS_AT_ONCE):
        yield table.slice(start, ROWS_AT_ONCE)


def sorted_rows(record: type[Record], rows: Iterable[Record]) -> TableRows[Record]:
    """Return rows, which are made one after the other, sorted by id."""
    found = SortedRows(record)
    for block in in_blocks(record, rows):
        found.add(block)
    return found.rows()


class _Texts(TextColumn):
    """A column of texts of a table, each read when it is asked for; the last ones are kept."""

    def __init__(self, table: "pa.Table", name: str) -> None:
        texts = table.column(name)
        super().__init__(lambda: texts)
        self._kept = lru_cache(_CACHED_TEXTS)(lambda row: str(texts[row]))

    def _text(self, row: int) -> str:
        return self._kept(row)


def text_column(rows: Sequence[object], name: str) -> Sequence[str]:
    """Return a column of texts of rows; of a table each text is read when it is asked for."""
    return _Texts(rows.table, name) if isinstance(rows, TableRows) else values_of(rows, name)


def values_of(rows: Sequence[object], name: str) -> list[Any]:
    """Return all values of a column of rows."""
    if isinstance(rows, TableRows):
        return list(rows.table.column(name).to_pylist())
    return [getattr(row, name) for row in rows]


def documents_of_chunks(documents: Sequence[Document], chunks: Sequence[Chunk]) -> Rows:
    """Return the row of the document of each chunk, (chunks,)."""
    ids = arrow_of(Document, documents, ["id"])["id"]
    return rows_of_ids(arrow_of(Chunk, chunks, ["document_id"])["document_id"], ids)


def rows_by_id(rows: Sequence[Any]) -> Mapping[str, int]:
    """Return the row of each id; a table must be sorted by id."""
    if isinstance(rows, TableRows):
        return IdRows(TextColumn(lambda: rows.table["id"]))
    return {row.id: place for place, row in enumerate(rows)}


def few_as_list(rows: TableRows[Record]) -> Sequence[Record]:
    """Return few rows as a list, because records in memory are read faster, and many as they are."""
    return list(rows) if len(rows) < MAPPED_ROWS else rows


class SortedRows(Generic[Record]):
    """Collects the rows of a table in blocks and returns them sorted by id, in the memory of a part of them.

    Beyond `BYTES_IN_MEMORY` each block is divided by id, at the quantiles of the ids in the first blocks, and appended
    to the files of the parts.
    """

    def __init__(self, record: type[Record]) -> None:
        self._record = record
        self._waiting: list[pa.Table] = []
        self._size = 0
        self._bounds: list[str] = []
        self._parts: list[tuple[IO[bytes], pa.ipc.RecordBatchStreamWriter]] = []

    def add(self, block: "pa.Table") -> None:
        """Add the rows of a table with the columns of the type; their ids differ from those of all others."""
        self._waiting.append(block)
        self._size += block.nbytes
        if self._size >= BYTES_IN_MEMORY and (folder := _FOLDER.get()):
            self._spill(folder)

    def rows(self) -> TableRows[Record]:
        """Return all rows that were added; nothing can be added afterwards."""
        import pyarrow as pa

        if not self._parts:
            return TableRows(
                by_id(pa.concat_tables([schema(self._record).empty_table(), *_taken(self._waiting)])), self._record
            )
        self._divide()
        return spilled(self._record, map(by_id, self._read()))

    def _spill(self, folder: Path) -> None:
        import pyarrow as pa

        if not self._parts:
            ids = sorted(id_ for block in self._waiting for id_ in block["id"].to_pylist())
            if len(ids) < _FEW_IDS:  # of long rows; most ids are hashes
                ids = [f"{part:03x}" for part in range(1 << 12)]
            self._bounds = [ids[len(ids) * part // _PARTS] for part in range(1, _PARTS)]
            for _ in range(_PARTS):
                file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115  (open until it is read)
                self._parts.append((file, pa.ipc.new_stream(file, schema(self._record))))
        self._divide()

    def _divide(self) -> None:
        """Append what waits to the parts."""
        import pyarrow as pa

        if not self._waiting:
            return
        block = by_id(pa.concat_tables(_taken(self._waiting)))
        self._size = 0
        ids = TextColumn(lambda: block["id"])
        ends = [0, *(bisect_left(ids, bound) for bound in self._bounds), len(block)]
        for (_, part), (start, end) in zip(self._parts, pairwise(ends), strict=True):
            part.write_table(block.slice(start, end - start))

    def _read(self) -> "Iterator[pa.Table]":
        import pyarrow as pa

        for file, writer in self._parts:
            writer.close()
            with file:
                yield pa.ipc.open_stream(_mapped(file)).read_all()


def _taken(blocks: "list[pa.Table]") -> "Iterator[pa.Table]":
    """Yield the tables of a list, which keeps none of them."""
    blocks.reverse()
    while blocks:
        yield blocks.pop()


def _batches(blocks: "Iterable[pa.Table]") -> "Iterator[pa.RecordBatch]":
    """Yield the rows of tables in batches of equal size, the last one smaller."""
    import pyarrow as pa

    held: list[pa.Table] = []
    for block in blocks:
        held.append(block)
        count = sum(map(len, held))
        if count >= ROWS_AT_ONCE:
            whole, left = pa.concat_tables(held).combine_chunks(), count % ROWS_AT_ONCE
            for start in range(0, count - left, ROWS_AT_ONCE):
                yield from whole.slice(start, ROWS_AT_ONCE).to_batches()
            held = [whole.slice(count - left)]
    if held:
        yield from pa.concat_tables(held).combine_chunks().to_batches()


def _mapped(file: IO[bytes]) -> "pa.Buffer":
    import pyarrow as pa

    file.flush()
    return pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
