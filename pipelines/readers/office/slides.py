"""Read presentations (.pptx): for every slide its title, text, tables, and speaker notes."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.office.package import Package, child, open_package, shown, value
from conspectus.pipelines.readers.office.word import runs
from conspectus.pipelines.readers.rows import Draft, Lost, Row, as_title, folded, markdown_table
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
    if not draft.places:
        raise Unreadable("no text", f"{len(slides)} slides without text")
    yield Row(None, None, title or first_title, draft.text(), metadata, tuple(draft.places))
    yield from lost


def _slides(package: Package, name: str, root: "_Element") -> list[str]:
    relations = package.relations(name)
    listed = child(root, "sldIdLst")
    ids = [_relation_id(node) for node in listed] if listed is not None else []
    return list(dict.fromkeys(relations[id_].target if id_ in relations else "" for id_ in ids))


def _relation_id(element: "_Element") -> str:
    """Return the relationship id of an element; distinct from the id attribute without a namespace."""
    return next((str(text) for key, text in element.items() if str(key).endswith("}id")), "")


def _read_slide(package: Package, name: str, draft: Draft, seen: set[str]) -> str | None:
    """Add a slide to the draft and return its title; notes that were `seen` belong to another slide."""
    root = package.part(name)
    if root is None:
        raise Unreadable("damaged document", "the slide is missing")
    title: str | None = None
    blocks = []
    for kind, lines in _blocks(root):
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


def _blocks(element: "_Element") -> Iterator[tuple[str, list[str]]]:
    """Yield the lines of each shape and table, with the kind of its placeholder ("" for none)."""
    for node in shown(element):
        name = local(node)
        if name == "sp":
            body = child(node, "txBody")
            placeholder = child(node, "nvSpPr", "nvPr", "ph")
            kind = "" if placeholder is None else value(placeholder, "type") or "body"
            lines = _paragraphs(body) if body is not None else []
            if lines:
                yield kind, lines
        elif name == "tbl":
            rows = [_cells(row) for row in node if local(row) == "tr"]
            yield "", [markdown_table([row for row in rows if any(row)], n_headers=1)]
        else:
            yield from _blocks(node)


def _cells(row: "_Element") -> list[str]:
    bodies = (child(cell, "txBody") for cell in row if local(cell) == "tc")
    return ["" if body is None else " ".join(" ".join(_paragraphs(body)).split()) for body in bodies]


def _paragraphs(body: "_Element") -> list[str]:
    lines = (folded("".join(runs(node, []))) for node in body if local(node) == "p")
    return [line for line in lines if line]
