"""Tables and arrays on the disk: rows, blocks that are spilled, files that are checked, and rows in memory."""

import hashlib
import os
import random
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pytest
from conspectus.storage import arrays, checked_files, manifest, publishing
from conspectus.storage import spilled as spilling
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.hashing import short_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, verified_file
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.publishing import publish, staging
from conspectus.storage.records import Chunk, Entity, Failure, Finding, Link, Mention, Report, Span
from conspectus.storage.spilled import in_blocks, rows_by_id, sorted_rows, spilled, spilling_to
from conspectus.storage.tables import TABLES, arrow_of, read_arrow, read_table, rows_among, sorted_by_id, write_table
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

REPORT = Report(
    id="r",
    community_id="c",
    level=0,
    title="北京大学",
    summary="s",
    findings=(Finding("a", "b", (Span("d", "k", 0, 4), Span("d", "k", 5, 9))), Finding("e", "f", ())),
    rating=7.5,
    full_text="t",
    n_tokens=3,
)


text = st.text(st.characters(exclude_categories=["Cs"]))


@settings(max_examples=30)
@given(
    st.lists(
        st.builds(
            Chunk,
            text,
            text,
            st.integers(0, 9),
            st.integers(0, 9),
            st.integers(0, 9),
            text,
            st.integers(0, 9),
        )
    )
)
def test_writing_then_reading_is_the_identity(tmp_path_factory: pytest.TempPathFactory, rows: list[Chunk]) -> None:
    path = tmp_path_factory.mktemp("t") / "t.parquet"
    write_table(path, Chunk, rows)
    assert read_table(path, Chunk) == rows


def test_another_tables_file_is_refused(tmp_path: Path) -> None:
    write_table(tmp_path / "t.parquet", Report, [REPORT])
    with pytest.raises(IndexCorrupt, match="not those of Mention"):
        read_table(tmp_path / "t.parquet", Mention)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"no parquet at all" * 100])
def test_a_damaged_file_is_refused(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(content)
    with pytest.raises(IndexCorrupt, match=r"t\.parquet"):
        read_table(tmp_path / "t.parquet", Mention)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(IndexCorrupt, match=r"gone\.parquet is missing"):
        read_arrow(tmp_path / "gone.parquet", Mention)


def test_rows_are_sorted_by_id() -> None:
    rows = [Failure("b", "1", ""), Failure("a", "2", ""), Failure("a", "1", "")]
    assert [(row.stage, row.item_id) for row in sorted_by_id(rows)] == [("a", "1"), ("a", "2"), ("b", "1")]


@pytest.mark.parametrize("strange", ["", "short", "0123456789abcdeg", "0123456789ABCDEF", "0" * 17, "ключ" * 2, None])
@pytest.mark.parametrize("known_too", [False, True])
def test_ids_are_found_among_many(strange: str | None, *, known_too: bool) -> None:
    """Whether all known ids are numbers, and are searched as such, or not."""
    drawn = random.Random(0)
    known = sorted(short_id(str(number)) for number in range(1 << 15))
    known += [strange] if known_too and strange is not None else []
    row_of = {id_: row for row, id_ in enumerate(known)}
    asked = [drawn.choice([*known[:100], *known[-100:], short_id("other"), strange, None]) for _ in range(5000)]
    asked += ["0" * 16, "f" * 16]
    parts = pa.chunked_array(
        [pa.array(["left out", *asked[:9]]).slice(1), pa.array([], pa.string()), pa.array(asked[9:])]
    )
    expected = [-1 if id_ is None else row_of.get(id_, -1) for id_ in asked]
    assert rows_among(parts, pa.array(known)).tolist() == expected
    shuffled = drawn.sample(range(len(known)), len(known))
    place = np.argsort(shuffled)
    found = rows_among(pa.array(asked), pa.array([known[row] for row in shuffled]))
    assert found.tolist() == [-1 if row < 0 else place[row] for row in expected]
    assert not len(rows_among(pa.array([], pa.string()), pa.array(known)))


def columns_of(length: int) -> "st.SearchStrategy[np.typing.NDArray[np.integer]]":
    """Columns of whole numbers or of fractions: some of few values, some of all that their type has."""
    small = npst.arrays(np.int64, length, elements=st.integers(-2, 2))
    large = npst.integer_dtypes().flatmap(lambda kind: npst.arrays(kind, length))
    return small | large | npst.arrays(np.float64, length, elements=st.sampled_from([-1.5, 0.0, 2.5]))


LENGTH, WIDTH = 40_000, 450
"""Of an array of 72 MB, whose rows are not a whole number to a page."""


def test_ranges_of_a_mapped_array_are_asked_for_and_an_array_in_memory_is_left(tmp_path: Path) -> None:
    whole = np.lib.format.open_memmap(tmp_path / "a.npy", "w+", np.float32, (LENGTH, WIDTH))
    whole[::7] = 3
    rows = np.array([LENGTH - 1, 0, 7, 7])
    for array in (np.load(tmp_path / "a.npy", mmap_mode="r"), np.array(whole)):
        arrays.read_ahead(array, rows, rows + 1)
        arrays.read_ahead(array, np.zeros(1, np.int64), np.array([LENGTH]))
        arrays.read_ahead(array, np.array([LENGTH]), np.array([LENGTH]))
        np.testing.assert_array_equal(array[rows], whole[rows])


@given(npst.arrays(npst.integer_dtypes() | npst.unsigned_integer_dtypes(), npst.array_shapes(max_dims=2, min_side=0)))
def test_distinct_values_are_those_of_numpy(values: np.typing.NDArray[np.integer]) -> None:
    found = arrays.distinct(values)
    np.testing.assert_array_equal(found, np.unique(values))
    assert found.dtype == values.dtype


@given(st.integers(0, 40).flatmap(lambda n: st.lists(columns_of(n), min_size=1, max_size=4)))
def test_runs_are_those_of_a_stable_sort_by_columns(columns: "list[np.typing.NDArray[np.integer]]") -> None:
    order, starts = arrays.runs(*columns)
    np.testing.assert_array_equal(order, np.lexsort(columns[::-1]))
    rows = list(zip(*(column[order].tolist() for column in columns), strict=True))
    assert starts.tolist() == [place for place, row in enumerate(rows) if not place or row != rows[place - 1]]


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


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Manifest]:
    for module in (manifest, publishing):
        monkeypatch.setattr(module, "LARGE_FILE", 1)
    monkeypatch.setattr(manifest, "_checked", set())
    with staging(tmp_path) as folder:
        (folder / "a.txt").write_text("one", "utf-8")
        made = publish(tmp_path, folder, settings={}, fingerprint="f", rows={}, models={}, tools={})
    return tmp_path / "versions" / made.version, made


def test_what_the_build_hashed_is_not_hashed_again(
    version: tuple[Path, Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, made = version
    monkeypatch.setattr(manifest, "file_digest", lambda path: pytest.fail(f"{path} was hashed"))
    assert verified_file(folder, "a.txt", made.files).read_text("utf-8") == "one"


def test_another_text_is_found_whatever_its_time_says(version: tuple[Path, Manifest]) -> None:
    folder, made = version
    before = (folder / "a.txt").stat()
    (folder / "a.txt").write_text("two", "utf-8")
    os.utime(folder / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    with pytest.raises(IndexCorrupt, match="does not match its checksum"):
        verified_file(folder, "a.txt", made.files)


@pytest.mark.parametrize("text", ["", "[]", '{"a.txt": 1}', "[" * 100_000])
def test_a_damaged_record_only_costs_time(version: tuple[Path, Manifest], text: str) -> None:
    folder, made = version
    place = next((folder.parent.parent / "cache" / checked_files.FOLDER).rglob("files.json"))
    place.write_text(text, "utf-8")
    verified_file(folder, "a.txt", made.files)
    assert checked_files.is_remembered(
        folder, "a.txt", checked_files.state((folder / "a.txt").stat(), made.files["a.txt"]["sha256"])
    )


ENTITY = Entity("e", "Ada", "NAME", ("NAME",), "", 1, 0)
VECTORS = np.eye(4, dtype=np.float32)


@pytest.fixture
def made() -> list[str]:
    return []


@pytest.fixture
def index(sample_root: Path, made: list[str]) -> MemoryIndex:
    def given(name: str, value: Any) -> Any:  # noqa: ANN401  (a part of any kind)
        def make() -> Any:  # noqa: ANN401
            made.append(name)
            return value

        return make

    tables: dict[type, Any] = {record: given(name, []) for name, record in TABLES.items()}
    tables[Entity] = given("entities", [replace(ENTITY, description="Ada wrote programs.")])
    parts = Parts(
        tables,
        {"chunks": given("vectors", windowed_in_memory(VECTORS, np.array([0, 0, 2, 3]), 5))},
        given("graph", Adjacency.from_edges(1, [], [], [])),
        given("lexical", Bm25.of(["Ada wrote"], ["en"])),
    )
    return MemoryIndex(sample_root, StoredIndex.open(sample_root).manifest, parts)


def test_each_part_is_made_once_and_when_it_is_wanted(index: MemoryIndex, made: list[str]) -> None:
    assert made == []
    assert index.manifest.rows["entities"] == 1
    assert index.arrow(Entity, "id", "name").to_pylist() == [{"id": "e", "name": "Ada"}]
    assert made == ["entities"]
    assert index.rows(Entity)[0].description == index.arrow(Entity, "description").to_pylist()[0]["description"]
    assert index.arrow(Entity).num_rows == 1
    assert index.lexical().scores("ada")[0] > 0
    assert index.graph().n_nodes == 1
    assert index.graph() is index.graph()
    assert made == ["entities", "lexical", "graph"]
    assert dict(index.manifest.rows) == {**dict.fromkeys(TABLES, 0), "entities": 1}


def test_vectors_of_some_rows_are_found_as_in_the_whole(index: MemoryIndex) -> None:
    whole = index.vectors("chunks")
    kept, owners = whole.vectors_of(np.array([0, 1, 3]))
    assert owners.tolist() == [0, 0, 2]
    part = windowed_in_memory(kept, owners, 3)
    assert isinstance(part, WindowedIndex)
    assert part.scores(VECTORS, np.array([0, 1, 2])).tolist() == whole.scores(VECTORS, np.array([0, 1, 3])).tolist()
    assert part.search(VECTORS[3:], 1)[1].tolist() == [[2]]
    none = windowed_in_memory(np.zeros((0, 4), np.float32), np.zeros(0, np.int64), 2)
    assert none.search(VECTORS, 3)[1].shape == (4, 0)
