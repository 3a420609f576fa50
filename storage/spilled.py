"""Rows of a build in unnamed files instead of memory: written in blocks, mapped, and read when they are asked for.

Few rows stay in memory. An unnamed file is gone as soon as nobody maps it any more, also after a crash.
"""

import mmap
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from conspectus.storage.appended_array import AppendedArray, Number
from conspectus.storage.arrays import Rows
from conspectus.storage.mapped import MAPPED_ROWS, IdRows, TableRows, large_batches
from conspectus.storage.records import Chunk, Document
from conspectus.storage.tables import ROWS_AT_ONCE, arrow_of, batches_of, rows_of_ids, schema, taken
from conspectus.storage.text.postings import TextColumn

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")

BYTES_IN_MEMORY = 4 << 20
"""Bytes of an array up to which it stays in memory."""
_BYTES_AT_ONCE = 16 << 20
"""Bytes of a block of rows."""
SPILLED = ".spilled-"
"""What names of folders of spilled rows begin with."""
_CACHED_TEXTS = 64

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
    return AppendedArray(_FOLDER.get() if n * kind().nbytes >= BYTES_IN_MEMORY else None, kind)


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

    folder, shape = _FOLDER.get(), schema(record)
    if folder is None:
        return TableRows(pa.concat_tables([shape.empty_table(), *blocks]).combine_chunks(), record)
    with tempfile.TemporaryFile(dir=folder) as file:
        with pa.ipc.new_file(file, shape) as target:
            for batch in large_batches(batch for block in blocks for batch in block.to_batches()):
                target.write_batch(batch)
        file.flush()
        mapped = pa.py_buffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        return TableRows(pa.ipc.open_file(mapped).read_all(), record)


def sorted_rows(record: type[Record], blocks: "Iterable[pa.Table]") -> TableRows[Record]:
    """Return the rows of some tables, whose ids differ, sorted by id."""
    from pyarrow import compute

    table = spilled(record, blocks).table
    order = compute.sort_indices(table["id"]).to_numpy().astype(np.int64)
    # Each block has rows of nearly all batches, so a block of few rows would take as long as one of many.
    at_once = max(ROWS_AT_ONCE, _BYTES_AT_ONCE * len(table) // max(table.nbytes, 1))
    batches, starts = batches_of(table), range(0, len(order), at_once)
    return spilled(record, (taken(table, order[start : start + at_once], batches) for start in starts))


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
