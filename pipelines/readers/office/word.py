"""Read Word documents (.docx) and presentations (.pptx): paragraphs, lists and tables in order, notes after them.

The text is the document's with all tracked changes accepted. Headers, footers and comments are left out. A slide has
its title, text, tables, and speaker notes.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, open_package, own, value
from conspectus.pipelines.readers.rows import Draft, Lost, Row, as_title, folded, markdown_table
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING = re.compile(r"heading (\d)")
_TITLE = 0
_GONE = [f"{{*}}{name}" for name in "del moveFrom instrText delText rt Fallback annotation".split()]
_SIGNS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-", "den": "/"}
_STOPS = ("tabs", "tabLst")
"""Elements with the stops of tabs, which are named like the sign."""
_SYMBOLS = dict(
    zip(
        b"ABGDEZHQIKLMNXOPRSTUFCYWabgdezhqiklmnxoprstufcyw\xb0\xb1\xb2\xb4\xb6\xb7\xb8\xb9\xa3\xb3\xa5\xae\xac\xde\xe5\xd6\xf2",
        "ΑΒΓΔΕΖΗΘΙΚΛΜΝΞΟΠΡΣΤΥΦΧΨΩαβγδεζηθικλμνξοπρστυφχψω°±″×∂•÷≠≤≥∞→←⇒∑√∫",
        strict=True,
    )
)
"""The characters of the font Symbol (Adobe's encoding): Greek letters and mathematical symbols."""

_OFF = ("0", "false", "off")
_BASE_STEPS = 20
_Notes = Mapping[str, Mapping[str, str]]
"""The texts of notes by their ids, by the elements that refer to them."""


def read_word(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Word document as one row with its headings as places.

    Headings are identified by their outline level or the built-in name of their style ("heading 1"), which is the same
    in every language version of Word. Tables are Markdown, with their first row as header.
    """
    with open_package(path, settings.max_archive_bytes) as package:
        name, root = package.main_part("document")
        title, metadata = package.properties()
        targets = {relation.kind: relation.target for relation in package.relations(name).values()}
        kinds = ("styles", "footnotes", "endnotes")
        styles, footnotes, endnotes = (_part(package, targets.get(kind)) for kind in kinds)
    notes: _Notes = {"footnoteReference": _notes(footnotes), "endnoteReference": _notes(endnotes)}
    levels, list_styles = _levels(styles), _list_styles(styles)
    leave_out_hidden(root)
    draft = Draft(settings)
    in_list = False
    for node in root.iter("{*}p", "{*}tbl"):
        if next(node.iterancestors("{*}tbl"), None) is not None:
            continue
        if local(node) == "tbl":
            cells = ([" ".join(_flat(cell, notes).split()) for cell in own(row, "tc")] for row in own(node, "tr"))
            rows = list(filter(any, cells))
            draft.add(markdown_table(rows, n_headers=1 if len(rows) > 1 else 0))
            continue
        text, properties = text_of(node), node.find("{*}pPr")
        style = value(node.find("{*}pPr/{*}pStyle"), "val") or ""
        level = _outline_level(properties) or levels.get(style, _BODY)
        is_item = level >= _BODY and (node.find("{*}pPr/{*}numPr") is not None or style in list_styles)
        if level < _BODY:
            draft.add_heading(text, max(level, 1))
            title = title or (as_title(text) if level == _TITLE else None)
        elif is_item and text:
            draft.add(f"- {text}", "\n" if in_list else "\n\n")
        else:
            draft.add(text)
        in_list = is_item
        for note in _notes_of(node, notes):
            draft.add(note)
    yield draft.row(title, metadata)


def _part(package: Package, name: str | None) -> "_Element | None":
    """Return an optional part of a document."""
    try:
        return package.part(name) if name else None
    except Unreadable:
        return None


def leave_out_hidden(root: "_Element") -> None:
    """Remove what was deleted, hidden text, and the second of alternatives for different program versions."""
    from lxml import etree

    etree.strip_elements(root, *_GONE, with_tail=False)
    for vanish in list(root.iter("{*}vanish")):
        run = next(vanish.iterancestors("{*}r", "{*}pPr"), None)
        if run is not None and local(run) == "r" and value(vanish, "val") not in _OFF:
            run.clear()


def text_of(paragraph: "_Element") -> str:
    """Return the text of a paragraph, without that of boxes in it, which are paragraphs of their own."""
    return folded("".join(map(_piece, own(paragraph, "t", "sym", *_SIGNS))))


def _piece(node: "_Element") -> str:
    name, parent = local(node), node.getparent()
    if name in _SIGNS:
        return "" if parent is not None and local(parent) in _STOPS else _SIGNS[name]
    return (node.text or "") if name == "t" else _symbol(node)


def _symbol(element: "_Element") -> str:
    """Return the character of a symbol of a font, if it is known; its code may be shifted by F000."""
    code = int(found, 16) if re.fullmatch("[0-9A-Fa-f]{4}", found := value(element, "char") or "") else 0
    if value(element, "font") == "Symbol":
        return _SYMBOLS.get(code & 0xFF, "")
    return chr(code) if 0x20 < code < 0xD800 or code >= 0xF900 else ""


def _notes_of(paragraph: "_Element", notes: _Notes) -> Iterator[str]:
    """Yield the notes that a paragraph refers to."""
    for node in own(paragraph, *notes) if notes else ():
        if note := notes.get(local(node), {}).get(value(node, "id") or ""):
            yield note


def _flat(element: "_Element", notes: _Notes) -> str:
    """Return the text of a cell or a note."""
    texts = ((text_of(paragraph), *_notes_of(paragraph, notes)) for paragraph in element.iter("{*}p"))
    return folded(" ".join(text for several in texts for text in several if text))


def _notes(root: "_Element | None") -> dict[str, str]:
    """Return the text of the notes by id, without separators."""
    if root is None:
        return {}
    leave_out_hidden(root)
    return {value(note, "id") or "": _flat(note, {}) for note in root if value(note, "type") in (None, "normal")}


def _levels(styles: "_Element | None") -> dict[str, int]:
    """Return the levels of heading styles: from the built-in name, else the outline level of the style or its base."""
    by_id = {value(style, "styleId") or "": style for style in (styles if styles is not None else ())}
    found = {}
    for id_ in by_id:
        base: str | None = id_
        for _ in range(_BASE_STEPS):
            style = by_id.get(base or "")
            level = _own_level(style) if style is not None else _BODY
            if level is not None:
                found[id_] = level
                break
            base = value(style.find("{*}basedOn"), "val") if style is not None else None
    return found


def _list_styles(styles: "_Element | None") -> frozenset[str]:
    """Return the ids of the styles of list items."""
    every = styles if styles is not None else ()
    return frozenset(value(node, "styleId") or "" for node in every if node.find("{*}pPr/{*}numPr") is not None)


def _own_level(style: "_Element") -> int | None:
    name = (value(style.find("{*}name"), "val") or "").casefold()
    heading = _HEADING.fullmatch(name)
    if heading or name == "title":
        return int(heading[1]) if heading else _TITLE
    return _outline_level(style.find("{*}pPr"))


_BODY = 10
"""The outline level of body text."""


def _outline_level(properties: "_Element | None") -> int | None:
    """Return an outline level, from 1."""
    text = value(properties.find("{*}outlineLvl"), "val") if properties is not None else None
    return int(text) + 1 if text and re.fullmatch(r"\d", text, re.A) else None


_TITLES = ("title", "ctrTitle")
_FURNITURE = ("dt", "ftr", "sldNum", "hdr", "sldImg")


def read_slides(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield a presentation as one row with slides (by number) and their titles as places; a damaged slide is `Lost`."""
    draft = Draft(settings)
    lost = []
    first_title: str | None = None
    with open_package(path, settings.max_archive_bytes) as package:
        name, root = package.main_part("presentation")
        title, metadata = package.properties()
        slides = _slides(package, name, root)
        notes: set[str] = set()
        for number, slide in enumerate(slides, start=1):
            draft.begin("slide", str(number))
            try:
                heading = _read_slide(package, slide, draft, notes)
            except Unreadable as error:
                if error.reason.startswith("longer than"):
                    raise
                lost.append(Lost(None, f"slide {number} cannot be read", f"{error.reason}: {error.detail}"))
                continue
            first_title = first_title or heading
    if not draft:
        raise Unreadable("no text", f"{len(slides)} slides without text")
    yield draft.row(title or first_title, metadata)
    yield from lost


def _slides(package: Package, name: str, root: "_Element") -> list[str]:
    relations = package.relations(name)
    ids = [_relation_id(node) for node in root.iterfind("{*}sldIdLst/*")]
    return list(dict.fromkeys(relations[id_].target if id_ in relations else "" for id_ in ids))


def _relation_id(element: "_Element") -> str:
    """Return the relationship id of an element; distinct from the id attribute without a namespace."""
    return next((str(text) for key, text in element.items() if str(key).endswith("}id")), "")


def _read_slide(package: Package, name: str, draft: Draft, seen: set[str]) -> str | None:
    """Add a slide to the draft and return its title; notes that were `seen` belong to another slide."""
    title: str | None = None
    blocks = []
    for kind, lines in _blocks(package.needed(name, "the slide is missing")):
        if kind in _TITLES and title is None:
            title = " ".join(" ".join(lines).split())
        elif kind not in _FURNITURE:
            mark = "- " if kind == "body" and len(lines) > 1 else ""
            blocks.append("\n".join(mark + line for line in lines))
    if title:
        draft.add_heading(title, 1)
    for text in blocks:
        draft.add(text)
    for relation in package.relations(name).values():
        if relation.kind != "notesSlide" or relation.target in seen:
            continue
        seen.add(relation.target)
        notes = package.part(relation.target)
        for kind, lines in _blocks(notes) if notes is not None else ():
            if kind == "body":
                draft.add("\n".join(lines))
    return as_title(title)


def _blocks(root: "_Element") -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each shape and table, with the kind of its placeholder ("" for none)."""
    leave_out_hidden(root)
    for node in root.iter("{*}sp", "{*}tbl"):
        if local(node) == "tbl":
            rows = [[" ".join(" ".join(_lines(cell)).split()) for cell in own(row, "tc")] for row in own(node, "tr")]
            yield "", [markdown_table(list(filter(any, rows)), n_headers=1)]
        elif lines := _lines(node):
            placeholder = node.find("{*}nvSpPr/{*}nvPr/{*}ph")
            yield "" if placeholder is None else value(placeholder, "type") or "body", lines


def _lines(shape: "_Element") -> list[str]:
    """Return the lines of a shape or a cell."""
    return list(filter(None, map(text_of, shape.iterfind("{*}txBody/{*}p"))))
