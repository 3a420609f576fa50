"""Books made by hand."""

from pathlib import Path

import pytest
from conspectus.pipelines.readers.office.package import read_epub
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

from tests.pipelines.readers.reading import (
    archive_of,
    headings,
    only_row,
    refusal,
)

CONTAINER = """<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="OEBPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"""
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:title>The Dam</dc:title><dc:creator>Ada</dc:creator><dc:creator>Bo</dc:creator>
<dc:language>en</dc:language></metadata>
<manifest><item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="style.css" media-type="text/css"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/><itemref idref="c"/></spine></package>"""
CHAPTER = '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{}</body></html>'
ENCRYPTION = (
    '<encryption><EncryptedData><CipherData><CipherReference URI="{}"/></CipherData></EncryptedData></encryption>'
)
BOOK = {
    "mimetype": "application/epub+zip",
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/text/one.xhtml": CHAPTER.format("<h1>Floods</h1><p>It rained.</p>"),
    "OEBPS/text/two b.xhtml": CHAPTER.format("<h1>Walls</h1><h2>Stone</h2><p>They hold.</p>"),
}


def book(**changed: str | None) -> bytes:
    """Return the book with members (by the end of their names) changed or left out."""
    members = dict(BOOK)
    for end, text in changed.items():
        name = next((each for each in BOOK if end in each), f"META-INF/{end}.xml")
        members = {each: content for each, content in members.items() if each != name}
        if text is not None:
            members[name] = text
    return archive_of({name: text.encode("utf-8") for name, text in members.items()})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "book.epub"
    path.write_bytes(book())
    return path


def test_a_good_book(path: Path) -> None:
    row = only_row(read_epub, path)
    assert row.text == "Floods\n\nIt rained.\n\nWalls\n\nStone\n\nThey hold."
    assert headings(row) == [("Floods", 1), ("Walls", 1), ("Stone", 2)]
    assert (row.title, row.metadata) == ("The Dam", {"author": "Ada; Bo", "language": "en"})


def test_a_missing_chapter_is_lost_alone(path: Path) -> None:
    path.write_bytes(book(one=None))
    row, lost = read_epub(path, InputSettings())
    assert isinstance(row, Row)
    assert row.text.startswith("Walls")
    assert isinstance(lost, Lost)
    assert lost.reason == "chapter OEBPS/text/one.xhtml cannot be read"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (book(container=None), "damaged document"),
        (book(opf="<package/>"), "damaged document"),
        (book(one=None, two=None), "no text"),
        (book(encryption=ENCRYPTION.format("OEBPS/text/one.xhtml")), "encrypted"),
    ],
)
def test_refusals(content: bytes, reason: str, path: Path) -> None:
    path.write_bytes(content)
    assert refusal(read_epub, path).reason == reason


def test_a_chapter_that_is_listed_often_is_read_once(path: Path) -> None:
    plain = only_row(read_epub, path)
    path.write_bytes(book(book=PACKAGE.replace('<itemref idref="a"/>', '<itemref idref="a"/>' * 500)))
    assert only_row(read_epub, path) == plain
