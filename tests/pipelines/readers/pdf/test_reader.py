"""PDF files made here, good and broken: text, pages, bookmarks, and what is refused."""

import io
import zlib
from pathlib import Path

import pytest
from conspectus.pipelines.readers.pdf.reader import read_pdf
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings
from PIL import Image
from pypdf import PdfReader, PdfWriter
from pypdf.constants import PageLabelStyle
from reportlab.lib.pagesizes import A4
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen import canvas

from tests.pipelines.readers.reading import only_row, read, read_apart, refusal

PAGES = (
    "1. Risks\nThe river floods the lower town in most years, and the dam is old. The com-\n"
    "mittee met in Turin in May and found that the wall has to be raised by a\nmetre before the winter.",
    "No text on costs is long.\n2. Costs\nThe wall costs a million. It is paid by the city, which for this purpose has",
    "borrowed the money.",
)


PICTURE = Image.new("RGB", (4, 4))


def made(pages: tuple[str, ...] = PAGES, *, title: str = "Report on the Dam", bookmarks: bool = True) -> bytes:
    content = io.BytesIO()
    sheet = canvas.Canvas(content, pagesize=A4, invariant=1)
    sheet.setTitle(title)
    sheet.setAuthor("The Committee")
    for number, page in enumerate(pages):
        text = sheet.beginText(50, 800)
        text.textLines(page, trim=0)
        sheet.drawText(text)
        if bookmarks and number < 2:
            sheet.bookmarkPage(f"p{number}")
            sheet.addOutlineEntry(("Risks", "2. Costs")[number], f"p{number}", 0)
        sheet.showPage()
    sheet.save()
    return content.getvalue()


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.pdf"


def test_a_good_file(path: Path) -> None:
    row = only_row(read_pdf, written(path, made()))
    assert row.text == (
        "1. Risks\nThe river floods the lower town in most years, and the dam is old. The committee met in Turin in "
        "May and found that the wall has to be raised by a metre before the winter.\n\nNo text on costs is long.\n"
        "2. Costs\nThe wall costs a million. It is paid by the city, which for this purpose has borrowed the money."
    )
    assert row.title == "Report on the Dam"
    assert (row.metadata["author"], row.metadata["pages"]) == ("The Committee", "3")
    beginnings = [(place.kind, place.label, row.text[place.start :][:8]) for place in row.places]
    assert beginnings == [
        ("page", "1", "1. Risks"),
        ("heading", "Risks", "1. Risks"),
        ("page", "2", "No text "),
        ("heading", "2. Costs", "2. Costs"),
        ("page", "3", "borrowed"),
    ]


def test_page_labels(path: Path) -> None:
    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made())))
    writer.set_page_label(0, 1, PageLabelStyle.LOWERCASE_ROMAN)
    writer.set_page_label(2, 2, PageLabelStyle.DECIMAL, prefix="A-", start=7)
    writer.write(path)
    row = only_row(read_pdf, path)
    assert [place.label for place in row.places if place.kind == "page"] == ["i", "ii", "A-7"]


def test_encryption(path: Path) -> None:
    for password in ("", "secret"):
        writer = PdfWriter(clone_from=PdfReader(io.BytesIO(made())))
        writer.encrypt(password, "owner", algorithm="RC4-128")
        writer.write(path)
        if password:
            assert refusal(read_pdf, path).reason == "encrypted"
        else:
            assert "The committee met" in only_row(read_pdf, path).text


def test_pages_without_text(path: Path) -> None:
    assert refusal(read_pdf, written(path, made(("", "")))).why == (
        "no text",
        "2 pages without a text layer; no letters were found on them",
    )
    sheet = canvas.Canvas(str(path), pagesize=A4)
    sheet.drawString(50, 800, "A page of text.")
    sheet.showPage()
    sheet.drawInlineImage(PICTURE, 0, 0)
    sheet.showPage()
    sheet.drawImage(ImageReader(PICTURE), 0, 0)
    sheet.save()
    row, lost = read_pdf(path, InputSettings())
    assert isinstance(row, Row)
    assert row.text == "A page of text."
    assert lost == Lost(None, "2 of 3 pages are images without a text layer", "pages 2, 3")


def test_limits(path: Path) -> None:
    assert "max_characters" in read(written(path, made()), InputSettings(max_characters=50))[1][""]


@pytest.mark.parametrize("content", [b"", b"%PDF-1.7\n", b"%PDF-1.7\n" + b"1 0 obj\n<<>>\n" * 1000, b"x" * 5000])
def test_what_is_no_pdf(content: bytes, path: Path) -> None:
    assert refusal(read_pdf, written(path, content)).reason in ("empty", "not a readable PDF")


def stream(content: bytes, more: bytes = b"") -> bytes:
    packed = zlib.compress(content, 9)
    return b"<<%b/Filter/FlateDecode/Length %d>>stream\n%b\nendstream" % (more, len(packed), packed)


def by_hand(**changed: bytes) -> bytes:
    """Return a PDF of one page whose objects are given; o4 is its content, o8 a form."""
    resources = b"/Resources<</Font<</F 9 0 R>>/XObject<</X 8 0 R>>>>"
    objects = {
        "o1": b"<</Type/Catalog/Pages 2 0 R>>",
        "o2": b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "o3": b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R" + resources + b">>",
        "o4": stream(b"BT /F 12 Tf 10 10 Td (Hello world.) Tj ET"),
        "o8": stream(b"BT /F 12 Tf (form) Tj ET", b"/Type/XObject/Subtype/Form" + resources),
        "o9": b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    } | changed
    content, table = b"%PDF-1.7\n", b""
    for name, each in objects.items():
        table += b"%b 1\n%010d 00000 n \n" % (name[1:].encode(), len(content))
        content += b"%b 0 obj\n%b\nendobj\n" % (name[1:].encode(), each)
    return content + b"xref\n%btrailer<</Root 1 0 R/Size 40>>\nstartxref\n%d\n%%%%EOF" % (table, len(content))


def drawing(number: int) -> bytes:
    """Return a form that draws the form of a number nine times."""
    number = 30 if number == 9 else number
    return stream(b"/X Do " * 9, b"/Type/XObject/Subtype/Form/Resources<</XObject<</X %d 0 R>>>>" % number)


def test_words_that_only_their_places_set_apart_and_divided_words(path: Path) -> None:
    text = b"(The) Tj 25 0 Td (keeper) Tj 45 0 Td (of the light-) Tj -70 -14 Td (house sleeps.) Tj"
    content = stream(b"BT /F 12 Tf 10 700 Td " + text + b" ET")
    assert only_row(read_pdf, written(path, by_hand(o4=content))).text == "The keeper of the lighthouse sleeps."


@pytest.mark.parametrize(
    "content",
    [
        by_hand(o4=stream(bytes(200_000_000))),
        by_hand(o2=b"<</Type/Pages/Kids[2 0 R]/Count 1>>"),
        by_hand(o4=stream(b"/X Do " * 100_000)),
        by_hand(o4=stream(b"/X Do " * 9), **{f"o{n}": drawing(n + 1) for n in (8, *range(30, 38))}),
        by_hand(o4=stream(b"/X Do " * 5_000), o8=stream(b" " * 29_000_000, b"/Type/XObject/Subtype/Form")),
        by_hand(o3=b"[" * 100_000),
    ],
    ids=["inflated", "page tree", "forms", "forms in forms", "large forms", "open"],
)
def test_what_would_take_all_time_or_memory(content: bytes, path: Path) -> None:
    reasons = ("not a readable PDF", "no text", "takes too long", "takes too much memory", "its reader crashed")
    for found in read_apart(written(path, content)):
        assert found.text == "form" if isinstance(found, Row) else found.reason in reasons


def test_bookmarks_that_go_in_circles(path: Path) -> None:
    content = by_hand(
        o1=b"<</Type/Catalog/Pages 2 0 R/Outlines 30 0 R>>",
        o30=b"<</First 31 0 R/Last 31 0 R>>",
        o31=b"<</Title(Elsewhere)/Next 31 0 R/First 31 0 R/Dest[3 0 R/Fit]>>",
    )
    assert only_row(read_pdf, written(path, content)).places[0].kind == "page"


def test_headings_of_pages_that_are_bookmarked_stay(path: Path) -> None:
    pages = tuple(f"Risks\nText {word} stands here.\nAnd more of it." for word in "abcdef")
    assert only_row(read_pdf, written(path, made(pages))).text.count("Risks") == 1


def test_what_was_filled_in_is_read_and_what_is_embedded_is_named(path: Path) -> None:
    content = io.BytesIO()
    sheet = canvas.Canvas(content, pagesize=A4, invariant=1)
    sheet.drawString(50, 700, "Application.")
    sheet.acroForm.textfield(name="applicant", value="Zebediah Quill", x=300, y=770)
    sheet.save()
    writer = PdfWriter(clone_from=content)
    writer.add_attachment("data.txt", b"x")
    writer.write(path)
    row, lost = read_pdf(path, InputSettings())
    assert isinstance(row, Row)
    assert row.text == "Application.\n\napplicant: Zebediah Quill"
    assert lost == Lost(None, "embedded files are not read", "data.txt")


def test_forms_and_lists_of_files_that_go_in_circles(path: Path) -> None:
    content = by_hand(
        o1=b"<</Type/Catalog/Pages 2 0 R/AcroForm<</Fields[30 0 R]>>/Names<</EmbeddedFiles 31 0 R>>>>",
        o30=b"<</FT/Tx/T(a)/V(filled)/Kids[30 0 R 30 0 R 1 0 R null]>>",
        o31=b"<</Kids[31 0 R]/Names[(x.txt) null (y.txt)]>>",
    )
    row, *lost = read_pdf(written(path, content), InputSettings())
    assert isinstance(row, Row)
    assert row.text == "Hello world."
    assert [each.reason for each in lost if isinstance(each, Lost)] == ["embedded files are not read"]


def typeset(*lines: tuple[str, str, int], title: str = "") -> bytes:
    """Return a PDF whose lines have the given fonts and sizes."""
    content = io.BytesIO()
    sheet = canvas.Canvas(content, pagesize=A4, invariant=1)
    sheet.setTitle(title)
    height = 800
    for text, font, size in lines:
        sheet.setFont(font, size)
        sheet.drawString(50 + 6 * (len(text) - len(text.lstrip())), height, text.lstrip())
        height -= 2 * size
    sheet.save()
    return content.getvalue()


PROSE = ("The keeper opens the gate with a winch, and writes it down.", "Helvetica", 10)


def test_a_listing_is_fenced_with_its_indentation_and_a_typed_letter_is_none(path: Path) -> None:
    listing = [(line, "Courier", 10) for line in ("winch {", "  turns: 4", "}")]
    row = only_row(read_pdf, written(path, typeset(*[PROSE] * 5, *listing, PROSE)))
    assert f"\n\n```\nwinch {{\n  turns: 4\n}}\n```\n\n{PROSE[0]}" in row.text
    assert row.text.count("```") == 2
    typed = [(PROSE[0], "Courier", 10)] * 4
    assert "```" not in only_row(read_pdf, written(path, typeset(*typed))).text


def test_letters_of_an_arabic_ligature_are_in_the_order_of_reading(path: Path) -> None:
    """The glyphs stand from left to right: the second one is the ligature of lam and alef."""
    glyphs = {1: "ل", 2: "لا", 3: "ب"}
    ranges = b"".join(
        b"<%02x> <%b>\n" % (code, said.encode("utf-16-be").hex().encode()) for code, said in glyphs.items()
    )
    letters = b"begincmap 1 begincodespacerange <00> <ff> endcodespacerange %d beginbfchar\n%bendbfchar endcmap"
    content = by_hand(
        o4=stream(b"BT /F 12 Tf 10 10 Td <010203> Tj ET"),
        o9=b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica/ToUnicode 30 0 R>>",
        o30=stream(letters % (len(glyphs), ranges)),
    )
    assert only_row(read_pdf, written(path, content)).text == "بلال"
