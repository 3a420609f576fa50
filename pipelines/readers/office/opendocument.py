"""Read texts and presentations of LibreOffice and others (.odt, .odp): headings, paragraphs, lists and tables."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import described, open_package, own, value
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, Row, folded, markdown_table
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

_LEFT_OUT = [
    f"{{*}}{name}" for name in "tracked-changes annotation annotation-end forms sequence-decls table-of-content".split()
]
_SIGNS = {"tab": " ", "line-break": "\n", "s": " ", "p": "\n"}
_NAMES = {"title": "title", "creator": "author", "initial-creator": "author", "language": "language", "date": "date"}


def read_odt(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text or a presentation as one row with its headings and slides as places."""
    from lxml import etree

    with open_package(path, settings.max_archive_bytes) as package:
        if b"encryption-data" in (package.read("META-INF/manifest.xml") or b""):
            raise Unreadable("encrypted", "the document has a password")
        content = package.needed("content.xml", "content.xml is missing")
        title, metadata = described(package.part("meta.xml"), _NAMES)
    etree.strip_elements(content, *_LEFT_OUT, with_tail=False)
    draft = Draft(settings)
    slides = 0
    for node in content.iter("{*}page", "{*}h", "{*}p", "{*}table"):
        name = local(node)
        if next(node.iterancestors("{*}h", "{*}p", "{*}table"), None) is not None:
            continue
        if name == "page":
            slides += 1
            draft.begin("slide", str(slides))
        elif name == "table":
            cells = (
                [" ".join(_text(cell, draft).split()) for cell in own(row, "table-cell")]
                for row in own(node, "table-row")
            )
            rows = list(cells)
            draft.add(markdown_table(rows, n_headers=1 if len(rows) > 1 else 0))
        elif name == "h":
            level = value(node, "outline-level") or "1"
            draft.add_heading(_text(node, draft), int(level) if level.isdecimal() else 1)
        else:
            text, in_list = _text(node, draft), next(node.iterancestors("{*}list"), None) is not None
            draft.add(f"- {text}" if in_list and text else text, "\n" if in_list else "\n\n")
    heading = next((place.label for place in draft.places if place.level == 1), None)
    yield draft.row(title or heading, metadata)


def _text(element: "_Element", draft: Draft) -> str:
    """Return the text of a paragraph, with marks at its links."""
    return folded("".join(_pieces(element, draft)))


def _pieces(element: "_Element", draft: Draft) -> Iterator[str]:
    mark = draft.opening(value(element, "href") or "") if local(element) == "a" else ""
    yield mark
    yield clean(element.text or "").translate(NO_MARKS)
    for node in element:
        yield _SIGNS.get(local(node), "")
        yield from _pieces(node, draft)
        yield clean(node.tail or "").translate(NO_MARKS)
    yield draft.closing(mark)
