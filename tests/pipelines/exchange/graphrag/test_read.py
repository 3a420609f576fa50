"""Reading the tables of GraphRAG: of every version, whatever is wrong with them, and where their chunks stand."""

import unicodedata
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.exchange.graphrag.documents import Aligned, AlignedText, joined
from conspectus.pipelines.exchange.graphrag.importer import read_graphrag
from conspectus.pipelines.exchange.graphrag.schema import TABLES
from conspectus.storage.errors import InputError
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.graphrag_tables import EXCERPT, small, write


def changed(path: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def rename(path: Path, **names: str) -> None:
    changed(path, lambda table: table.rename_columns([names.get(each, each) for each in table.column_names]))


def with_column(path: Path, name: str, values: list[Any], kind: pa.DataType | None = None) -> None:
    def change(table: pa.Table) -> pa.Table:
        return table.set_column(table.column_names.index(name), name, pa.array(values, kind))

    changed(path, change)


@pytest.mark.parametrize("inside", [".", "output", "output/artifacts"])
def test_what_was_written_is_read(tmp_path: Path, inside: str) -> None:
    write(small(), tmp_path / inside)
    read = read_graphrag(tmp_path)
    assert (read.tables, read.failures, read.notes) == (small(), [], ())


def test_tables_of_3_x_are_read() -> None:
    tables = read_graphrag(EXCERPT).tables
    assert (len(tables.entities), len(tables.relationships), len(tables.covariates)) == (22, 27, 6)
    assert tables.community_reports[0].findings


def test_tables_of_2_x_are_read(tmp_path: Path) -> None:
    write(small(), tmp_path)
    rename(tmp_path / "documents.parquet", raw_data="metadata")
    rename(tmp_path / "text_units.parquet", document_id="document_ids")
    with_column(tmp_path / "text_units.parquet", "document_ids", [["d"], ["d"]])
    changed(tmp_path / "entities.parquet", lambda table: table.append_column("x", pa.array([0.0] * len(table))))
    read = read_graphrag(tmp_path)
    assert (read.tables, read.failures) == (small(), [])
    assert read.notes == ("columns that are not imported: entities.x",)


def test_a_chunk_of_two_documents_is_one_of_each(tmp_path: Path) -> None:
    write(small(), tmp_path)
    with_column(tmp_path / "text_units.parquet", "document_id", [["d", "e"], []], pa.list_(pa.string()))
    units = read_graphrag(tmp_path).tables.text_units
    assert [(each.id, each.document_id) for each in units] == [("u1", "d"), ("u1", "e"), ("u2", None)]


def test_numbers_of_pandas_are_whole_numbers(tmp_path: Path) -> None:
    write(small(), tmp_path)
    with_column(tmp_path / "entities.parquet", "degree", [2.0, float("nan"), 0.0, 1.0])
    with_column(tmp_path / "communities.parquet", "level", ["0", "1"])
    read = read_graphrag(tmp_path)
    assert [each.degree for each in read.tables.entities] == [2, None, 0, 1]
    assert [each.level for each in read.tables.communities] == [0, 1]
    assert read.failures == []


def test_cells_and_rows_that_cannot_be_used_are_listed(tmp_path: Path) -> None:
    write(small(), tmp_path)
    with_column(tmp_path / "relationships.parquet", "weight", ["16", "heavy", "inf"])
    with_column(tmp_path / "entities.parquet", "title", ["ADA MIRREN", None, "PORT ALMA", "北京大学"])
    read = read_graphrag(tmp_path)
    told = [(each.item_id, each.reason, each.detail) for each in read.failures]
    assert told == [
        ("entities#1", "a row without title", ""),
        ("relationships#1", "weight is not a number", "heavy"),
        ("relationships#2", "weight is not a number", "inf"),
    ]
    assert [each.weight for each in read.tables.relationships] == [16.0, None, None]
    assert len(read.tables.entities) == 3


@pytest.mark.parametrize("name", [each for each in TABLES if each != "covariates"])
def test_a_missing_table_is_named(tmp_path: Path, name: str) -> None:
    (write(small(), tmp_path) / f"{name}.parquet").unlink()
    with pytest.raises(InputError, match=r"entities\.parquet|lacks " + name):
        read_graphrag(tmp_path)


def test_what_is_no_project_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        read_graphrag(tmp_path / "gone")
    with pytest.raises(InputError, match="name the output folder of a GraphRAG project"):
        read_graphrag(tmp_path)


@pytest.mark.parametrize(("table", "column"), [("entities", "title"), ("text_units", "text"), ("communities", "level")])
def test_a_missing_column_is_named(tmp_path: Path, table: str, column: str) -> None:
    path = write(small(), tmp_path) / f"{table}.parquet"
    changed(path, lambda found: found.drop_columns([column]))
    with pytest.raises(InputError, match=f"{table}.parquet has no column {column}; it has id"):
        read_graphrag(tmp_path)


@pytest.mark.parametrize(
    ("table", "column", "values", "told"),
    [
        ("entities", "title", [[1]] * 4, "the column title is list<.*>, not a text"),
        ("relationships", "weight", ["x"] * 3, "the column weight is string, not a number"),
        ("communities", "entity_ids", ["e1"] * 2, "the column entity_ids is string, not a list of texts"),
        ("communities", "children", [[0.5]] * 2, "the column children is list<.*>, not a list of whole numbers"),
        ("community_reports", "findings", [3], "the column findings is int64, not a list of findings"),
        ("documents", "raw_data", [5], "the column raw_data is int64, not an object"),
        ("communities", "level", [True, False], "the column level is bool, not a whole number"),
    ],
)
def test_a_column_of_another_type_is_named(
    tmp_path: Path, table: str, column: str, values: list[Any], told: str
) -> None:
    with_column(write(small(), tmp_path) / f"{table}.parquet", column, values)
    with pytest.raises(InputError, match=told):
        read_graphrag(tmp_path)


def test_a_file_that_is_no_parquet_is_named(tmp_path: Path) -> None:
    write(small(), tmp_path)
    (tmp_path / "communities.parquet").write_bytes(b"PAR1 and no more PAR1")
    with pytest.raises(InputError, match=r"communities\.parquet cannot be read: "):
        read_graphrag(tmp_path)


def test_text_that_is_no_utf_8_is_refused(tmp_path: Path) -> None:
    write(small(), tmp_path)
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\2\0\0\0"), pa.py_buffer(b"\xff\xfe")])
    path = tmp_path / "documents.parquet"
    changed(path, lambda table: table.set_column(table.column_names.index("title"), "title", broken))
    with pytest.raises(InputError, match=r"documents\.parquet cannot be read: "):
        read_graphrag(tmp_path)


def test_other_tables_have_another_digest(tmp_path: Path) -> None:
    first = read_graphrag(write(small(), tmp_path / "a"))
    second = read_graphrag(write(small(), tmp_path / "b" / "output"))
    assert first.digest == second.digest
    other = replace(small(), covariates=[])
    assert read_graphrag(write(other, tmp_path / "c")).digest != first.digest


TEXT = "Hobson was late.\nNobody was uneasy.  Hobson was late.\n\nStrakes signed it."


@given(st.text(st.sampled_from("ab \n北é"), min_size=1, max_size=60), st.data())
def test_a_run_of_the_text_is_found_where_it_stands(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    (found,) = AlignedText(text).align([text[start:end]])
    if text[start:end].strip():
        assert found is not None
        assert text[found.start : found.end] == text[start:end]
        assert found.start == text.find(text[start:end]), "the first of several places"
    else:
        assert found is None


@given(st.lists(st.text(st.sampled_from("ab c"), min_size=1, max_size=9).filter(str.strip), min_size=1, max_size=8))
def test_units_that_follow_each_other_are_found_in_turn(units: list[str]) -> None:
    found = AlignedText("".join(units)).align(units)
    starts = [each.start for each in found if each]
    assert len(starts) == len(units)
    assert starts == sorted(set(starts)), "each behind the one before it, however alike they are"


@pytest.mark.parametrize(
    ("unit", "prepended"),
    [
        ("title: a.txt.\nNobody was uneasy.", "title: a.txt.\n"),
        ("note: of two\nlines.\nNobody was uneasy.", "note: of two\nlines.\n"),
        ("Nobody was uneasy.", ""),
    ],
)
def test_metadata_before_a_unit_is_not_of_the_document(unit: str, prepended: str) -> None:
    assert AlignedText(TEXT).align([unit]) == [Aligned(17, 35, prepended)]


@pytest.mark.parametrize(
    "unit",
    [
        "Nobody was  \nuneasy. Hobson was late.",
        "\ufffdNobody was uneasy. Hobson was late.\ufffd",
        "title: x.\nNobody was\u00a0uneasy. Hobson was\tlate.",
    ],
)
def test_blanks_and_halves_of_letters_make_no_difference(unit: str) -> None:
    (found,) = AlignedText(TEXT).align([unit])
    assert found is not None
    assert TEXT[found.start : found.end] == "Nobody was uneasy.  Hobson was late."


def test_forms_of_letters_make_no_difference() -> None:
    text = unicodedata.normalize("NFD", "Der Käse, 北京ｶﾞ.")
    (found,) = AlignedText(text).align([unicodedata.normalize("NFC", "Käse, 北京ガ")])
    assert found is not None
    assert unicodedata.normalize("NFKC", text[found.start : found.end]) == "Käse, 北京ガ"


@pytest.mark.parametrize("unit", ["Bob Ashgrove", "title: x", "  \n", "\ufffd"])
def test_what_stands_nowhere_is_not_found(unit: str) -> None:
    assert AlignedText(TEXT).align([unit]) == [None]


@given(st.text(st.sampled_from("abcd "), min_size=30, max_size=90), st.integers(8, 20), st.integers(1, 6))
def test_a_text_is_joined_of_its_chunks(text: str, size: int, overlap: int) -> None:
    text = "".join(f"{number}{sign}" for number, sign in enumerate(text))  # nothing stands twice
    units = [text[at : at + size] for at in range(0, len(text) - overlap, size - overlap)]
    assert joined(units) == text
    assert joined([f"title: x.\n{each}" for each in units]) == text
