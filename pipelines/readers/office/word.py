"""Read Word documents (.docx): paragraphs, lists and tables in order, notes after the paragraph that refers to them.

The text is the document's with all tracked changes accepted. Headers, footers and comments are left out.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, child, open_package, shown, value
from conspectus.pipelines.readers.rows import Draft, Row, as_title, folded, markdown_table
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_HEADING = re.compile(r"heading (\d)")
_TITLE = 0
_GONE = frozenset({"del", "moveFrom", "instrText", "delText", "rPr", "pPr", "rt", "Fallback", "annotation"})
_SIGNS = {"tab": " ", "ptab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
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


def read_word(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Word document as one row with its headings as places.

    Headings are identified by their outline level or the built-in name of their style ("heading 1"), which is the same
    in every language version of Word. Tables are Markdown, with their first row as header.
    """
    with open_package(path, settings.max_archive_bytes) as package:
        name, root = package.main_part("document")
        title, metadata = package.properties()
        reader = _Reader(package, name, settings)
        body = child(root, "body")
        if body is not None:
            reader.read(body)
    yield Row(None, None, title or reader.title, reader.draft.text(), metadata, tuple(reader.draft.places))


class _Reader:
    """Reads the body of one document into a draft."""

    def __init__(self, package: Package, name: str, settings: InputSettings) -> None:
        self.draft = Draft(settings)
        self.title: str | None = None
        targets = {relation.kind: relation.target for relation in package.relations(name).values()}
        styles = _part(package, targets.get("styles"))
        self._levels = _levels(styles)
        self._lists = _list_styles(styles)
        self._notes = {
            "footnoteReference": _notes(_part(package, targets.get("footnotes"))),
            "endnoteReference": _notes(_part(package, targets.get("endnotes"))),
        }
        self._tables = _Tables(self._notes)
        self._in_list = False

    def read(self, element: "_Element") -> None:
        for node in shown(element):
            name = local(node)
            if name == "p":
                self._paragraph(node)
            elif name == "tbl":
                rows = [row for row in self._tables.rows(node) if any(row)]
                self.draft.add(markdown_table(rows, n_headers=1 if len(rows) > 1 else 0))
            elif name not in _GONE:
                self.read(node)  # content controls, insertions

    def _paragraph(self, paragraph: "_Element") -> None:
        aside: list[_Element] = []
        text = folded("".join(runs(paragraph, aside)))
        level = self._level(paragraph)
        is_item = level is None and (child(paragraph, "pPr", "numPr") is not None or _style(paragraph) in self._lists)
        if level is not None:
            self.draft.add_heading(text, max(level, 1))
            if level == _TITLE:
                self.title = self.title or as_title(text)
        elif is_item and text:
            self.draft.add(f"- {text}", "\n" if self._in_list else "\n\n")
        else:
            self.draft.add(text)
        self._in_list = is_item
        for node in aside:
            note = self._notes.get(local(node), {}).get(value(node, "id") or "")
            if note:
                self.draft.add(note)
            elif local(node) == "txbxContent":
                self.read(node)

    def _level(self, paragraph: "_Element") -> int | None:
        """Return the level of a heading, from 1; 0 for the title of the document, None for other paragraphs."""
        properties = child(paragraph, "pPr")
        if properties is None:
            return None
        own = _outline_level(properties)
        if own is not None:
            return own if 1 <= own <= 9 else None
        return self._levels.get(_style(paragraph))


def _part(package: Package, name: str | None) -> "_Element | None":
    """Return an optional part of a document."""
    try:
        return package.part(name) if name else None
    except Unreadable:
        return None


def runs(element: "_Element", aside: "list[_Element]") -> Iterator[str]:
    """Yield the text of a paragraph; its notes and text boxes are appended to `aside`."""
    for node in shown(element):
        name = local(node)
        if name == "t":
            yield node.text or ""
        elif name in _SIGNS:
            yield _SIGNS[name]
        elif name == "sym":
            yield _symbol(node)
        elif name == "den":
            yield "/"
            yield from runs(node, aside)
        elif name in ("footnoteReference", "endnoteReference", "txbxContent"):
            aside.append(node)
        elif name not in _GONE and not (name == "r" and _is_hidden(node)):
            yield from runs(node, aside)


def _symbol(element: "_Element") -> str:
    """Return the character of a symbol of a font, if it is known; its code may be shifted by F000."""
    code = int(found, 16) if re.fullmatch("[0-9A-Fa-f]{4}", found := value(element, "char") or "") else 0
    if value(element, "font") == "Symbol":
        return _SYMBOLS.get(code & 0xFF, "")
    return chr(code) if 0x20 < code < 0xD800 or code >= 0xF900 else ""


def _is_hidden(run: "_Element") -> bool:
    vanish = child(run, "rPr", "vanish")
    return vanish is not None and value(vanish, "val") not in _OFF


class _Tables:
    """Reads tables, with the notes in their cells."""

    def __init__(self, notes: Mapping[str, Mapping[str, str]]) -> None:
        self._notes = notes

    def rows(self, table: "_Element") -> Iterator[list[str]]:
        """Yield the cells of every row."""
        for node in shown(table):
            if local(node) == "tr":
                yield list(self._cells(node))
            elif local(node) not in _GONE and local(node) not in ("tblPr", "tblGrid"):
                yield from self.rows(node)

    def flat(self, element: "_Element") -> str:
        """Return the text of a cell on one line."""
        parts = []
        for node in shown(element):
            if local(node) == "p":
                aside: list[_Element] = []
                parts.append("".join(runs(node, aside)))
                for apart in aside:
                    note = self._notes.get(local(apart), {}).get(value(apart, "id") or "", "")
                    parts.append(note or (self.flat(apart) if local(apart) == "txbxContent" else ""))
            elif local(node) not in _GONE:
                parts.append(self.flat(node))
        return folded(" ".join(filter(None, parts)))

    def _cells(self, row: "_Element") -> Iterator[str]:
        for node in shown(row):
            if local(node) == "tc":
                yield " ".join(self.flat(node).split())
            elif local(node) not in _GONE:
                yield from self._cells(node)


def _notes(root: "_Element | None") -> dict[str, str]:
    """Return the text of the notes by id, without separators."""
    reader = _Tables({})
    return {
        value(note, "id") or "": reader.flat(note)
        for note in (root if root is not None else ())
        if value(note, "type") in (None, "normal")
    }


def _levels(styles: "_Element | None") -> dict[str, int]:
    """Return the levels of heading styles: from the built-in name, else the outline level of the style or its base."""
    by_id = {value(style, "styleId") or "": style for style in (styles if styles is not None else ())}
    found = {}
    for id_, style in by_id.items():
        at: _Element | None = style
        for _ in range(_BASE_STEPS):
            level = _own_level(at) if at is not None else None
            if at is None or level is not None:
                break
            base = child(at, "basedOn")
            at = by_id.get(value(base, "val") or "") if base is not None else None
        if level is not None and level <= 9:
            found[id_] = level
    return found


def _list_styles(styles: "_Element | None") -> frozenset[str]:
    """Return the ids of the styles of list items."""
    every = styles if styles is not None else ()
    return frozenset(value(node, "styleId") or "" for node in every if child(node, "pPr", "numPr") is not None)


def _style(paragraph: "_Element") -> str:
    style = child(paragraph, "pPr", "pStyle")
    return (value(style, "val") or "") if style is not None else ""


def _own_level(style: "_Element") -> int | None:
    named = child(style, "name")
    name = (value(named, "val") or "").casefold() if named is not None else ""
    heading = _HEADING.fullmatch(name)
    if heading or name == "title":
        return int(heading[1]) if heading else _TITLE
    properties = child(style, "pPr")
    return _outline_level(properties) if properties is not None else None


def _outline_level(properties: "_Element") -> int | None:
    """Return an outline level, from 1; 10 for body text."""
    level = child(properties, "outlineLvl")
    text = value(level, "val") if level is not None else None
    return int(text) + 1 if text and re.fullmatch(r"\d", text, re.A) else None
