"""The links of a PDF, its outline (bookmarks, else its table of contents, else numbered headings), and index terms.

PDFium returns the rectangle and the target of each link. The words are those within the rectangle; the place is the
line at the target height.
"""

import ctypes
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.pdf.lists import ListPages, numbered_headings, printed_numbers
from conspectus.pipelines.readers.pdf.unwrap import Flow, lines_of
from conspectus.pipelines.readers.rows import as_title
from conspectus.storage.records import Anchor, Hyperlink, Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfPage, PdfTextPage

_NUMBERED = re.compile(r"(?:[\dA-Z]{1,3}(?:\.\d{1,3}){0,5}\.? |(?:chapter|appendix) \w+[.:]? )", re.I)
"""Text that may precede a title on its page without being part of the bookmark."""

_QUALIFIED = re.compile(r",| \(")
"""Text after the word itself in a term of an index: "arrays, indexed", "abort (C-g)"."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A heading and its page, from 0; `level` is its depth, from 1."""

    title: str
    page: int
    level: int


def bookmarks(document: "PdfDocument") -> Iterator[Bookmark]:
    """Yield the bookmarks with a target page, in order."""
    for entry in document.get_toc():
        target = entry.get_dest()
        page, title = target.get_index() if target else None, as_title(entry.get_title())
        if page is not None and page >= 0 and title:
            yield Bookmark(title, page, entry.level + 1)


def title_lines(pages: Sequence[Sequence[str]], outline: Sequence[Bookmark]) -> list[set[str]]:
    """Return, by page, the lines that are the title of a bookmark, with or without a number before it."""
    titles: dict[int, set[str]] = {}
    for bookmark in outline:
        titles.setdefault(bookmark.page, set()).add(bookmark.title.casefold())
    return [
        {
            line
            for line in (lines if at in titles else ())
            if {line.casefold(), _NUMBERED.sub("", line, count=1).casefold()} & titles[at]
        }
        for at, lines in enumerate(pages)
    ]


def page_numbers(pages: Sequence[Sequence[str]], labels: Sequence[str]) -> dict[str, int]:
    """Return the pages by the labels used in contents and indexes: the file's, or the printed page numbers."""
    plain = [str(number + 1) for number in range(len(pages))]
    said = (printed_numbers(pages) if list(labels) == plain else []) or labels
    return {label: at for at, label in reversed(list(enumerate(said)))}


def listed_headings(lists: ListPages) -> list[Bookmark]:
    """Return bookmarks for the entries of the table of contents that are separate lines on a later page.

    Without such a table, for lines with consecutive numbers ("2.1 Title").
    """
    where: dict[str, list[int]] = {}
    for number, page in enumerate(lists.pages):
        for line in page:
            where.setdefault(line.casefold(), []).append(number)
    found: list[Bookmark] = []
    at = 0
    for entry in lists.contents:
        line = entry.title.casefold()
        pages = where.get(line) or where.get(_NUMBERED.sub("", line, count=1)) or []
        following = next((page for page in pages if page >= at), None)
        if following is not None:
            at = following
            found.append(Bookmark(entry.title, at, entry.level))
    return found or [Bookmark(entry.title, page, entry.level) for page, entry in numbered_headings(lists.pages)]


def heading_places(flowing: Flow, outline: Sequence[Bookmark]) -> Iterator[Place]:
    """Yield the bookmarks at their titles on the page or, if the title is not found, at the beginning of the page."""
    ends = flowing.ends
    text, starts = flowing.text, flowing.starts
    reached: dict[int, int] = {}
    for bookmark in outline:
        start = starts[bookmark.page] if bookmark.page < len(starts) else None
        if start is None:
            continue
        begin, end = reached.get(bookmark.page, start), ends[bookmark.page]
        found = _title_pattern(bookmark.title).search(text, begin, end)
        if found:
            reached[bookmark.page] = found.end()
        yield Place(found.start() if found else start, "heading", bookmark.title, bookmark.level)


def _title_pattern(title: str) -> re.Pattern[str]:
    """Return a pattern for a title at the beginning of a line, with any spacing and numbering."""
    words = r"\s+".join(map(re.escape, title.split()))
    return re.compile(rf"^(?:{_NUMBERED.pattern})?{words}(?!\w)", re.I | re.M)


def index_links(flowing: Flow, terms: Sequence[tuple[str, str]], numbers: Mapping[str, int]) -> Iterator[Hyperlink]:
    """Yield a link "index" for each term of the index, at its first occurrence on the page that the index names."""
    ends = flowing.ends
    folded = flowing.text.casefold()
    if len(folded) != len(flowing.text):  # the case-folded form of a few letters is longer
        folded = flowing.text.lower() if len(flowing.text.lower()) == len(flowing.text) else flowing.text
    for term, label in terms:
        page = numbers.get(label)
        start = flowing.starts[page] if page is not None else None
        if page is None or start is None:
            continue
        for words in dict.fromkeys((term, _QUALIFIED.split(term)[0])):
            at = folded.find(words.casefold(), start, ends[page]) if len(words) > 1 else -1
            if at >= 0:
                yield Hyperlink(at, at + len(words), "#", kind="index")
                break


_LONGEST_ADDRESS = 2_000
_BELOW = 30.0
"""Maximum points between the target height of a link and the beginning of its line below."""


@dataclass(frozen=True, slots=True)
class PageLink:
    """A link on a page: its words, and its target page (from 0) and height, or an address."""

    text: str
    page: int
    top: float | None
    address: str


def links_on(document: "PdfDocument", page: "PdfPage", text: "PdfTextPage") -> list[PageLink]:
    """Return the links of a page whose words can be read."""
    from pypdfium2 import raw

    found: list[PageLink] = []
    position, link, rectangle = ctypes.c_int(0), raw.FPDF_LINK(), raw.FS_RECTF()
    while raw.FPDFLink_Enumerate(page, ctypes.byref(position), ctypes.byref(link)):
        if not raw.FPDFLink_GetAnnotRect(link, ctypes.byref(rectangle)):
            continue
        said = text.get_text_bounded(rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        words = " ".join(lines_of(clean(said)))
        led = _leads_to(document, link) if words else None
        if led is not None:
            found.append(PageLink(words, *led))
    return found


def _leads_to(document: "PdfDocument", link: Any) -> tuple[int, float | None, str] | None:  # noqa: ANN401  (PDFium's)
    """Return the target page and height of a link, or -1, None and an address; None if it has no target."""
    from pypdfium2 import raw

    action = raw.FPDFLink_GetAction(link)
    place = raw.FPDFLink_GetDest(document, link) or (action and raw.FPDFAction_GetDest(document, action))
    if place:
        page = raw.FPDFDest_GetDestPageIndex(document, place)
        has = [ctypes.pointer(ctypes.c_int()) for _ in range(3)]
        at = [ctypes.pointer(ctypes.c_float()) for _ in range(3)]
        told = raw.FPDFDest_GetLocationInPage(place, *has, *at)
        return (page, at[1].contents.value if told and has[1].contents.value else None, "") if page >= 0 else None
    length = raw.FPDFAction_GetURIPath(document, action, None, 0) if action else 0
    if not 1 < length <= _LONGEST_ADDRESS:
        return None
    address = ctypes.create_string_buffer(length)
    raw.FPDFAction_GetURIPath(document, action, address, length)
    return -1, None, clean(address.value.decode("utf-8", "replace"))


def line_at(text: "PdfTextPage", height: float) -> str:
    """Return the line of a page at a height, or below it; "" if there is none."""
    said = text.get_text_bounded(None, height - _BELOW, None, height)
    return next(iter(lines_of(clean(said))), "")


def placed(
    links: Sequence[Sequence[PageLink]], lines: Mapping[tuple[int, float], str], flowing: Flow
) -> tuple[list[Hyperlink], list[Anchor]]:
    """Return the links of each page at their words in the text of all, and the anchors that they target.

    `lines` are those at each page and height that links target.
    """
    ends = flowing.ends
    made: list[Hyperlink] = []
    anchors: dict[str, Anchor] = {}
    for number, on_page in enumerate(links):
        start = flowing.starts[number]
        for link in on_page if start is not None else ():
            at = flowing.text.find(link.text, start, ends[number])
            if at < 0:
                continue
            target = link.address or _anchor(link, lines, flowing, anchors)
            if target:
                made.append(Hyperlink(at, at + len(link.text), target))
                start = at + len(link.text)
    return made, sorted(anchors.values(), key=lambda anchor: (anchor.start, anchor.id))


def _anchor(link: PageLink, lines: Mapping[tuple[int, float], str], flowing: Flow, anchors: dict[str, Anchor]) -> str:
    """Return the address of a link's target place within the text, and add its anchor; "" without a place."""
    start = flowing.starts[link.page] if link.page < len(flowing.starts) else None
    if start is None:
        return ""
    line = lines.get((link.page, link.top), "") if link.top is not None else ""
    at = flowing.text.find(line, start, flowing.ends[link.page]) if line else -1
    at = at if at >= 0 else start
    anchors[f"at-{at}"] = Anchor(at, f"at-{at}")
    return f"#at-{at}"
