"""Text documents of LibreOffice."""

import zipfile
from pathlib import Path

from tests.pipelines.readers.reading import headings, read

URN = "urn:oasis:names:tc:opendocument:xmlns"
CONTENT = f"""<?xml version="1.0"?><o:document-content xmlns:o="{URN}:office:1.0" xmlns:text="{URN}:text:1.0"
xmlns:table="{URN}:table:1.0" xmlns:xlink="http://www.w3.org/1999/xlink"><o:body><o:text>
<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>
<text:h text:outline-level="2">Pumps</text:h><text:p>See <text:a xlink:href="a.odt">the<text:s/>valve</text:a>.</text:p>
<text:list><text:list-item><text:p>one</text:p></text:list-item><text:list-item><text:p>two</text:p></text:list-item>
</text:list><table:table><table:table-header-rows><table:table-row><table:table-cell><text:p>a</text:p></table:table-cell>
<table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table-header-rows><table:table-row>
<table:table-cell><text:p>1</text:p><text:p>2</text:p></table:table-cell><table:table-cell><text:p>3</text:p>
</table:table-cell></table:table-row></table:table></o:text></o:body></o:document-content>"""


def put(path: Path, **parts: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name.replace("_", ".").replace("META.INF.", "META-INF/"), text)
    return path


def test_headings_lists_tables_and_links(tmp_path: Path) -> None:
    row = read(put(tmp_path / "a.odt", content_xml=CONTENT))[0][""]
    assert row.text == "Pumps\n\nSee the valve.\n\n- one\n- two\n\n| a | b |\n| --- | --- |\n| 1 2 | 3 |"
    assert headings(row) == [("Pumps", 2)]
    assert [(row.text[link.start : link.end], link.target) for link in row.hyperlinks] == [("the valve", "a.odt")]


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    assert read(put(tmp_path / "a.odt", mimetype="x"))[1] == {"!": "damaged document"}
    locked = put(tmp_path / "b.odt", content_xml="x", META_INF_manifest_xml="<m:encryption-data/>")
    assert read(locked)[1] == {"!": "encrypted"}
    (tmp_path / "c.odt").write_bytes(b"")
    assert read(tmp_path / "c.odt")[1] == {"!": "empty"}
    assert "damaged document" in read(put(tmp_path / "d.odt", content_xml="<a>"))[1]["!"]


def test_slides_are_places(tmp_path: Path) -> None:
    page = "<d:page><d:frame><d:text-box><t:p>{}</t:p></d:text-box></d:frame></d:page>"
    content = (
        f'<o:document-content xmlns:o="{URN}:office:1.0" xmlns:t="{URN}:text:1.0" xmlns:d="{URN}:drawing:1.0"><o:body>'
        f"<o:presentation>{page.format('A')}{page.format('B')}</o:presentation></o:body></o:document-content>"
    )
    row = read(put(tmp_path / "a.odp", content_xml=content))[0][""]
    assert (row.text, [(place.kind, place.label, place.start) for place in row.places]) == (
        "A\n\nB", [("slide", "1", 0), ("slide", "2", 3)]
    )  # fmt: skip
