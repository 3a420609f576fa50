"""Comma-separated values whose cells are anything."""

import csv
from pathlib import Path

import pytest
from conspectus.pipelines.exchange.exports import write_csv, write_spreadsheet_csv

from tests.pipelines.exchange.made import entity, index_of

NAMES = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    " =1",
    "\t=1",
    '"quoted", comma',
    "line\nbreak",
    "cr\rhere",
    "北京",
    "plain -1",
]


def names_of(path: Path, encoding: str = "utf-8") -> list[str]:
    with path.open(encoding=encoding, newline="") as stream:
        return [row["name"] for row in csv.DictReader(stream, strict=True)]


def test_no_text_is_a_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    done = write_spreadsheet_csv(index_of([entity(each) for each in NAMES]), tmp_path / "t")
    found = names_of(tmp_path / "t" / "entities.csv", "utf-8-sig")
    assert [each.removeprefix("'") for each in found] == NAMES
    assert [each for each in found if each.startswith("'")] == [f"'{each}" for each in NAMES[:6]]
    assert (tmp_path / "t" / "entities.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert done.notes


@pytest.mark.parametrize("write", [write_csv, write_spreadsheet_csv])
def test_an_empty_index_has_every_table_with_its_columns(tmp_path: Path, write: object) -> None:
    assert callable(write)
    done = write(index_of([]), tmp_path / "t")
    assert set(done.rows.values()) == {0}
    assert all(each.read_text("utf-8").count("\r\n") <= 1 for each in done.files)
