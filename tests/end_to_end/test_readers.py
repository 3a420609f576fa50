"""A folder with a good and a broken file of each kind: every good text is read, and every broken file is a failure."""

import csv
import gzip
import io
import json
import tarfile
import time
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.readers.formats import READERS
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Chunk, Document, Failure
from conspectus.storage.settings import load_settings
from conspectus.storage.verify import verify
from PIL import Image, ImageDraw, ImageFont

from tests.command_line import conspectus
from tests.pipelines.readers.compound_file import compound_file

SETTINGS = load_settings(overrides={"extraction": {"pipeline": "regex"}})
NAMES = {
    ".txt": "Ada Lovelace", ".md": "Marie Curie", ".markdown": "Pierre Curie", ".html": "Lise Meitner",
    ".htm": "Otto Hahn", ".xhtml": "Emmy Noether", ".pdf": "David Hilbert", ".docx": "Niels Bohr",
    ".pptx": "Max Planck", ".xlsx": "Alan Turing", ".epub": "Kurt Goedel", ".csv": "Grace Hopper",
    ".tsv": "John Neumann", ".json": "Claude Shannon", ".jsonl": "Donald Knuth", ".ndjson": "Edsger Dijkstra",
    ".parquet": "Barbara Liskov", ".eml": "Tim Lee", ".mbox": "Vint Cerf", ".zip": "Robert Kahn", ".tar": "Jon Postel",
    ".tgz": "Paul Baran", ".gz": "Larry Roberts", ".log": "Ken Thompson", ".rst": "Guido Rossum",
    ".org": "Carsten Dominik", ".tex": "Leslie Lamport", ".odt": "Marco Boerries", ".ipynb": "Fernando Perez",
    ".py": "Tim Peters", ".adoc": "Stuart Rackham", ".wiki": "Ward Cunningham", ".1": "Brian Kernighan",
    ".yaml": "Clark Evans", ".xml": "Tim Bray", ".rtf": "Charles Simonyi", ".vtt": "Silvia Pfeiffer",
    ".ics": "Frank Dawson", ".png": "Henry Baird", ".msg": "Ray Ozzie",
}  # fmt: skip
"""Whom the good file of each kind is about."""


def sentence(suffix: str) -> str:
    return f"{NAMES[suffix]} worked in Vienna."


def _text(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")


def _html(path: Path, text: str) -> None:
    path.write_text(
        f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>T</title></head><body><p>{text}</p></body></html>',
        "utf-8",
    )


def _pdf(path: Path, text: str) -> None:
    from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-untyped]

    page = Canvas(str(path))
    page.drawString(72, 720, text)
    page.save()


def _word(path: Path, text: str) -> None:
    from docx import Document as Word

    document = Word()
    document.add_paragraph(text)
    document.save(str(path))


def _slides(path: Path, text: str) -> None:
    from pptx import Presentation

    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.placeholders[1].text = text
    deck.save(str(path))


def _workbook(path: Path, text: str) -> None:
    from openpyxl import Workbook

    book = Workbook()
    book.worksheets[0].append(["Who", text])
    book.save(path)


def _epub(path: Path, text: str) -> None:
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container" version="1.0"><rootfiles>'
            '<rootfile full-path="b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>',
        )
        book.writestr(
            "b.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata '
            'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>Book</dc:title></metadata><manifest>'
            '<item id="c" href="c.xhtml" media-type="application/xhtml+xml"/></manifest>'
            '<spine><itemref idref="c"/></spine></package>',
        )
        page = (
            f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>C</title></head><body><p>{text}</p></body></html>'
        )
        book.writestr("c.xhtml", page)


def _table(path: Path, text: str) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, dialect="excel-tab" if path.suffix == ".tsv" else "excel").writerows(
            [["id", "text"], ["", text]]
        )


def _json(path: Path, text: str) -> None:
    path.write_text(json.dumps({"text": text}) + "\n", "utf-8")


def _parquet(path: Path, text: str) -> None:
    pq.write_table(pa.table({"text": [text]}), path)


def message(text: str) -> bytes:
    made = EmailMessage()
    made["Subject"] = "News"
    made.set_content(text)
    return made.as_bytes()


def _mail(path: Path, text: str) -> None:
    path.write_bytes(message(text))


def _mailbox(path: Path, text: str) -> None:
    path.write_bytes(b"From a@example.org Mon Jan  1 10:00:00 2024\n" + message(text))


def _zip(path: Path, text: str) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", text)


def _tar(path: Path, text: str) -> None:
    with tarfile.open(path, "w:gz" if path.suffix == ".tgz" else "w") as archive:
        info = tarfile.TarInfo("a.txt")
        info.size = len(text)
        archive.addfile(info, io.BytesIO(text.encode()))


def _gzip(path: Path, text: str) -> None:
    path.write_bytes(gzip.compress(text.encode()))


def _open_document(path: Path, text: str) -> None:
    urn = "urn:oasis:names:tc:opendocument:xmlns"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(
            "content.xml",
            f'<o:document-content xmlns:o="{urn}:office:1.0" xmlns:text="{urn}:text:1.0"><o:body><o:text>'
            f"<text:p>{text}</text:p></o:text></o:body></o:document-content>",
        )


def _notebook(path: Path, text: str) -> None:
    path.write_text(json.dumps({"cells": [{"cell_type": "markdown", "source": [text]}]}), "utf-8")


def _code(path: Path, text: str) -> None:
    path.write_text(f'"""{text}"""\nx = 1\n', "utf-8")


def _xml(path: Path, text: str) -> None:
    path.write_text(f"<note><text>{text}</text></note>", "utf-8")


def _rich_text(path: Path, text: str) -> None:
    path.write_text(rf"{{\rtf1\ansi {text}\par}}", "utf-8")


def _subtitles(path: Path, text: str) -> None:
    path.write_text(f"WEBVTT\n\n00:01.000 --> 00:02.000\n{text}\n", "utf-8")


def _manual(path: Path, text: str) -> None:
    path.write_text(f".TH A 1\n.SH NAME\n{text}\n", "utf-8")


def _calendar(path: Path, text: str) -> None:
    path.write_text(f"BEGIN:VCALENDAR\nBEGIN:VEVENT\nSUMMARY:{text}\nEND:VEVENT\nEND:VCALENDAR\n", "utf-8")


def _picture(path: Path, text: str) -> None:
    image = Image.new("RGB", (1200, 120), "white")
    ImageDraw.Draw(image).text((30, 30), text, font=ImageFont.load_default(30), fill="black")
    image.save(path, "PNG")


def _outlook(path: Path, text: str) -> None:
    path.write_bytes(compound_file({"__substg1.0_1000001F": text.encode("utf-16-le")}))


MAKERS: dict[str, Callable[[Path, str], None]] = {
    ".txt": _text, ".md": _text, ".markdown": _text, ".html": _html, ".htm": _html, ".xhtml": _html, ".pdf": _pdf,
    ".docx": _word, ".pptx": _slides, ".xlsx": _workbook, ".epub": _epub, ".csv": _table, ".tsv": _table,
    ".json": _json, ".jsonl": _json, ".ndjson": _json, ".parquet": _parquet, ".eml": _mail, ".mbox": _mailbox,
    ".zip": _zip, ".tar": _tar, ".tgz": _tar, ".gz": _gzip, ".log": _text, ".rst": _text, ".org": _text, ".tex": _text,
    ".odt": _open_document, ".ipynb": _notebook, ".py": _code,
    ".adoc": _text, ".wiki": _text, ".1": _manual, ".yaml": _text, ".xml": _xml, ".rtf": _rich_text, ".vtt": _subtitles,
    ".ics": _calendar, ".png": _picture, ".msg": _outlook,
}  # fmt: skip
BINARY = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8


def file_name(stem: str, suffix: str) -> str:
    return f"{stem}.txt.gz" if suffix == ".gz" else f"{stem}{suffix}"


def file_of(uri: str) -> str:
    """The file that a document or a failure comes from."""
    return uri.partition("/")[0].partition("#")[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> StoredIndex:
    """An index of a good file, a cut one and one of noise of each kind."""
    assert {READERS[suffix] for suffix in NAMES} == set(READERS.values()) - {READERS[""]}, "one of each reader"
    assert set(MAKERS) == set(NAMES)
    folder = tmp_path_factory.mktemp("kinds")
    corpus = folder / "corpus"
    corpus.mkdir()
    for suffix, make in MAKERS.items():
        make(corpus / file_name("good", suffix), sentence(suffix))
        whole = (corpus / file_name("good", suffix)).read_bytes()
        (corpus / file_name("noise", suffix)).write_bytes(BINARY)
        (corpus / file_name("empty", suffix)).touch()
        if suffix not in CUT_IS_GOOD:
            (corpus / file_name("cut", suffix)).write_bytes(whole[: len(whole) // 2])
    build_index([corpus], folder / "index", SETTINGS)
    assert build_index([corpus], folder / "index", SETTINGS).unchanged, "what is told of failures is the same each time"
    return StoredIndex.open(folder / "index")


CUT_IS_GOOD = {
    ".txt", ".md", ".markdown", ".html", ".htm", ".xhtml", ".eml", ".mbox", ".csv", ".tsv", ".tar", ".log", ".rst",
    ".org", ".tex", ".py", ".adoc", ".wiki", ".1", ".yaml", ".xml", ".rtf", ".vtt",
}  # fmt: skip
"""Formats of which half a file is a file (the second half of a small .tar is padding)."""


def test_every_good_text_is_read_and_its_spans_hold(built: StoredIndex) -> None:
    assert verify(built) == []
    documents = {each.id: each for each in built.rows(Document)}
    assert {file_of(each.uri) for each in documents.values()} == {file_name("good", suffix) for suffix in MAKERS}
    for suffix in MAKERS:
        texts = [each.text for each in documents.values() if file_of(each.uri) == file_name("good", suffix)]
        assert any(sentence(suffix) in text for text in texts), suffix
    for chunk in built.rows(Chunk):
        assert documents[chunk.document_id].text[chunk.start : chunk.end] == chunk.text


def test_every_broken_file_is_a_failure(built: StoredIndex) -> None:
    failed = {file_of(each.item_id): each for each in built.rows(Failure)}
    kinds = [("noise", set(MAKERS)), ("empty", set(MAKERS)), ("cut", set(MAKERS) - CUT_IS_GOOD)]
    assert set(failed) == {file_name(stem, suffix) for stem, suffixes in kinds for suffix in suffixes}
    for each in failed.values():
        assert each.stage == "read"
        assert "/tmp" not in each.detail, "a place that is another each time"  # noqa: S108


def zeros(path: Path, megabytes: int) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open("zeros.txt", "w") as member:
            for _ in range(megabytes):
                member.write(bytes(1_000_000))
        archive.writestr("good.txt", "Ada Lovelace worked in London.")


def test_bombs_cost_nothing_and_what_is_beside_them_is_read(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus"
    corpus.mkdir()
    zeros(corpus / "single.zip", 1_000)
    content = gzip.compress(bytes(20_000_000))
    (corpus / "zeros.txt.gz").write_bytes(content)
    with tarfile.open(corpus / "zeros.tar", "w") as archive:
        info = tarfile.TarInfo("zeros.txt.gz")
        info.size = len(content)
        archive.addfile(info, io.BytesIO(content))
    nested = b"Good."
    for depth in range(6):
        whole = io.BytesIO()
        with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as layer:
            for number in range(16):
                layer.writestr(f"{number}.zip" if depth else f"{number}.txt", nested)
        nested = whole.getvalue()
    (corpus / "nested.zip").write_bytes(nested)
    for suffix in (".docx", ".pptx", ".xlsx", ".epub"):
        with zipfile.ZipFile(corpus / f"bomb{suffix}", "w", zipfile.ZIP_DEFLATED) as office:
            office.writestr("word/document.xml", bytes(30_000_000))
    began = time.process_time()
    done = conspectus("index", "corpus", "--index", "index", "--set", "extraction.pipeline=regex", "--quiet")
    assert time.process_time() - began < 60, "nothing is unpacked as a whole"
    assert done.status == 5, done.err
    index = StoredIndex.open(tmp_path / "index")
    assert verify(index) == []
    assert [each.uri for each in index.rows(Document)] == ["single.zip/good.txt"]
    reasons = {file_of(each.item_id): each.reason for each in index.rows(Failure)}
    assert reasons == {
        "single.zip": "extreme compression ratio",
        "zeros.txt.gz": "extreme compression ratio",
        "zeros.tar": "extreme compression ratio",
        "nested.zip": "nested too deeply",
        **{f"bomb{suffix}": "extreme compression ratio" for suffix in (".docx", ".pptx", ".xlsx", ".epub")},
    }


def test_a_url_is_an_input_of_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Ada Lovelace worked in London.", "utf-8")
    words = ["--index", "index", "--set", "extraction.pipeline=regex", "--quiet"]
    refused = conspectus("index", "sftp://host/docs", *words)
    assert (refused.status, refused.err) == (3, "conspectus: sftp://host/docs: unknown protocol 'sftp'\n")
    assert conspectus("index", f"file://{tmp_path}/a.txt", *words).status == 0
    assert [each.uri for each in StoredIndex.open(tmp_path / "index").rows(Document)] == ["a.txt"]
