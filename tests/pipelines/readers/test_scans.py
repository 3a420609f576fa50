"""Scanned pages made here: pictures of text in two columns and of a table, as files, in PDFs and inside other files."""

import base64
import io
import re
import socket
from pathlib import Path

import conspectus
import pytest
import rapidocr
from conspectus.pipelines.readers import scans
from conspectus.pipelines.readers.encodings import UnknownFormat
from conspectus.pipelines.readers.formats import PICTURES, READERS, can_recognise, readable_suffix
from conspectus.pipelines.readers.pdf.reader import read_pdf
from conspectus.pipelines.readers.process import file_reader
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.pipelines.readers.scans import read_picture
from conspectus.storage.settings import InputSettings
from docx import Document as Word
from PIL import Image, ImageDraw, ImageFont
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from tests.command_line import conspectus as run
from tests.pipelines.readers.reading import only_row, read, refusal

LEFT = """The lighthouse of Vardo was built
in 1896 by Karin Solberg, an
engineer from Tromso. It stands
on a rock of twelve metres and
guides ships into the harbour.

Its lamp burned paraffin until
1921, when the keeper Nils Aas
installed an electric light."""
RIGHT = """In the winter of 1944 the tower
was destroyed. Fishermen carried
the lens to a cellar in Kiberg,
where it was found in 1958.

The new tower was opened on
14 June 1962 by the mayor,
Greta Lund, with a speech of
nine minutes about fog."""
WAGES = [
    ("Year", "Keeper", "Wage"),
    ("1896", "Ole Berg", "410"),
    ("1921", "Nils Aas", "655"),
    ("1962", "Ida Moe", "9,200"),
]
PARAGRAPHS = [
    "The Lighthouse of Vardo",
    "The lighthouse of Vardo was built in 1896 by Karin Solberg, an engineer from Tromso. It stands on a rock of "
    "twelve metres and guides ships into the harbour.",
    "Its lamp burned paraffin until 1921, when the keeper Nils Aas installed an electric light.",
    "In the winter of 1944 the tower was destroyed. Fishermen carried the lens to a cellar in Kiberg, where it was "
    "found in 1958.",
    "The new tower was opened on 14 June 1962 by the mayor, Greta Lund, with a speech of nine minutes about fog.",
    "| Year | Keeper | Wage |\n| --- | --- | --- |\n| 1896 | Ole Berg | 410 |\n| 1921 | Nils Aas | 655 |\n"
    "| 1962 | Ida Moe | 9,200 |",
]


def font(size: int) -> ImageFont.FreeTypeFont:
    made = ImageFont.load_default(size)
    assert isinstance(made, ImageFont.FreeTypeFont)
    return made


def page() -> Image.Image:
    """Return a page of A4 at 200 dots an inch."""
    image = Image.new("L", (1654, 2339), 255)
    drawn = ImageDraw.Draw(image)
    drawn.text((160, 140), "The Lighthouse of Vardo", font=font(56), fill=0)
    for left, column in ((160, LEFT), (880, RIGHT)):
        for number, line in enumerate(column.split("\n")):
            drawn.text((left, 300 + 52 * number), line, font=font(38), fill=0)
    for number, row in enumerate(WAGES):
        for left, cell in zip((160, 560, 1060), row, strict=True):
            drawn.text((left, 1000 + 70 * number), cell, font=font(38), fill=0)
        drawn.line((150, 1056 + 70 * number, 1400, 1056 + 70 * number), fill=0, width=2)
    return image


def line(text: str, size: tuple[int, int] = (900, 90)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).text((30, 20), text, font=font(38), fill="black")
    return image


def png(image: Image.Image) -> bytes:
    made = io.BytesIO()
    image.save(made, "PNG")
    return made.getvalue()


def pdf(path: Path, *pages: Image.Image | str) -> Path:
    sheet = canvas.Canvas(str(path), pagesize=(595, 842), invariant=1)
    for each in pages:
        if isinstance(each, str):
            sheet.drawString(60, 780, each)
        else:
            sheet.drawImage(ImageReader(each), 0, 0, 595, 842)
        sheet.showPage()
    sheet.save()
    return path


def areas(row: Row) -> dict[str, str]:
    return {row.text[place.start :][:12]: place.label for place in row.places if place.kind == "area"}


@pytest.fixture(scope="module")
def scan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return pdf(tmp_path_factory.mktemp("scan") / "vardo.pdf", page())


def test_a_picture_is_read_by_columns_paragraphs_and_tables(tmp_path: Path) -> None:
    page().rotate(1.5, fillcolor=255).save(tmp_path / "page.jpg")
    row = only_row(read_picture, tmp_path / "page.jpg")
    assert row.text.split("\n\n") == PARAGRAPHS
    assert row.metadata["ocr_confidence"] > "page 1: 0.95"
    assert [place.kind for place in row.places] == ["page", *["area"] * 6]


def test_a_scanned_pdf_is_cited_with_the_page_and_the_place_on_it(scan: Path, tmp_path: Path) -> None:
    row = only_row(read_pdf, scan)
    assert row.text == "\n".join(PARAGRAPHS)
    done = run("index", scan, "--index", tmp_path / "i", "--quiet", "--set", "extraction.pipeline=regex")
    assert done.status == 0, done.err
    answer = conspectus.open(tmp_path / "i").ask("Who installed an electric light in the lighthouse?")
    [citation, *_] = answer.citations
    assert "Nils Aas installed an electric light." in citation.quote
    assert re.match(r"page 1, areas? 9-4\d % across, 26-3\d % down", citation.place)
    assert citation.pages == ("1",)


def test_a_page_that_is_not_read_surely_is_a_loss(tmp_path: Path) -> None:
    """The packaged model has Latin, Greek, Chinese and Japanese letters; of Russian it reads the digits."""
    dejavu = ImageFont.truetype(rapidocr_font(), 40)
    russian = Image.new("RGB", (1000, 200), "white")
    ImageDraw.Draw(russian).text(
        (40, 40), "Маяк был построен в 1896 году\nинженером из города", font=dejavu, fill="black"
    )
    russian.save(tmp_path / "ru.png")
    refused = refusal(read_picture, tmp_path / "ru.png")
    assert refused.reason.startswith("read with a confidence of 0.")
    assert "input.ocr_confidence (0.9)" in refused.detail
    line("Lies on its side, that is clear.").rotate(90, expand=True).save(tmp_path / "side.png")
    assert refusal(read_picture, tmp_path / "side.png").reason.startswith("lies on its side")
    good = line("This page is read well.")
    good.save(tmp_path / "two.tif", save_all=True, append_images=[russian.copy()])
    rows, lost = read(tmp_path / "two.tif")
    assert rows[""].text == "This page is read well."
    assert [reason[:7] for reason in lost.values()] == ["page 2:"]
    [refused_page, *_] = [
        each for each in read_pdf(pdf(tmp_path / "b.pdf", "Text.", russian), InputSettings()) if isinstance(each, Lost)
    ]
    assert refused_page.reason.startswith("page 2: read with a confidence")
    assert "0.99" in refusal(read_picture, tmp_path / "ru.png", InputSettings(ocr_confidence=0.99)).detail


def rapidocr_font() -> str:
    """Return a font with Cyrillic letters, of matplotlib or the system."""
    places = [*Path("/usr/share/fonts").rglob("DejaVuSans.ttf"), *Path(conspectus.__path__[0]).rglob("DejaVuSans.ttf")]
    if not places:
        pytest.skip("no font with Cyrillic letters is installed")
    return str(places[0])


def test_what_is_no_picture_of_text(tmp_path: Path) -> None:
    Image.new("RGB", (400, 300), "white").save(tmp_path / "blank.png")
    with pytest.raises(UnknownFormat, match="picture without text"):
        list(read_picture(tmp_path / "blank.png", InputSettings()))
    whole = png(line("Cut off in the middle."))
    for name, content, reason in (
        ("junk.png", b"\x89PNG\r\n\x1a\nxxxx", "damaged picture"),
        ("cut.png", whole[: len(whole) // 2], "damaged picture"),
        ("gif.png", b"GIF89a" + bytes(40), "damaged picture"),
    ):
        (tmp_path / name).write_bytes(content)
        assert refusal(read_picture, tmp_path / name).reason == reason
    huge = Image.new("1", (20_000, 20_000))
    huge.save(tmp_path / "huge.png")
    assert refusal(read_picture, tmp_path / "huge.png").reason == "too large a picture"


def test_a_long_scan_has_the_time_limit_for_each_page(tmp_path: Path) -> None:
    line("A page that takes its time.", (1600, 2200)).save(
        tmp_path / "many.tif", save_all=True, append_images=[line("Another page.", (1600, 2200))] * 5
    )
    settings = InputSettings(max_seconds=8)
    with file_reader(settings) as read_files:
        [row] = read_files([tmp_path / "many.tif"])
    assert isinstance(row, Row)
    assert row.text.count("Another page.") == 5


def test_pictures_inside_other_files_are_read_on_request(tmp_path: Path) -> None:
    (tmp_path / "sign.png").write_bytes(png(line("The gate opens at nine.")))
    word = Word()
    word.add_paragraph("What the sign says is below.")
    word.add_picture(str(tmp_path / "sign.png"))
    word.save(str(tmp_path / "a.docx"))
    coded = base64.b64encode((tmp_path / "sign.png").read_bytes()).decode()
    (tmp_path / "b.html").write_text(f"<p>See below.</p><img src='data:image/png;base64,{coded}'>", "utf-8")
    asked = InputSettings(ocr="pictures")
    for name, within in (("a.docx", "word/media/image1.png"), ("b.html", "picture 1.png")):
        rows, lost = read(tmp_path / name, asked)
        assert (rows[within].text, lost) == ("The gate opens at nine.", {})
        assert set(read(tmp_path / name)[0]) == {""}, "not unless it is asked for"
    empty = Word()
    empty.add_picture(str(tmp_path / "sign.png"))
    empty.save(str(tmp_path / "c.docx"))
    assert list(read(tmp_path / "c.docx", asked)[0]) == ["word/media/image1.png"]
    assert read(tmp_path / "c.docx") == ({}, {"!": "no text"})


def test_it_can_be_off_or_missing(scan: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.png").write_bytes(png(line("Text.")))
    off = InputSettings(ocr="off")
    assert refusal(read_pdf, scan, off).detail == "1 page without a text layer; input.ocr is off"
    with pytest.raises(UnknownFormat, match="picture"):
        list(read_picture(tmp_path / "a.png", off))
    monkeypatch.setattr("conspectus.pipelines.readers.formats.find_spec", lambda _: None)
    can_recognise.cache_clear()
    try:
        assert "pip install 'conspectus[ocr]'" in refusal(read_pdf, scan).detail
        for suffix in PICTURES:
            with pytest.raises(UnknownFormat) as refused:
                readable_suffix(f"a{suffix}")
            assert "pip install 'conspectus[ocr]'" in refused.value.detail
    finally:
        can_recognise.cache_clear()
    assert set(READERS) > PICTURES


def test_no_model_is_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(*_: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", connect)
    monkeypatch.setattr(socket, "getaddrinfo", connect)
    (tmp_path / "a.png").write_bytes(png(line("Nothing is fetched.")))
    scans._engine.cache_clear()
    assert only_row(read_picture, tmp_path / "a.png").text == "Nothing is fetched."
    scans._engine.cache_clear()
    monkeypatch.setattr(rapidocr, "__file__", str(tmp_path / "__init__.py"))
    refused = refusal(read_picture, tmp_path / "a.png")
    assert (refused.reason, ".onnx" in refused.detail) == ("no model to read it", True)
