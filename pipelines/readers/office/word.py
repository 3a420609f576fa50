"""Read Word documents (.docx) and presentations (.pptx) by office-oxide: paragraphs, lists and tables in order.

The text is the document's with all tracked changes accepted. Headers, footers and comments are left out; a footnote
stands after its paragraph. A slide has its title, text, tables, and speaker notes.
"""

import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, described, open_package, value
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, Lost, Row, as_title, folded, markdown_table
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_SAME = ("title", "subject", "keywords", "description", "created", "modified", "language")
_PROPERTIES = {"creator": "author", **{name: name for name in _SAME}}
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")
_WITH_TEXT = ("heading", "paragraph")
_TITLE = 6
"""The level that the style of titles gets: a document whose first heading is of it has no other of that level."""
_UNREADABLE = "[unreadable slide "
_Parts = Sequence[dict[str, Any]]
"""Parts of a document as office-oxide describes them: blocks, or what is in a paragraph."""
_Notes = Mapping[tuple[str, int], _Parts]


def read_word(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Word document as one row with its headings as places. Tables are Markdown, the first row as header."""
    title, metadata, sections = _parsed(path, settings)
    blocks = [block for section in sections for block in section["elements"]]
    notes = {(block["type"], block["id"]): block["content"] for block in blocks if _is_note(block)}
    first = next((block for block in blocks if block["type"] == "heading"), None)
    if first and first["level"] == _TITLE:
        first["level"], title = 1, title or as_title(_text(first))
    draft = Draft()
    _add(draft, [block for block in blocks if not _is_note(block)], notes)
    yield draft.row(title, metadata)


def read_slides(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a presentation as one row with slides (by number) and their titles as places; a damaged slide is `Lost`."""
    title, metadata, slides = _parsed(path, settings)
    draft = Draft()
    lost = []
    for number, slide in enumerate(slides, start=1):
        draft.begin("slide", str(number))
        if (why := _flat(slide["elements"], {})).startswith(_UNREADABLE):
            lost.append(Lost(None, f"slide {number} cannot be read", why.strip("[]")))
            continue
        _add(draft, slide["elements"], {}, level=1)
        _add(draft, slide.get("speaker_notes", ()), {})
    if not draft:
        raise Unreadable("no text", f"{len(slides)} slides without text")
    first = next((place.label for place in draft.places if place.kind == "heading"), None)
    yield draft.row(title or first, metadata)
    yield from lost


def _parsed(path: Path, settings: InputSettings) -> tuple[str | None, Mapping[str, str], _Parts]:
    """Return the title, the other properties and the sections (slides) of a document."""
    from office_oxide import Document, OfficeOxideError

    with open_package(path, settings.max_archive_bytes) as package:
        content, damaged = _mended(package)
        core = None if "docProps/core.xml" in damaged else package.part("docProps/core.xml")
    try:
        document = Document.from_bytes(content, "pptx" if path.suffix.lower() == ".pptx" else "docx")
    except OfficeOxideError as error:
        raise next(iter(damaged.values()), Unreadable("damaged document", str(error))) from error
    return *described(core, _PROPERTIES), document.to_ir()["sections"]


def _mended(package: Package) -> tuple[bytes, Mapping[str, Unreadable]]:
    """Return the parts of XML as a package, and those that are damaged, which are left out.

    Some elements become what office-oxide knows: the style of titles is one of headings, a fraction has a bar, and
    the pictures of fonts of symbols are no letters. A slide that is listed often is listed once, and what all slides
    have, such as their numbers, is left out.
    """
    from lxml import etree

    made, damaged = io.BytesIO(), {}
    with ZipFile(made, "w") as archive:
        for name in package.names():
            if name.lower().endswith((".xml", ".rels")) and "/comments" not in name:
                try:
                    root = package.needed(name, "")
                except Unreadable as error:
                    damaged[name] = error
                    continue
                _mend(root)
                archive.writestr(name, etree.tostring(root))
    return made.getvalue(), damaged


def _mend(root: "_Element") -> None:
    slides: set[str | None] = set()
    gone = []
    for node in root.iter("{*}name", "{*}den", "{*}sym", "{*}sldId", "{*}ph"):
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
        elif name == "sldId":
            slide = next((str(text) for key, text in node.items() if str(key).endswith("}id")), None)
            gone += [node] if slide in slides else []
            slides.add(slide)
    for node in gone:
        if (parent := node.getparent()) is not None:
            parent.remove(node)


def _is_note(block: Mapping[str, Any]) -> bool:
    return block["type"] in ("footnote", "endnote")


def _add(draft: Draft, blocks: _Parts, notes: _Notes, level: int | None = None) -> None:
    """Add blocks to a draft; `level` is that of all headings."""
    before = ""
    for block in blocks:
        kind = block["type"]
        if kind == "table":
            rows = list(filter(any, (list(_cells(row["cells"], notes)) for row in block["rows"])))
            draft.add(markdown_table(rows, n_headers=1 if len(rows) > 1 else 0))
        elif kind == "list":
            for item in block["items"]:
                text = _flat(item["content"], notes)
                draft.add(f"- {text}" if text else "", "\n" if before == kind else "\n\n")
                before = kind
        elif kind == "heading":
            draft.add_heading(" ".join(_text(block).split()), level or block["level"])
        elif kind == "paragraph":
            draft.add(_text(block))
        else:
            _add(draft, block.get("content") or (), notes, level)
        for note in _notes_of(block, notes) if kind in _WITH_TEXT else ():
            draft.add(note)
        before = kind


def _cells(cells: _Parts, notes: _Notes) -> Iterator[str]:
    """Yield the texts of a row, an empty one for each further column that a cell spans."""
    for cell in cells:
        yield " ".join(_flat(cell["content"], notes).split())
        yield from [""] * (cell["col_span"] - 1)


def _text(block: Mapping[str, Any]) -> str:
    """Return the text of a paragraph."""
    pieces = ("\n" if part["type"] == "line_break" else part.get("text") or "" for part in block["content"])
    return folded("".join(pieces).replace("\u2011", "-").translate(NO_MARKS))


def _notes_of(block: Mapping[str, Any], notes: _Notes) -> Iterator[str]:
    """Yield the notes that a paragraph refers to."""
    for part in block["content"]:
        if note := notes.get((part["type"].removesuffix("_ref"), part.get("note_id", -1))):
            yield _flat(note, {})


def _flat(blocks: _Parts, notes: _Notes) -> str:
    """Return the text of a cell, an item or a note, its paragraphs apart by blanks."""
    texts = ((_text(block), *_notes_of(block, notes)) for block in _paragraphs(blocks))
    return folded(" ".join(text for several in texts for text in several if text))


def _paragraphs(blocks: _Parts) -> Iterator[Mapping[str, Any]]:
    for block in blocks:
        if block.get("type") in _WITH_TEXT:
            yield block
        else:
            for key in ("content", "items", "rows", "cells"):
                yield from _paragraphs(block.get(key) or ())
