"""What PDFium says beside the text of pages: fonts, and the outline of the file.

The outline is the bookmarks, else the table of contents, else numbered headings. The largest lines of a page are its
title, lines in a monospaced font are code; PDFium returns the font of each character, and only a few of each line are
queried.
"""

import ctypes
import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

import regex
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.pdf.lists import Bookmark, level_of, numbered_headings
from conspectus.pipelines.readers.pdf.unwrap import Flow, lines_of
from conspectus.pipelines.readers.rows import as_title
from conspectus.storage.records import Place

if TYPE_CHECKING:
    from pypdfium2 import PdfDocument, PdfTextPage

_BREAK = "\r\n"
_NO_SIGN = " \t\r\n\0\xa0"
_ASKED = 5
"""Number of characters of a line whose fonts are queried."""
_FEWEST_OF_CODE = 2
"""Minimum number of lines of a listing; a lone line may be a term, or a name in running text."""
_MONOSPACED = regex.compile(
    r"mono|nimbusmon|courier|typewriter|consol|menlo|fixed|lettergothic|teletype|inconsolata|andale|code"
    r"|(?:cm|lm|sf|ec)(?:sl|it)?tt",
    regex.I,
)
_FIXED_PITCH = 1
_MOST_BLANKS = 40
_LARGER = 1.2
"""Minimum ratio of the title's height to that of most lines of its page."""
_FIRST_LINES = 8
"""Number of lines within which the title begins."""
_LONGEST_TITLE = 150
_LETTERS = regex.compile(r"\p{L}{2}")


class _Line(NamedTuple):
    """A line of a page, and the positions of some of its characters on the page, from the first to the last."""

    text: str
    asked: list[int]


class PageFonts:
    """The fonts of the lines of a page that is open; its `text` has line breaks as PDFium writes them."""

    def __init__(self, page: "PdfTextPage", text: str) -> None:
        self._page = page
        self._lines: list[_Line] = []
        start = 0
        for line in _by_position(page, text).split(_BREAK):
            seen = [start + at for at, sign in enumerate(line) if sign not in _NO_SIGN]
            steps = min(_ASKED, len(seen))
            asked = [seen[round(step * (len(seen) - 1) / max(steps - 1, 1))] for step in range(steps)]
            self._lines += [_Line(line.replace("\0", ""), asked)] if asked else []
            start += len(line) + len(_BREAK)

    def code(self) -> dict[str, list[str]]:
        """Return the lines of listings, indented as printed, by their form as lines of text (`lines_of`).

        A line that is printed several times occurs as often, in order.
        """
        found: dict[str, list[str]] = {}
        for is_code, lines in groupby(self._lines, key=lambda line: all(map(self._is_monospaced, line.asked))):
            if is_code and len(run := list(lines)) >= _FEWEST_OF_CODE:
                for line_of_text, printed in self._indented(run):
                    found.setdefault(line_of_text, []).append(printed)
        return found

    def title(self) -> str:
        """Return the largest lines at the top of the page; "" if none is larger than most."""
        heights = [median(self._box(at)[1] for at in line.asked) for line in self._lines]
        if len(heights) < 2:
            return ""
        top = max(heights[:_FIRST_LINES])
        if top < _LARGER * median(heights):
            return ""
        first = heights.index(top)
        last = first
        while last + 1 < len(heights) and heights[last + 1] >= 0.95 * top:
            last += 1
        said = " ".join(line.text.strip() for line in self._lines[first : last + 1])
        title = as_title(" ".join(lines_of(clean(said)))) or ""
        return title if _LETTERS.search(title) and len(title) <= _LONGEST_TITLE else ""

    def _is_monospaced(self, at: int) -> bool:
        from pypdfium2 import raw

        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        raw.FPDFText_GetFontInfo(self._page, at, name, 128, ctypes.byref(flags))
        return bool(flags.value & _FIXED_PITCH) or _MONOSPACED.search(name.value.decode("utf-8", "replace")) is not None

    def _indented(self, run: Sequence[_Line]) -> Iterator[tuple[str, str]]:
        """Yield the lines of a listing, indented by blanks that span their distance from the leftmost one."""
        lefts = [self._box(line.asked[0])[0] for line in run]
        spans = [(self._box(line.asked[-1])[0] - left, line.asked) for line, left in zip(run, lefts, strict=True)]
        widths = [span / (asked[-1] - asked[0]) for span, asked in spans if span > 0 and len(asked) > 1]
        for line, left in zip(run, lefts, strict=True):
            blanks = round((left - min(lefts)) / median(widths)) if widths else 0
            for plain in lines_of(said := clean(line.text))[:1]:
                yield plain, " " * min(blanks, _MOST_BLANKS) + said.strip()

    def _box(self, at: int) -> tuple[float, float]:
        """Return the left edge and the height of a character, in points."""
        left, bottom, _, top = self._page.get_charbox(at, loose=True)
        return left, top - bottom


def _by_position(page: "PdfTextPage", text: str) -> str:
    """Return the text of a page with one character for each of its positions, NUL for an unreadable one."""
    from pypdfium2 import raw

    count = page.count_chars()
    if len(text) == count:
        return text
    return "".join(chr(raw.FPDFText_GetUnicode(page, at)) for at in range(count))


_NUMBERED = re.compile(r"(?:[\dA-Z]{1,3}(?:\.\d{1,3}){0,5}\.? |(?:chapter|appendix) \w+[.:]? )", re.I)
"""Text that may precede a title on its page without being part of the bookmark."""


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


def listed_headings(pages: Sequence[Sequence[str]], contents: Sequence[str]) -> list[Bookmark]:
    """Return bookmarks for the entries of the table of contents that are separate lines on a later page.

    Without such a table, for lines with consecutive numbers ("2.1 Title").
    """
    where: dict[str, list[int]] = {}
    for number, page in enumerate(pages):
        for line in page:
            where.setdefault(line.casefold(), []).append(number)
    found: list[Bookmark] = []
    at = 0
    for title in contents:
        line = title.casefold()
        numbers = where.get(line) or where.get(_NUMBERED.sub("", line, count=1)) or []
        following = next((number for number in numbers if number >= at), None)
        if following is not None:
            at = following
            found.append(Bookmark(title, at, level_of(title)))
    return found or numbered_headings(pages)


def heading_places(flowing: Flow, outline: Sequence[Bookmark]) -> Iterator[Place]:
    """Yield the bookmarks at their titles on the page or, if the title is not found, at the beginning of the page."""
    reached: dict[int, int] = {}
    for bookmark in outline:
        if (span := flowing.span(bookmark.page)) is None:
            continue
        words = r"\s+".join(map(re.escape, bookmark.title.split()))
        title = re.compile(rf"^(?:{_NUMBERED.pattern})?{words}(?!\w)", re.I | re.M)
        found = title.search(flowing.text, reached.get(bookmark.page, span[0]), span[1])
        if found:
            reached[bookmark.page] = found.end()
        yield Place(found.start() if found else span[0], "heading", bookmark.title, bookmark.level)
