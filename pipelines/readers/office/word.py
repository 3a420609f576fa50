"""Read Word documents (.docx) and presentations (.pptx): office-oxide makes web pages of them, which are read as such.

The text is the document's with all tracked changes accepted. Headers, footers and comments are left out; a footnote
stands after its paragraph. A slide has its title, text, tables, and speaker notes.
"""

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZipFile

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local, text_in
from conspectus.pipelines.readers.office.package import Package, described, open_package, plain_tables, value
from conspectus.pipelines.readers.rows import Draft, Lost, Row, as_title
from conspectus.pipelines.readers.web.page import add_elements, parse_page
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_SAME = ("title", "subject", "keywords", "description", "created", "modified", "language")
_PROPERTIES = {"creator": "author", **{name: name for name in _SAME}}
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_MENDED = ("name", "den", "sym", "ph", "footnoteReference", "endnoteReference", "sldId")
_TITLE = 6
"""The level that the style of titles gets: a document whose first heading is of it has no other of that level."""
_ADJACENT_LISTS = re.compile(r"</ul>\s*<ul\b[^<>]*>")
_BETWEEN_SLIDES, _UNREADABLE = "<hr />", "[unreadable slide "


def read_word(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Word document as one row with its headings as places. Tables are Markdown, the first row as header."""
    title, metadata, page = _parsed(path, settings)
    root = _page(page)
    first = next(root.iter(*_HEADINGS), None)
    if first is not None and first.tag == f"h{_TITLE}":
        first.tag, title = "h1", title or as_title(text_in(first))
    draft = Draft()
    add_elements(root, draft)
    yield draft.row(title, metadata)


def read_slides(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a presentation as one row with slides (by number) and their titles as places; a damaged slide is `Lost`."""
    title, metadata, pages = _parsed(path, settings)
    draft = Draft()
    lost = []
    for number, page in enumerate(pages.split(_BETWEEN_SLIDES), start=1):
        root = _page(page)
        draft.begin("slide", str(number))
        if (why := text_in(root)).startswith(_UNREADABLE):
            lost.append(Lost(None, f"slide {number} cannot be read", why.strip("[]")))
            continue
        for heading in root.iter(*_HEADINGS):
            heading.tag = "h1"
        add_elements(root, draft)
    if not draft:
        raise Unreadable("no text", "no slide has any")
    yield draft.row(title or draft.heading(), metadata)
    yield from lost


def _parsed(path: Path, settings: InputSettings) -> tuple[str | None, Mapping[str, str], str]:
    """Return the title, the other properties and the page of a document."""
    from office_oxide import Document, OfficeOxideError

    with open_package(path, settings.max_archive_bytes) as package:
        content, damaged = _mended(package)
        core = None if "docProps/core.xml" in damaged else package.part("docProps/core.xml")
    try:
        document = Document.from_bytes(content, "pptx" if path.suffix.lower() == ".pptx" else "docx")
        return *described(core, _PROPERTIES), document.to_html()
    except OfficeOxideError as error:
        raise next(iter(damaged.values()), Unreadable("damaged document", str(error))) from error


def _page(page: str) -> "_Element":
    """Return the root of a page; numbers of lists, which are often wrong, are left out."""
    page = page.replace("<ol", "<ul").replace("</ol", "</ul").replace("\u2011", "-")
    page = _ADJACENT_LISTS.sub("\n", page)
    root = parse_page(f"<div>{page}</div>")
    assert root is not None
    for node in list(root.iter("header", "footer")):
        node.clear()
    for node in root.iter("p"):
        node.tag = "div"
    plain_tables(root)
    return root


def _mended(package: Package) -> tuple[bytes, Mapping[str, Unreadable]]:
    """Return the parts of XML as a package, and those that are damaged, which are left out.

    Some elements become what office-oxide knows: the style of titles is one of headings, a fraction has a bar, the
    pictures of fonts of symbols are no letters, and notes are paragraphs. A slide that is listed often is listed once,
    and what all slides have, such as their numbers, is left out.
    """
    from lxml import etree

    made, damaged = io.BytesIO(), {}
    notes: dict[tuple[str, str | None], _Element] = {}
    with ZipFile(made, "w") as archive:
        for name in sorted(package.names(), reverse=True):  # notes before the document
            if name.lower().endswith((".xml", ".rels")) and "/comments" not in name:
                try:
                    root = package.needed(name, "")
                except Unreadable as error:
                    damaged[name] = error
                    continue
                if (kind := local(root)) in ("footnotes", "endnotes"):
                    notes |= {(f"{kind[:-1]}Reference", value(note, "id")): note for note in root}
                    root = root.makeelement(root.tag)
                _mend(root, notes)
                archive.writestr(name, etree.tostring(root))
    return made.getvalue(), damaged


def _mend(root: "_Element", notes: "dict[tuple[str, str | None], _Element]") -> None:
    slides: set[str | None] = set()
    gone = []
    for node in root.iter(*(f"{{*}}{name}" for name in _MENDED)):
        name, space, parent = local(node), str(node.tag).rpartition("}")[0], node.getparent()
        if name == "name" and parent is not None and (value(node, "val") or "").casefold() == "title":
            parent.append(properties := node.makeelement(f"{space}}}pPr"))
            properties.append(node.makeelement(f"{space}}}outlineLvl", {f"{space}}}val": str(_TITLE - 1)}))
        elif name == "den":
            node.insert(0, run := node.makeelement(f"{space}}}r"))
            run.append(bar := node.makeelement(f"{space}}}t"))
            bar.text = "/"
        elif name == "sym" and value(node, "font") != "Symbol" and (value(node, "char") or "").upper().startswith("F"):
            gone.append(node)
        elif name == "ph" and value(node, "type") in _FURNITURE:
            gone += node.iterancestors("{*}sp")
        elif name.endswith("Reference") and (note := notes.pop((name, value(node, "id")), None)) is not None:
            paragraph = next(node.iterancestors("{*}p"), node)
            for part in reversed(note):
                paragraph.addnext(part)
        elif name == "sldId":
            slide = next((str(text) for key, text in node.items() if str(key).endswith("}id")), None)
            gone += [node] if slide in slides else []
            slides.add(slide)
    for node in gone:
        if (parent := node.getparent()) is not None:
            parent.remove(node)
