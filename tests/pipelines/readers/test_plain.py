from io import StringIO
from pathlib import Path

import pytest
from conspectus.pipelines.readers.plain import _parts
from conspectus.storage.settings import InputSettings
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.readers.reading import read, texts


@given(st.text("ab \n"), st.integers(1, 12))
def test_parts_are_the_text_and_not_too_long(text: str, size: int) -> None:
    parts = list(_parts(StringIO(text), size))
    assert "".join(parts) == text
    assert all(0 < len(part) <= size for part in parts)
    assert all(len(part) == size or part.endswith((" ", "\n")) for part in parts[:-1])


@pytest.mark.parametrize("suffix", [".txt", ".md"])
def test_a_text_past_the_limit_is_read_in_parts(tmp_path: Path, suffix: str) -> None:
    paragraphs = [f"Paragraph {number} has some words.\r\nAnd a second line." for number in range(50)]
    path = tmp_path / f"a{suffix}"
    path.write_bytes("\r\n\r\n".join(paragraphs).encode())
    whole = "\n\n".join(paragraphs).replace("\r\n", "\n")
    assert texts(read(path, InputSettings(max_characters=len(whole)))[0]) == {"": whole}
    rows, lost = read(path, InputSettings(max_characters=len(whole) - 1))
    assert (len(rows), lost) == (2, {})
    rows, lost = read(path, InputSettings(max_characters=200))
    assert lost == {}
    assert list(rows) == [f"#{number}" for number in range(1, len(rows) + 1)]
    assert ("" if suffix == ".txt" else "\n\n").join(texts(rows).values()) == whole
    assert all(len(row.text) <= 200 and row.text.startswith("Paragraph") for row in rows.values())


def test_parts_have_the_title_and_the_front_matter_of_the_whole(tmp_path: Path) -> None:
    lines = "".join(f"## Section {number}\n\nWords of it.\n\n" for number in range(20))
    (tmp_path / "a.md").write_text(f"---\nyear: 1900\n---\n# Oz\n\n{lines}", "utf-8")
    (tmp_path / "b.txt").write_text(f"Title: Oz\n\n{lines}", "utf-8")
    for name, metadata in (("a.md", {"year": "1900"}), ("b.txt", {})):
        rows, _ = read(tmp_path / name, InputSettings(max_characters=100))
        assert len(rows) > 5
        assert {row.title for row in rows.values()} == {"Oz"}
        assert all(row.metadata == metadata for row in rows.values())
    rows, _ = read(tmp_path / "a.md", InputSettings(max_characters=100))
    assert all(row.text[place.start :].startswith(place.label) for row in rows.values() for place in row.places)
    assert sum(len(row.places) for row in rows.values()) == 21


def test_blank_parts_are_no_rows(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("First.\n" + "\n" * 100 + "Last.", "utf-8")
    assert [text.strip() for text in texts(read(tmp_path / "a.txt", InputSettings(max_characters=20))[0]).values()] == [
        "First.",
        "Last.",
    ]
    (tmp_path / "b.txt").write_text("\n" * 100, "utf-8")
    assert read(tmp_path / "b.txt", InputSettings(max_characters=20))[1] == {"!": "empty"}
