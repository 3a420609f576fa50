"""Read presentations (.pptx): for every slide its title, text, tables, and speaker notes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, open_package, own, value
from conspectus.pipelines.readers.office.word import leave_out_hidden, text_of
from conspectus.pipelines.readers.rows import Draft, Lost, Row, as_title, markdown_table
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from lxml.etree import _Element

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
