"""Presentations, made by python-pptx."""

import io
from pathlib import Path
from zipfile import ZipFile

import pptx
import pytest
from conspectus.pipelines.readers.office.word import read_slides
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import (
    archive_of,
    headings,
    only_row,
    read,
    refusal,
)


def made(title: str = "PowerPoint Presentation") -> bytes:
    show = pptx.Presentation()
    show.core_properties.title = title
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text = "Risks\vof dams"
    first.placeholders[1].text = "Floods\nCracks"
    first.notes_slide.notes_text_frame.text = "Speak slowly."
    second = show.slides.add_slide(show.slide_layouts[6])
    group = second.shapes.add_group_shape()
    group.shapes.add_textbox(0, 0, 9, 9).text_frame.text = "In a group."
    table = second.shapes.add_table(2, 2, 0, 0, 9, 9).table
    for row, column, text in ((0, 0, "year"), (0, 1, "cost"), (1, 0, "1990"), (1, 1, "a\nb")):
        table.cell(row, column).text = text
    show.slides.add_slide(show.slide_layouts[6])
    content = io.BytesIO()
    show.save(content)
    return content.getvalue()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "show.pptx"
    path.write_bytes(made())
    return path


def without(path: Path, name: str) -> None:
    with ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist() if each != name}
    path.write_bytes(archive_of(parts))


def test_a_good_file(path: Path) -> None:
    row = only_row(read_slides, path)
    assert row.text == (
        "Risks of dams\n\n- Floods\n- Cracks\n\nSpeak slowly.\n\nIn a group.\n\n"
        "| year | cost |\n| --- | --- |\n| 1990 | a b |"
    )
    assert headings(row) == [("Risks of dams", 1)]
    slides = [(each.label, row.text[each.start :][:5]) for each in row.places if each.kind == "slide"]
    assert slides == [("1", "Risks"), ("2", "In a ")]
    assert row.title == "Risks of dams"


def test_a_missing_slide_is_lost_alone(path: Path) -> None:
    without(path, "ppt/slides/slide1.xml")
    row, lost = read_slides(path, InputSettings())
    assert isinstance(row, Row)
    assert [each.label for each in row.places] == ["2"]
    assert isinstance(lost, Lost)
    assert lost.reason == "slide 1 cannot be read"


def test_refusals(path: Path, tmp_path: Path) -> None:
    assert "max_characters" in read(path, InputSettings(max_characters=20))[1][""]
    empty = pptx.Presentation()
    empty.slides.add_slide(empty.slide_layouts[6])
    empty.save(str(tmp_path / "empty.pptx"))
    assert refusal(read_slides, tmp_path / "empty.pptx").reason == "no text"
    without(path, "ppt/presentation.xml")
    assert refusal(read_slides, path).reason == "damaged document"


def test_a_slide_that_is_listed_often_is_read_once(path: Path) -> None:
    with ZipFile(path) as archive:
        parts = {each: archive.read(each) for each in archive.namelist()}
    main = parts["ppt/presentation.xml"].decode()
    first = main[main.index("<p:sldId ") : main.index("/>", main.index("<p:sldId ")) + 2]
    parts["ppt/presentation.xml"] = main.replace(first, first * 500).encode()
    plain = only_row(read_slides, path)
    path.write_bytes(archive_of(parts))
    assert only_row(read_slides, path) == plain
