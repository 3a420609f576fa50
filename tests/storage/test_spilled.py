"""Rows that spill to unnamed files are those that stay in memory."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.storage import spilled as spilling
from conspectus.storage.records import Link
from conspectus.storage.spilled import SortedRows, blocks_of, in_blocks, replaced, rows_by_id, spilled, spilling_to
from conspectus.storage.tables import arrow_of, write_table
from hypothesis import given
from hypothesis import strategies as st


def link(id_: str) -> Link:
    return Link(id_, "next", f"from {id_}", "to", "", None, len(id_))


IDS = st.lists(st.text("abcdefé-", max_size=4), unique=True, max_size=60)


@contextmanager
def small(folder: Path, rows_at_once: int = 4) -> Iterator[None]:
    """Spill nearly everything."""
    with (
        spilling_to(folder),
        patch.object(spilling, "BYTES_IN_MEMORY", 200),
        patch.object(spilling, "ROWS_AT_ONCE", rows_at_once),
        patch.object(spilling, "_PARTS", 5),
        patch.object(spilling, "_FEW_IDS", 8),
    ):
        yield


@given(IDS, st.integers(1, 9))
def test_sorted(tmp_path_factory: pytest.TempPathFactory, ids: list[str], size: int) -> None:
    rows = [link(id_) for id_ in ids]
    with small(tmp_path_factory.getbasetemp()):
        found = SortedRows(Link)
        for start in range(0, len(rows), size):
            found.add(arrow_of(Link, rows[start : start + size]))
        done = found.rows()
    assert list(done) == sorted(rows, key=lambda row: row.id.encode())
    assert {id_: rows_by_id(done)[id_] for id_ in ids} == {row.id: place for place, row in enumerate(done)}


def test_few_long_rows_do_not_tell_where_others_belong(tmp_path: Path) -> None:
    rows = [link(hashlib.sha256(bytes([row])).hexdigest()) for row in range(200)]
    first = sorted(rows, key=lambda row: row.id)[:5]
    with small(tmp_path):
        found = SortedRows(Link)
        for block in (first, [row for row in rows if row not in first]):
            found.add(arrow_of(Link, block))
        sizes = [file.tell() for file, _ in found._parts]
        assert max(sizes) < 2 * min(sizes)
        assert [row.id for row in found.rows()] == sorted(row.id for row in rows)


@given(IDS, st.data())
def test_replaced(tmp_path_factory: pytest.TempPathFactory, ids: list[str], data: st.DataObject) -> None:
    rows = sorted(map(link, ids), key=lambda row: row.id.encode())
    old = [row for row in rows if data.draw(st.booleans())]
    more = [row for row in rows if row not in old]
    kept = np.array([data.draw(st.booleans()) for _ in old], np.bool_)
    with small(tmp_path_factory.getbasetemp()):
        found = replaced(Link, blocks_of(arrow_of(Link, old)), kept, arrow_of(Link, more))
    gone = [row for row, stays in zip(old, kept, strict=True) if not stays]
    assert list(found) == [row for row in rows if row not in gone]


def test_parquet_bytes_and_files(tmp_path: Path) -> None:
    rows = [link(hashlib.sha256(str(number).encode()).hexdigest()) for number in range(40_000)]
    rows.sort(key=lambda row: row.id)
    write_table(tmp_path / "memory.parquet", Link, rows)
    with small(tmp_path, rows_at_once=1000):
        found = SortedRows(Link)
        for block in in_blocks(Link, rows[::-1]):
            found.add(block)
        done = found.rows()
        write_table(tmp_path / "spilled.parquet", Link, done)
        again = spilled(Link, blocks_of(done.table))
    assert (tmp_path / "memory.parquet").read_bytes() == (tmp_path / "spilled.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.parquet", "spilled.parquet"]
    assert again == rows


def test_memory_outside(tmp_path: Path) -> None:
    with patch.object(spilling, "BYTES_IN_MEMORY", 0):
        rows = spilled(Link, iter([arrow_of(Link, [link("a")]), arrow_of(Link, [])]))
    assert list(rows) == [link("a")]
