"""Rows that spill to unnamed files are those that stay in memory."""

import hashlib
from pathlib import Path
from unittest.mock import patch

import pytest
from conspectus.storage import spilled as spilling
from conspectus.storage.records import Link
from conspectus.storage.spilled import in_blocks, rows_by_id, sorted_rows, spilled, spilling_to
from conspectus.storage.tables import arrow_of, write_table
from hypothesis import given
from hypothesis import strategies as st


def link(id_: str) -> Link:
    return Link(id_, "next", f"from {id_}", "to", "", None, len(id_))


IDS = st.lists(st.text("abcdefé-", max_size=4), unique=True, max_size=60)


@given(IDS, st.integers(1, 9))
def test_sorted(tmp_path_factory: pytest.TempPathFactory, ids: list[str], size: int) -> None:
    rows = [link(id_) for id_ in ids]
    blocks = [arrow_of(Link, rows[start : start + size]) for start in range(0, len(rows), size)]
    with spilling_to(tmp_path_factory.getbasetemp()), patch.object(spilling, "ROWS_AT_ONCE", 4):
        done = sorted_rows(Link, blocks)
    assert list(done) == sorted(rows, key=lambda row: row.id.encode()) == list(sorted_rows(Link, blocks))
    assert {id_: rows_by_id(done)[id_] for id_ in ids} == {row.id: place for place, row in enumerate(done)}


def test_parquet_bytes_and_files(tmp_path: Path) -> None:
    rows = [link(hashlib.sha256(str(number).encode()).hexdigest()) for number in range(40_000)]
    rows.sort(key=lambda row: row.id)
    write_table(tmp_path / "memory.parquet", Link, rows)
    with spilling_to(tmp_path):
        done = sorted_rows(Link, in_blocks(Link, rows[::-1]))
        write_table(tmp_path / "spilled.parquet", Link, done)
        again = spilled(Link, [done.table])
    assert (tmp_path / "memory.parquet").read_bytes() == (tmp_path / "spilled.parquet").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["memory.parquet", "spilled.parquet"]
    assert again == rows
