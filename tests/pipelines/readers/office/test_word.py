"""Word documents, made by python-docx and by hand."""

import io
from pathlib import Path

import docx
import pytest
from conspectus.pipelines.readers.office.word import read_word
from conspectus.pipelines.readers.rows import Row
from docx.oxml import parse_xml

from tests.pipelines.readers.reading import (
    archive_of,
    headings,
    only_row,
    read_apart,
    refusal,
)

W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
TYPES = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = 'xmlns="http://schemas.openxmlformats.org/package/2006'


def made(*body: str) -> bytes:
    """Return a document, with paragraphs in XML at its end."""
    document = docx.Document()
    document.core_properties.title = "Annual report"
    document.core_properties.author = "Ada"
    document.add_heading("The Dam", 0)
    document.add_paragraph("The river floods.\tOften.")
    document.add_heading("Risks", 1)
    document.add_paragraph("First", style="List Bullet")
    document.add_paragraph("Second", style="List Bullet")
    table = document.add_table(2, 2)
    for cell, text in zip(
        (cell for row in table.rows for cell in row.cells), "year cost 1990 a\nb".split(" "), strict=True
    ):
        cell.text = text
    document.add_heading("Floods", 2)
    document.add_paragraph("In May.\nAnd in June.")
    for each in body:
        document.element.body.insert(len(document.element.body) - 1, parse_xml(each))
    content = io.BytesIO()
    document.save(content)
    return content.getvalue()


def by_hand(document: str, **parts: str) -> bytes:
    """Return a package of a main part and others, named by the kind of their relation."""
    related = "".join(f'<Relationship Id="{kind}" Type="{TYPES}/{kind}" Target="{kind}.xml"/>' for kind in parts)
    main = f'<Relationship Id="r" Type="{TYPES}/officeDocument" Target="/word/document.xml"/>'
    texts = {
        "[Content_Types].xml": f'<Types {PACKAGE}/content-types"><Default Extension="xml" ContentType="x/y"/></Types>',
        "_rels/.rels": f'<Relationships {PACKAGE}/relationships">{main}</Relationships>',
        "word/_rels/document.xml.rels": f'<Relationships {PACKAGE}/relationships">{related}</Relationships>',
        "word/document.xml": document,
        **{f"word/{kind}.xml": text for kind, text in parts.items()},
    }
    return archive_of({name: text.encode("utf-8") for name, text in texts.items()})


def paragraph(text: str, style: str = "") -> str:
    properties = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{properties}<w:r><w:t>{text}</w:t></w:r></w:p>"


def written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "report.docx"


def test_a_good_file(path: Path) -> None:
    row = only_row(read_word, written(path, made()))
    assert row.text == (
        "The Dam\n\nThe river floods. Often.\n\nRisks\n\n- First\n- Second\n\n| year | cost |\n"
        "| --- | --- |\n| 1990 | a b |\n\n"
        "Floods\n\nIn May.\nAnd in June."
    )
    assert headings(row) == [("The Dam", 1), ("Risks", 1), ("Floods", 2)]
    assert (row.title, row.metadata["author"]) == ("Annual report", "Ada")


def test_the_style_of_titles_gives_the_title_that_the_properties_lack(path: Path) -> None:
    document = docx.Document(io.BytesIO(made()))
    document.core_properties.title = ""
    document.tables[0].cell(0, 0).merge(document.tables[0].cell(0, 1))
    content = io.BytesIO()
    document.save(content)
    row = only_row(read_word, written(path, content.getvalue()))
    assert (row.title, headings(row)[0]) == ("The Dam", ("The Dam", 1))
    assert "| 1990 | a b |" in row.text


def test_changes_are_accepted_and_controls_are_opened(path: Path) -> None:
    body = (
        f"<w:p {W}><w:r><w:t>It </w:t></w:r><w:del><w:r><w:delText>was</w:delText></w:r></w:del>"
        "<w:ins><w:r><w:t>is</w:t></w:r></w:ins><w:hyperlink><w:r><w:t> linked</w:t></w:r></w:hyperlink>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t> unseen</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r></w:p>",
        f"<w:sdt {W}><w:sdtContent>{paragraph('In a control.')}</w:sdtContent></w:sdt>",
    )
    assert only_row(read_word, written(path, made(*body))).text.endswith("June.\n\nIt is linked\n\nIn a control.")


def test_notes_stand_after_their_paragraph(path: Path) -> None:
    content = by_hand(
        f'<w:document {W}><w:body><w:p><w:r><w:t>Said.</w:t><w:footnoteReference w:id="2"/></w:r></w:p>'
        f"{paragraph('Next.')}</w:body></w:document>",
        footnotes=f'<w:footnotes {W}><w:footnote w:id="0" w:type="separator">{paragraph("x")}</w:footnote>'
        f'<w:footnote w:id="2">{paragraph("See there.")}</w:footnote></w:footnotes>',
    )
    assert only_row(read_word, written(path, content)).text == "Said.\n\nSee there.\n\nNext."


def test_a_billion_laughs(path: Path) -> None:
    laughs = "".join(f'<!ENTITY l{i} "{f"&l{i - 1};" * 10}">' for i in range(1, 10))
    bomb = f'<!DOCTYPE d [<!ENTITY l0 "lol">{laughs}]><w:document {W}><w:body>{paragraph("&l9;")}</w:body></w:document>'
    assert "declares a document type" in refusal(read_word, written(path, by_hand(bomb))).detail


def test_a_file_that_it_names_is_not_read(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    named = f'<!DOCTYPE d [<!ENTITY x SYSTEM "file://{tmp_path}/secret.txt">]>'
    body = f"{named}<w:document {W}><w:body>{paragraph('a &x; b')}</w:body></w:document>"
    assert refusal(read_word, written(path, by_hand(body))).reason == "damaged document"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"plain text", "damaged document"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "old binary Office format"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(9) + "EncryptedPackage".encode("utf-16-le"), "encrypted"),
        (by_hand(f"<w:document {W}><w:body/></w:document>"), "no text"),
        (by_hand("<workbook/>"), "damaged document"),
        (by_hand("<w:document"), "damaged document"),
        (by_hand(f"<w:document {W}><w:body>{'<w:x>' * 300}{'</w:x>' * 300}</w:body></w:document>"), "damaged document"),
    ],
)
def test_what_is_no_document(content: bytes, reason: str, path: Path) -> None:
    assert refusal(read_word, written(path, content)).reason == reason


def test_a_note_that_is_referred_to_often_is_read_once(path: Path) -> None:
    reference = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    content = by_hand(
        f"<w:document {W}><w:body><w:tbl><w:tr><w:tc><w:p>{reference * 50_000}</w:p></w:tc></w:tr></w:tbl>"
        "</w:body></w:document>",
        footnotes=f'<w:footnotes {W}><w:footnote w:id="2">{paragraph("word " * 2_000)}</w:footnote></w:footnotes>',
    )
    (row,) = read_apart(written(path, content))
    assert isinstance(row, Row)
    assert row.text.count("word") == 2_000


def test_signs_and_fractions(path: Path) -> None:
    m = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
    body = (
        '<w:r><w:t>45</w:t><w:sym w:font="Symbol" w:char="F0B0"/><w:sym w:font="Wingdings" w:char="F0E0"/></w:r>'
        "<m:oMath><m:f><m:num><m:r><m:t>a</m:t></m:r></m:num><m:den><m:r><m:t>2</m:t></m:r></m:den></m:f></m:oMath>"
    )
    content = by_hand(f"<w:document {W} {m}><w:body><w:p>{body}</w:p></w:body></w:document>")
    assert only_row(read_word, written(path, content)).text == "45\u00b0a/2"
