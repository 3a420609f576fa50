"""Read PDF files page by page with PDFium: text, labels, bookmarks, forms and document information.

PDFium places every letter before it forms lines, so words that are separated only by position, as in TeX, stay
separate.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean
from conspectus.pipelines.readers.page_layout import HYPHEN, in_reading_order
from conspectus.pipelines.readers.pdf.lists import Bookmark, without_furniture, without_lists
from conspectus.pipelines.readers.pdf.outline import PageFonts, bookmarks, heading_places, listed_headings, title_lines
from conspectus.pipelines.readers.pdf.unwrap import Flow, flow, in_logical_order, lines_of
from conspectus.pipelines.readers.rows import Lost, Row, listed, sensible_title
from conspectus.pipelines.readers.scans import LONGEST_SIDE, Scan, recognised, why_not, with_confidence
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage

_DATE = re.compile(r"(?:D:)?(\d{4})(?:(\d\d)(\d\d)?)?(?:(\d\d)(\d\d)(\d\d)?)?")
_INFORMATION = {"Title": "title", "Author": "author", "Subject": "subject", "Keywords": "keywords"}


def read_pdf(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the text of a PDF as one row, and `Lost` for pages that cannot be read.

    Pages and bookmarks are places, and without bookmarks the entries of the table of contents. That table and a back-
    of-book index are not text. Filled form fields follow the last page. Pages that show an image without a text layer
    are recognised if OCR is installed; otherwise they are lost, and named, as are embedded files. Raises Unreadable
    for an encrypted file (one with an empty password is read), one without any text, and one that is too damaged.
    """
    from pypdfium2 import PdfDocument, PdfiumError, raw

    try:
        document = PdfDocument(path)
    except PdfiumError as error:
        if error.err_code == raw.FPDF_ERR_PASSWORD:
            raise Unreadable("encrypted", "it opens with a password only") from error
        raise Unreadable("not a readable PDF", _line(error)) from error
    with closing(document):
        document.init_forms()
        n_pages = len(document)
        pages = _read_pages(document, n_pages, settings)
        labels = [_on_a_line(document.get_page_label(page)) or str(page + 1) for page in range(n_pages)]
        outline = list(bookmarks(document))
        information = _information(document)
        embedded = [_on_a_line(document.get_attachment(at).get_name()) for at in range(document.count_attachments())]
    if not any(pages.lines):
        if pages.lost or not n_pages:
            why = f"{pages.lost[0].reason}: {pages.lost[0].detail}" if pages.lost else "it has no pages"
            raise Unreadable("not a readable PDF", why)
        count = f"{n_pages} {'page' if n_pages == 1 else 'pages'} without a text layer"
        raise Unreadable("no text", f"{count}; {why_not(settings) or 'no letters were found on them'}")
    row = _row(pages, labels, outline, information)
    if pages.fields:
        row = replace(row, text="\n\n".join([row.text, "\n".join(pages.fields)]))
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

    `code` maps, for each page, its lines that are in listings to the lines as printed. `scans` has what was recognised
    on pages without a text layer, whose lines are whole paragraphs; `fields` a line "name: value" for each filled form
    field.
    """

    lines: list[list[str]]
    code: list[dict[str, list[str]]]
    title: str = ""
    lost: list[Lost] = field(default_factory=list)
    images: list[int] = field(default_factory=list)
    scans: dict[int, Scan] = field(default_factory=dict)
    fields: dict[str, None] = field(default_factory=dict)

    @property
    def listings(self) -> list[dict[str, list[str]]] | None:
        """The lines of code, by page; None if most of the text is in such a font: it was typed, and is not code."""
        coded = sum(len(printed) for page in self.code for printed in page.values())
        is_typed = 2 * coded > sum(map(len, self.lines))
        return None if is_typed else self.code


def _read_pages(document: "PdfDocument", n_pages: int, settings: InputSettings) -> _Pages:
    from pypdfium2 import PdfiumError

    found = _Pages(lines=[[] for _ in range(n_pages)], code=[{} for _ in range(n_pages)])
    for number in range(n_pages):
        try:
            with closing(document[number]) as page:
                _read_page(document, page, number, found, settings)
        except (PdfiumError, ValueError) as error:
            found.lost.append(Lost(None, f"page {number + 1} cannot be read", _line(error)))
    return found


def _read_page(document: "PdfDocument", page: "PdfPage", number: int, pages: _Pages, settings: InputSettings) -> None:
    """Note what is on a page: its lines, those of code, fields and, on the first one, the title."""
    from pypdfium2 import raw

    with closing(page.get_textpage()) as text:
        said = in_logical_order(text, text.get_text_range())
        fonts = PageFonts(text, said)
        pages.code[number] = fonts.code()
        if number == 0:
            pages.title = fonts.title()
        pages.lines[number] = lines_of(clean(in_reading_order(text, said).replace(HYPHEN, "-\n")))
    pages.fields |= dict.fromkeys(_fields(document, page))
    if not said.strip() and any(page.get_objects(filter=(raw.FPDF_PAGEOBJ_IMAGE,))):
        if why_not(settings):
            pages.images.append(number)
        else:
            _recognise(page, number, pages, settings)


def _recognise(page: "PdfPage", number: int, pages: _Pages, settings: InputSettings) -> None:
    """Read a page that is an image; one without letters is among the images."""
    try:
        scale = min(200 / 72, LONGEST_SIDE / max(page.get_size()))  # 200 dots an inch
        with closing(page.render(scale=scale)) as bitmap:
            scan = pages.scans[number] = recognised(bitmap.to_pil(), settings)
        pages.lines[number] = [text for text, _ in scan.blocks]
    except UnknownFormat:
        pages.images.append(number)
    except Unreadable as error:
        pages.lost.append(Lost(None, f"page {number + 1}: {error.reason}", error.detail))


def _fields(document: "PdfDocument", page: "PdfPage") -> Iterator[str]:
    """Yield a line "name: value" for each filled form field of a page."""
    from pypdfium2 import raw

    form = document.formenv
    for at in range(raw.FPDFPage_GetAnnotCount(page) if form else 0):
        field = raw.FPDFPage_GetAnnot(page, at)
        if raw.FPDFAnnot_GetFormFieldType(form, field) in _WITH_TEXT:
            title = _said(raw.FPDFAnnot_GetFormFieldAlternateName, form, field)
            name = title or _said(raw.FPDFAnnot_GetFormFieldName, form, field)
            if value := _said(raw.FPDFAnnot_GetFormFieldValue, form, field):
                yield f"{name}: {value}"
        raw.FPDFPage_CloseAnnot(field)


_WITH_TEXT = (4, 5, 6)
"""PDFium's kinds of form fields that are a combo box, a list box or a text."""


def _said(ask: Any, *of: Any) -> str:  # noqa: ANN401  (a function of PDFium and its arguments)
    """Return a text that PDFium writes into a buffer, on one line."""
    size = ask(*of, None, 0)
    buffer = (ctypes.c_ushort * (size // 2 + 1))()
    ask(*of, buffer, size)
    return _on_a_line(bytes(buffer)[: max(size - 2, 0)].decode("utf-16-le", "replace"))


def _on_a_line(text: str) -> str:
    return " ".join(clean(text).split())


def _information(document: "PdfDocument") -> Mapping[str, str]:
    from pypdfium2 import raw

    told = document.get_metadata_dict()
    named = {ours: told[theirs] for theirs, ours in _INFORMATION.items()}
    named |= {"created": _date(told["CreationDate"]), "modified": _date(told["ModDate"])}
    named["language"] = _said(raw.FPDFCatalog_GetLanguage, document)
    return {name: text for name, value in named.items() if (text := _on_a_line(value))}


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
    lines, contents = without_lists(without_furniture(pages.lines, labels, title_lines(pages.lines, outline)))
    outline = outline or listed_headings(lines, contents)
    apart = title_lines(lines, outline)
    for number, scan in pages.scans.items():
        apart[number] = {*apart[number], *(text for text, _ in scan.blocks)}
    flowing = flow(lines, apart, pages.listings)
    starts = flowing.starts
    places = [Place(start, "page", labels[at], 0) for at, start in enumerate(starts) if start is not None]
    places += heading_places(flowing, outline)
    places += [place for number, scan in pages.scans.items() for place in _areas(flowing, number, scan)]
    places.sort(key=lambda place: (place.start, place.kind != "page", place.level))
    title = sensible_title(information.get("title")) or pages.title or None
    metadata = {name: value for name, value in information.items() if name != "title"}
    metadata |= {"pages": str(len(pages.lines))}
    metadata |= with_confidence({labels[number]: scan.confidence for number, scan in pages.scans.items()})
    return Row(None, None, title, flowing.text, metadata, tuple(places))


def _areas(flowing: Flow, number: int, scan: Scan) -> Iterator[Place]:
    """Yield the places of what was recognised on a page, apart from page numbers and the like, which are left out."""
    at, end = flowing.span(number) or (0, 0)
    for text, area in scan.blocks:
        found = flowing.text.find(text, at, end)
        if found >= 0:
            yield Place(found, "area", area, 0)
            at = found + len(text)


def _line(error: BaseException) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]
