"""The outline of a PDF: bookmarks, else its table of contents, else numbered headings; and the terms of its index."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.pdf.lists import ListPages, numbered_headings
from conspectus.pipelines.readers.pdf.page_headers import printed_numbers
from conspectus.pipelines.readers.pdf.unwrap import Flow
from conspectus.pipelines.readers.rows import as_title
from conspectus.storage.records import Hyperlink, Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument

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
