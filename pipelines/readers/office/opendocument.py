"""Read texts and presentations of LibreOffice and others (.odt, .odp): headings, paragraphs, lists and tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import open_package
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, Row, folded, markdown_table, sensible_title
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEFT_OUT = frozenset("tracked-changes annotation annotation-end forms sequence-decls table-of-content".split())
_SIGNS = {"tab": " ", "line-break": "\n", "s": " "}


def read_odt(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text or a presentation as one row with its headings and slides as places."""
    with open_package(path, settings.max_archive_bytes) as package:
        if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
            raise Unreadable("encrypted", "the document has a password")
        content, meta = package.part("content.xml"), package.part("meta.xml")
    if content is None:
        raise Unreadable("damaged document", "content.xml is missing")
    properties = _properties(meta) if meta is not None else {}
    draft = Draft(settings)
    for element in content.iter():
        parent = element.getparent()
        if local(element) in ("text", "presentation") and parent is not None and local(parent) == "body":
            _add(element, draft, in_list=False)
    heading = next((place.label for place in draft.places if place.level == 1), None)
    yield draft.row(sensible_title(properties.pop("title", None)) or heading, properties)


def _add(element: "_Element", draft: Draft, *, in_list: bool) -> None:
    slides = 0
    for node in element:
        name = local(node)
        if name == "page":
            slides += 1
            draft.begin("slide", str(slides))
        if name == "h":
            level = next((value for key, value in node.attrib.items() if str(key).endswith("outline-level")), "1")
            draft.add_heading(_text(node, draft), int(level) if str(level).isdecimal() else 1)
        elif name == "p":
            text = _text(node, draft)
            draft.add(f"- {text}" if in_list and text else text, "\n" if in_list else "\n\n")
        elif name == "table":
            rows = [
                [" ".join(_text(cell, draft).split()) for cell in _inside(row, "table-cell")]
                for row in _inside(node, "table-row")
            ]
            draft.add(markdown_table(rows, n_headers=1 if len(rows) > 1 else 0))
        elif name not in _LEFT_OUT and isinstance(node.tag, str):
            _add(node, draft, in_list=in_list or name == "list")


def _inside(element: "_Element", name: str) -> "Iterator[_Element]":
    """Yield the rows of a table or the cells of a row, which may be in groups."""
    for node in element:
        if local(node) == name:
            yield node
        elif local(node) in ("table-header-rows", "table-rows", "table-row-group"):
            yield from _inside(node, name)


def _text(element: "_Element", draft: Draft) -> str:
    """Return the text of a paragraph, with marks at its links."""
    return folded("".join(_pieces(element, draft)))


def _pieces(element: "_Element", draft: Draft) -> Iterator[str]:
    mark = ""
    if local(element) == "a":
        address = next((value for key, value in element.attrib.items() if str(key).endswith("}href")), "")
        mark = draft.opening(str(address))
    yield mark
    yield clean(element.text or "").translate(NO_MARKS)
    for node in element:
        name = local(node)
        if name in _SIGNS:
            yield _SIGNS[name]
        elif name == "p":
            yield "\n"
        if isinstance(node.tag, str) and name not in _LEFT_OUT:
            yield from _pieces(node, draft)
        yield clean(node.tail or "").translate(NO_MARKS)
    yield draft.closing(mark)


def _properties(root: "_Element") -> dict[str, str]:
    names = {"title": "title", "creator": "author", "initial-creator": "author", "language": "language", "date": "date"}
    found: dict[str, str] = {}
    for element in root.iter():
        name, text = names.get(local(element)), " ".join(clean(element.text or "").split())
        if name and text:
            found.setdefault(name, text)
    return found
