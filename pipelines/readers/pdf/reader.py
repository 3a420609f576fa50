"""Read PDF files page by page: the text by PDFium; labels, bookmarks and document information by pypdf.

PDFium places every letter before it forms lines, so words that are separated only by position, as in TeX, stay
separate.
"""

import logging
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.pdf.characters import in_logical_order
from conspectus.pipelines.readers.pdf.columns import in_reading_order
from conspectus.pipelines.readers.pdf.fonts import PageFonts
from conspectus.pipelines.readers.pdf.links import PageLink, line_at, links_on, placed
from conspectus.pipelines.readers.pdf.lists import without_lists
from conspectus.pipelines.readers.pdf.outline import (
    Bookmark,
    bookmarks,
    heading_places,
    index_links,
    listed_headings,
    page_numbers,
    title_lines,
)
from conspectus.pipelines.readers.pdf.page_headers import without_furniture
from conspectus.pipelines.readers.pdf.unwrap import Flow, flow, lines_of
from conspectus.pipelines.readers.rows import Lost, Row, listed, sensible_title, too_long
from conspectus.pipelines.readers.scans import LONGEST_SIDE, Scan, recognised, why_not, with_confidence
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from pypdf import PdfReader
    from pypdfium2 import PdfDocument

_DIVIDES = "\ufffe"
"""The character that PDFium writes for the hyphen of a word divided at a line's end; the line continues after it."""
_DATE = re.compile(r"(?:D:)?(\d{4})(?:(\d\d)(\d\d)?)?(?:(\d\d)(\d\d)(\d\d)?)?")


def read_pdf(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the text of a PDF as one row, and `Lost` for pages that cannot be read.

    Pages and bookmarks are places, and without bookmarks the entries of the table of contents. That table and a back-
    of-book index are not text; the terms of the index become links of kind index at the words that it points to.
    Filled form fields follow the last page. Pages that show an image without a text layer are recognised if OCR is
    installed; otherwise they are lost, and named, as are embedded files. Raises Unreadable for an encrypted file (one
    with an empty password is read), one without any text, and one that is too damaged.
    """
    from pypdf import PdfReader
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every oddity; ours are rows of failures
    errors = _errors()
    with path.open("rb") as stream:
        try:
            reader = PdfReader(stream)
            if reader.is_encrypted and not reader.decrypt(""):
                raise Unreadable("encrypted", "it opens with a password only")
            n_pages = len(reader.pages)
        except DependencyError as error:
            raise Unreadable("encrypted", str(error)) from error
        except errors as error:
            if path.stat().st_size == 0:
                raise Unreadable("empty") from error
            raise Unreadable("not a readable PDF", _line(error)) from error
        if not n_pages:
            raise Unreadable("not a readable PDF", "it has no pages")
        pages = _read_pages(path, n_pages, settings)
        labels = _labels(reader, n_pages)
        outline = bookmarks(reader, errors)
        information = _information(reader)
        fields, embedded = _beside(reader)
    if not any(pages.lines):
        if pages.lost:
            raise Unreadable("not a readable PDF", f"{pages.lost[0].reason}: {pages.lost[0].detail}")
        count = f"{n_pages} {'page' if n_pages == 1 else 'pages'} without a text layer"
        raise Unreadable("no text", f"{count}; {why_not(settings) or 'no letters were found on them'}")
    row = _row(pages, labels, outline, information)
    if fields:
        row = replace(row, text="\n\n".join([row.text, "\n".join(fields)]))
        if len(row.text) > settings.max_characters:
            raise too_long(settings)
    yield row
    yield from pages.lost
    if embedded:
        yield Lost(None, "embedded files are not read", listed(embedded))
    if pages.images:
        where = ", ".join(labels[page] for page in pages.images[:50])
        yield Lost(None, f"{len(pages.images)} of {n_pages} pages are images without a text layer", f"pages {where}")


@dataclass(slots=True)
class _Pages:
    """The lines of the pages (empty for a failed page), their lines of code, the printed title, and the losses.

    `code` maps, for each page, its lines that are in listings to the lines as printed; `links` contains the links on
    each page, and `lines_led_to` the lines at their target pages and heights. `scans` has what was recognised on pages
    without a text layer, whose lines are whole paragraphs.
    """

    lines: list[list[str]]
    code: list[dict[str, list[str]]]
    links: list[list[PageLink]]
    lines_led_to: dict[tuple[int, float], str] = field(default_factory=dict)
    title: str = ""
    lost: list[Lost] = field(default_factory=list)
    images: list[int] = field(default_factory=list)
    scans: dict[int, Scan] = field(default_factory=dict)

    @property
    def listings(self) -> list[dict[str, list[str]]] | None:
        """The lines of code, by page; None if most of the text is in such a font: it was typed, and is not code."""
        coded = sum(len(printed) for page in self.code for printed in page.values())
        is_typed = 2 * coded > sum(map(len, self.lines))
        return None if is_typed else self.code


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of pypdf for damaged files: its own, and those that damaged values cause."""
    from pypdf.errors import PyPdfError

    of_values = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError, AssertionError, EOFError)
    return (PyPdfError, *of_values, RecursionError, NotImplementedError, zlib.error, struct.error)


def _read_pages(path: Path, n_pages: int, settings: InputSettings) -> _Pages:
    from pypdfium2 import PdfDocument, PdfiumError

    found = _Pages(
        lines=[[] for _ in range(n_pages)], code=[{} for _ in range(n_pages)], links=[[] for _ in range(n_pages)]
    )
    characters = 0
    try:
        document = PdfDocument(path)
    except PdfiumError as error:
        raise Unreadable("not a readable PDF", _line(error)) from error
    with closing(document):
        for number in range(n_pages):
            try:
                found.lines[number] = lines_of(clean(_text(document, number, found)))
                if found.images and found.images[-1] == number and not why_not(settings):
                    _recognise(document, number, found, settings)
            except (*_errors(), PdfiumError) as error:
                found.lost.append(Lost(None, f"page {number + 1} cannot be read", _line(error)))
            characters += sum(map(len, found.lines[number])) + len(found.lines[number])
            if characters > settings.max_characters + 1:
                raise too_long(settings)
        _note_lines_led_to(document, found)
    return found


def _recognise(document: "PdfDocument", number: int, pages: _Pages, settings: InputSettings) -> None:
    """Read a page that is an image; one without letters stays among the images."""
    try:
        with closing(document[number]) as page:
            scale = min(200 / 72, LONGEST_SIDE / max(page.get_size()))  # 200 dots an inch
            with closing(page.render(scale=scale)) as bitmap:
                scan = recognised(bitmap.to_pil(), settings)
    except UnknownFormat:
        return
    except Unreadable as error:
        pages.lost.append(Lost(None, f"page {number + 1}: {error.reason}", error.detail))
    else:
        pages.scans[number] = scan
        pages.lines[number] = [text for text, _ in scan.blocks]
    pages.images.pop()


def _note_lines_led_to(document: "PdfDocument", pages: _Pages) -> None:
    """Note the target lines of links; on an unreadable page, links point to its beginning."""
    heights: dict[int, set[float]] = {}
    for link in (link for on_page in pages.links for link in on_page):
        if link.top is not None and link.page < len(pages.lines) and pages.lines[link.page]:
            heights.setdefault(link.page, set()).add(link.top)
    for number, tops in heights.items():
        with closing(document[number]) as page, closing(page.get_textpage()) as text:
            pages.lines_led_to |= {(number, top): line_at(text, top) for top in tops}


def _text(document: "PdfDocument", number: int, pages: _Pages) -> str:
    """Return the text of a page, and note its lines of code and, for the first page, the title."""
    from pypdfium2 import raw

    with closing(document[number]) as page, closing(page.get_textpage()) as text:
        said = in_logical_order(text, text.get_text_range())
        if not said.strip() and any(page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,))):
            pages.images.append(number)
        fonts = PageFonts(text, said)
        pages.code[number] = fonts.code()
        pages.links[number] = links_on(document, page, text)
        if number == 0:
            pages.title = fonts.title()
        return in_reading_order(text, said).replace(_DIVIDES, "-\n")


def _labels(reader: "PdfReader", n_pages: int) -> list[str]:
    """Return the labels of the pages: those of the file, else their numbers from 1."""
    plain = [str(number + 1) for number in range(n_pages)]
    try:
        found = [" ".join(clean(str(label)).split()) for label in reader.page_labels]
    except _errors():
        return plain
    if len(found) != n_pages:
        return plain
    return [label or number for label, number in zip(found, plain, strict=True)]


def _beside(reader: "PdfReader") -> tuple[list[str], list[str]]:
    """Return a line "name: value" for each filled form field, and the names of embedded files; none if damaged."""
    try:
        fields = [
            ": ".join(" ".join(clean(str(one)).split()) for one in (field.alternate_name or name, field.value))
            for name, field in (reader.get_fields() or {}).items()
            if field.field_type in ("/Tx", "/Ch") and isinstance(field.value, str) and field.value.strip()
        ]
        return fields, [" ".join(clean(str(name)).split()) for name in reader.attachments]
    except _errors():
        return [], []


def _information(reader: "PdfReader") -> Mapping[str, str]:
    try:
        raw = {key: str(value) for key, value in (reader.metadata or {}).items() if isinstance(value, str)}
        language = reader.root_object.get("/Lang")
    except _errors():
        return {}
    named = {name: raw.get(f"/{name.capitalize()}", "") for name in ("title", "author", "subject", "keywords")}
    named |= {"created": _date(raw.get("/CreationDate", "")), "modified": _date(raw.get("/ModDate", ""))}
    named["language"] = str(language) if isinstance(language, str) else ""
    return {name: text for name, value in named.items() if (text := " ".join(clean(value).split()))}


def _date(value: str) -> str:
    """Return a date of a PDF in ISO form, as precise as given.

    >>> _date("D:20250208122313Z"), _date("D:2019"), _date("yesterday")
    ('2025-02-08T12:23:13', '2019', '')
    """
    found = _DATE.match(value)
    if not found:
        return ""
    day, time = "-".join(filter(None, found.groups()[:3])), ":".join(filter(None, found.groups()[3:]))
    return f"{day}T{time}" if time else day


def _row(pages: _Pages, labels: Sequence[str], outline: Sequence[Bookmark], information: Mapping[str, str]) -> Row:
    numbers = page_numbers(pages.lines, labels)
    lists = without_lists(without_furniture(pages.lines, labels, title_lines(pages.lines, outline)))
    outline = outline or listed_headings(lists)
    apart = title_lines(lists.pages, outline)
    for number, scan in pages.scans.items():
        apart[number] = {*apart[number], *(text for text, _ in scan.blocks)}
    flowing = flow(lists.pages, apart, pages.listings)
    starts = flowing.starts
    places = [Place(start, "page", labels[at], 0) for at, start in enumerate(starts) if start is not None]
    places += heading_places(flowing, outline)
    places += [place for number, scan in pages.scans.items() for place in _areas(flowing, number, scan)]
    links, anchors = placed(pages.links, pages.lines_led_to, flowing)
    links += index_links(flowing, lists.terms, numbers)
    return Row(
        None,
        None,
        sensible_title(information.get("title")) or pages.title or None,
        flowing.text,
        {
            **{name: value for name, value in information.items() if name != "title"},
            "pages": str(len(pages.lines)),
            **with_confidence({labels[number]: scan.confidence for number, scan in pages.scans.items()}),
        },
        tuple(sorted(places, key=lambda place: (place.start, place.kind != "page", place.level))),
        hyperlinks=tuple(sorted(set(links), key=lambda link: (link.start, link.end, link.target, link.kind))),
        anchors=tuple(anchors),
    )


def _areas(flowing: Flow, number: int, scan: Scan) -> Iterator[Place]:
    """Yield the places of what was recognised on a page, apart from page numbers and the like, which are left out."""
    at, end = flowing.starts[number], flowing.ends[number]
    for text, area in scan.blocks:
        found = -1 if at is None else flowing.text.find(text, at, end)
        if found >= 0:
            yield Place(found, "area", area, 0)
            at = found + len(text)


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
