import random
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Chunk, Failure, Finding, Mention, Report, Span
from conspectus.storage.tables import read_arrow, read_table, rows_among, sorted_by_id, write_table
from hypothesis import given, settings
from hypothesis import strategies as st

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
