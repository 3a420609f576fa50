"""Read PDF files page by page: the text by PDFium; labels, bookmarks and document information by pypdf.

PDFium places every letter before it forms lines, so words that are separated only by position, as in TeX, stay
separate. Hostile files can take unlimited time: pages that draw without end, or the same costly object a thousand
times. pypdf bounds single streams; the total over all pages is bounded here.
"""

import logging
import re
import struct
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.pdf.characters import in_logical_order
from conspectus.pipelines.readers.pdf.columns import in_reading_order
from conspectus.pipelines.readers.pdf.extras import embedded_files, filled_fields
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
from conspectus.pipelines.readers.pdf.unwrap import flow, lines_of
from conspectus.pipelines.readers.rows import Lost, Row, listed, sensible_title, too_long
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from pypdf import PageObject, PdfReader
    from pypdf.generic import DictionaryObject
    from pypdfium2 import PdfDocument

MAX_OPERATIONS = 5_000_000
"""Maximum drawing operations of all pages: a page of prose has some hundreds, a detailed map a million."""

_OPERATIONS_A_PAGE = 100
_OPERATIONS_A_FORM = 1_000
_OPERATIONS_A_FAILURE = 200_000
"""The operations charged for a failing page, which may have taken long before it failed."""

_BYTES_AN_OPERATION = 10
_OPERATIONS_A_FONT = 10
_MOST_ENTRIES = 200_000  # of a font; pypdf gives up earlier
_DEEPEST_FORM = 20
_DRAWS = re.compile(rb"/([^\s/<>\[\](){}%]+)\s+Do\b")
_DIVIDES = "\ufffe"
"""The character that PDFium writes for the hyphen of a word divided at a line's end; the line continues after it."""
_PDFIUM = Lock()
"""PDFium may be called by one thread at a time."""
_LIMITS = {
    "zlib_maximum_output_length": 30_000_000,
    "lzw_maximum_output_length": 30_000_000,
    "run_length_maximum_output_length": 30_000_000,
    "array_based_stream_maximum_output_length": 30_000_000,
    "stream_decoding_work_maximum_length": 100_000_000,
    "outline_maximum_entries": 20_000,
}
"""Stricter limits than those of pypdf; no real text comes near them."""

_RANGES = re.compile(rb"beginbfrange(.*?)endbfrange", re.S)
_RANGE = re.compile(rb"<([0-9A-Fa-f]{1,8})>\s*<([0-9A-Fa-f]{1,8})>\s*(?:<[^>]*>|\[[^\]]*\])")
_DATE = re.compile(r"(?:D:)?(\d{4})(?:(\d\d)(\d\d)?)?(?:(\d\d)(\d\d)(\d\d)?)?")


def read_pdf(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the text of a PDF as one row, and `Lost` for pages that cannot be read.

    Pages and bookmarks are places, and without bookmarks the entries of the table of contents. That table and a
    back-of-book index are not text; the terms of the index become links of kind index at the words that it points to.
    Filled form fields follow the last page. Pages that show an image without a text layer are lost, and named, as are
    embedded files. Raises Unreadable for an encrypted file (one with an empty password is read), one without any text,
    and one that is too damaged.
    """
    from pypdf import Configuration, PdfReader, apply_configuration
    from pypdf.errors import DependencyError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # it logs every oddity; ours are rows of failures
    errors = _errors()
    with path.open("rb") as stream, apply_configuration(Configuration().with_overwrites(**_LIMITS)):
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
        with _PDFIUM:
            pages = _read_pages(path, reader, n_pages, settings)
        labels = _labels(reader, n_pages)
        outline = bookmarks(reader, errors)
        information = _information(reader)
        fields, embedded = _beside(reader)
    if not any(pages.lines):
        if pages.lost:
            raise Unreadable("not a readable PDF", f"{pages.lost[0].reason}: {pages.lost[0].detail}")
        raise Unreadable(
            "no text", f"{n_pages} {'page' if n_pages == 1 else 'pages'} without a text layer; run OCR first"
        )
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
    each page, and `lines_led_to` the lines at their target pages and heights.
    """

    lines: list[list[str]]
    code: list[dict[str, list[str]]]
    links: list[list[PageLink]]
    lines_led_to: dict[tuple[int, float], str] = field(default_factory=dict)
    title: str = ""
    lost: list[Lost] = field(default_factory=list)
    images: list[int] = field(default_factory=list)

    @property
    def listings(self) -> list[dict[str, list[str]]] | None:
        """The lines of code, by page; None if most of the text is in such a font: it was typed, and is not code."""
        coded = sum(len(printed) for page in self.code for printed in page.values())
        is_typed = 2 * coded > sum(map(len, self.lines))
        return None if is_typed else self.code


class _TooMuch(MemoryError):
    """The pages exceed the budget. Of all exceptions in a form, pypdf passes on only memory errors."""


def _errors() -> tuple[type[Exception], ...]:
    """Return the exceptions of pypdf for damaged files: its own, and those that damaged values cause."""
    from pypdf.errors import PyPdfError

    return (
        PyPdfError,
        ValueError,
        TypeError,
        AttributeError,
        LookupError,
        ArithmeticError,
        AssertionError,
        RecursionError,
        NotImplementedError,
        EOFError,
        zlib.error,
        struct.error,
    )


def _read_pages(path: Path, reader: "PdfReader", n_pages: int, settings: InputSettings) -> _Pages:
    from pypdfium2 import PdfDocument, PdfiumError

    found = _Pages(
        lines=[[] for _ in range(n_pages)], code=[{} for _ in range(n_pages)], links=[[] for _ in range(n_pages)]
    )
    characters = 0
    budget = _Budget()
    try:
        document = PdfDocument(path)
    except PdfiumError as error:
        raise Unreadable("not a readable PDF", _line(error)) from error
    with closing(document):
        for number in range(n_pages):
            try:
                page = reader.pages[number]
                budget.spend(budget.of_page(page))
                found.lines[number] = lines_of(clean(_text(document, number, found)))
                if not found.lines[number] and _has_image(page):
                    found.images.append(number)
            except _TooMuch:
                rest = f"page {number + 1}" if number + 1 == n_pages else f"pages {number + 1} to {n_pages}"
                found.lost.append(Lost(None, f"{rest} not read", "what comes before takes too much work"))
                return found
            except (*_errors(), PdfiumError) as error:
                budget.left -= _OPERATIONS_A_FAILURE
                found.lost.append(Lost(None, f"page {number + 1} cannot be read", _line(error)))
            characters += sum(map(len, found.lines[number])) + len(found.lines[number])
            if characters > settings.max_characters + 1:
                raise too_long(settings)
        _note_lines_led_to(document, found)
    return found


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
    with closing(document[number]) as page, closing(page.get_textpage()) as text:
        said = in_logical_order(text, text.get_text_range())
        fonts = PageFonts(text, said)
        pages.code[number] = fonts.code()
        pages.links[number] = links_on(document, page, text)
        if number == 0:
            pages.title = fonts.title()
        return in_reading_order(text, said).replace(_DIVIDES, "-\n")


class _Budget:
    """The remaining drawing operations."""

    def __init__(self) -> None:
        self.left = MAX_OPERATIONS
        self._fonts: dict[int, tuple[object, int]] = {}  # by identity, valid while the font is referenced
        self._forms: dict[int, tuple[object, int]] = {}

    def of_page(self, page: "PageObject") -> int:
        """Return the cost of drawing a page, including its forms."""
        contents = page.get_contents()
        return self._of(page, contents.get_data() if contents is not None else b"", _DEEPEST_FORM)

    def _of(self, holder: Any, content: bytes, deep: int) -> int:  # noqa: ANN401  (a page or a form)
        """Return the cost of a page's or a form's content: a form counts as often as it is drawn."""
        cost = _OPERATIONS_A_PAGE + len(content) // _BYTES_AN_OPERATION + self.of_fonts(holder)
        drawn = dict(_drawn(holder)) if (times := Counter(_DRAWS.findall(content))) and deep else {}
        for name, form in drawn.items():
            number = times[name.removeprefix("/").encode("latin-1", "replace")]
            if not number or form.get("/Subtype") != "/Form":
                continue
            if id(form) not in self._forms:
                self._forms[id(form)] = (form, 0)  # while it is examined: it may draw itself
                self._forms[id(form)] = (form, self._of(form, form.get_data(), deep - 1))
            cost += number * (_OPERATIONS_A_FORM + self._forms[id(form)][1])
        return cost

    def of_fonts(self, holder: Any) -> int:  # noqa: ANN401  (a page or a form)
        """Return the cost of the fonts of a page or form: they may be read again for every page and form."""
        cost = 0
        for font in _resources(holder, "/Font").values():
            resolved = font.get_object()
            if id(resolved) not in self._fonts:
                self._fonts[id(resolved)] = (resolved, _font_cost(resolved))
            cost += self._fonts[id(resolved)][1]
        return cost

    def spend(self, cost: int) -> None:
        """Spend operations; raises _TooMuch if none are left."""
        self.left -= cost
        if self.left < 0:
            raise _TooMuch


def _drawn(holder: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401  (a page or a form)
    from pypdf.generic import StreamObject

    drawn = _resources(holder, "/XObject")
    for name in drawn:
        if isinstance(content := drawn[name], StreamObject):
            yield str(name), content


def _resources(holder: Any, kind: str) -> "DictionaryObject":  # noqa: ANN401  (a page or a form)
    from pypdf.generic import DictionaryObject

    every = holder.get("/Resources", DictionaryObject()).get_object()
    found = every.get(kind, DictionaryObject()).get_object()
    return found if isinstance(found, DictionaryObject) else DictionaryObject()


def _font_cost(font: Any) -> int:  # noqa: ANN401  (whatever stands where a font should)
    """Return the cost of reading a font, from the size of its tables and their ranges."""
    from pypdf.generic import ArrayObject, DictionaryObject, StreamObject

    if not isinstance(font, DictionaryObject):
        return _OPERATIONS_A_FONT
    size = entries = 0
    for key in ("/ToUnicode", "/Encoding"):
        table = font.get(key)
        table = table.get_object() if table is not None else None
        if isinstance(table, StreamObject):
            data = table.get_data()
            size += len(data)
            for block in _RANGES.findall(data):
                entries += sum(max(0, int(last, 16) - int(first, 16)) for first, last in _RANGE.findall(block))
    descendants = font.get("/DescendantFonts", ArrayObject()).get_object()
    for name in [font, *(descendants if isinstance(descendants, ArrayObject) else ())]:
        inner = name.get_object()
        for key in ("/W", "/Widths"):
            widths = inner.get(key) if isinstance(inner, DictionaryObject) else None
            widths = widths.get_object() if widths is not None else None
            entries += _widths(widths) if isinstance(widths, ArrayObject) else 0
    return _OPERATIONS_A_FONT + size // _BYTES_AN_OPERATION + min(entries, _MOST_ENTRIES) // 10


def _widths(widths: Sequence[object]) -> int:
    """Return the number of widths in a list: two numbers in a row may be a range of characters."""
    numbers = [width if isinstance(width, int) else 0 for width in widths]
    ranges = sum(max(0, last - first) for first, last in pairwise(numbers))
    return len(numbers) + ranges


def _has_image(page: "PageObject") -> bool:
    return any(item.get("/Subtype") == "/Image" for _, item in _drawn(page))


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
    """Return the filled form fields and the names of embedded files; none if they are damaged."""
    try:
        return filled_fields(reader), embedded_files(reader)
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
    flowing = flow(lists.pages, title_lines(lists.pages, outline), pages.listings)
    starts = flowing.starts
    places = [Place(start, "page", labels[at], 0) for at, start in enumerate(starts) if start is not None]
    places += heading_places(flowing, outline)
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
        },
        tuple(sorted(places, key=lambda place: (place.start, place.kind != "page", place.level))),
        hyperlinks=tuple(sorted(set(links), key=lambda link: (link.start, link.end, link.target, link.kind))),
        anchors=tuple(anchors),
    )


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
