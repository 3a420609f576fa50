"""Remove running headers and footers and page numbers from the pages of a document."""

import re
from collections import Counter
from collections.abc import Container, Sequence

import regex

Page = Sequence[str]
"""The lines of a page, none empty, stripped and with single blanks."""

_FEWEST_PAGES = 4
_FEWEST_LINES = 8
"""On a page with fewer lines one line at the top and bottom can be a header or footer, on other pages two."""

_NUMBER = re.compile(r"(?:(\d{1,5}) .*|.* (\d{1,5})|[-–— \[]*(\d{1,5})[-\]–— ]*)$", re.S)
_STOPPED = regex.compile(r"[.!?:;,。！？…][\p{Pe}\p{Pf}\"']*$")
_LETTER = regex.compile(r"\p{L}")
_ONE_WORD = regex.compile(r"\p{L}+[.:]?")
_PAGE_WORDS = frozenset("page p pg seite s página pagina pág pag strona str sida side sivu blad страница стр".split())


def without_furniture(
    pages: Sequence[Page], labels: Sequence[str], kept: Sequence[Container[str]] | None = None
) -> list[Page]:
    """Return the pages without headers, footers and page numbers.

    Three kinds of lines at the top or bottom of a page are removed: a line that, apart from the page number, occurs on
    more than half of the pages and does not end like a sentence; the page number itself, if most pages have one at an
    edge; and an outermost line that begins or ends with the page number, if most pages have such a line on that side
    and most of these lines repeat their words. The page number is the page's label, or the printed one if it increases
    by one per page. Documents of fewer than four pages are unchanged, as are lines in `kept` (by page), a word and the
    number at the top ("Question 7"), which may be a heading, and pages that would lose all their lines.
    """
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    for numbers in (labels, printed_numbers(pages)):
        if numbers:
            pages = _trimmed_all(pages, numbers, kept or [()] * len(pages))
    return list(pages)


def _trimmed_all(pages: Sequence[Page], labels: Sequence[str], kept: Sequence[Container[str]]) -> list[Page]:
    labelled = list(zip(pages, labels, strict=True))
    half = sum(map(bool, pages)) / 2
    sides = (_Side(labelled, 0), _Side(labelled, -1))
    numbered = sum(any(_has_number(page[side.outermost], label) for side in sides) for page, label in labelled if page)
    return [
        _trimmed(page, label, sides, half, numbered > half, stay) or page
        for (page, label), stay in zip(labelled, kept, strict=True)
    ]


class _Side:
    """The top or the bottom of all pages: the lines there and their frequencies."""

    def __init__(self, labelled: Sequence[tuple[Page, str]], outermost: int) -> None:
        self.outermost = outermost
        self._shapes: Counter[str] = Counter()
        words: Counter[str] = Counter()
        for page, label in labelled:
            depth = _depth(page)
            edge = page[:depth] if outermost == 0 else page[-depth:]
            self._shapes.update({_shape(line, label) for line in edge})
            if page and _has_number(page[outermost], label):
                words[_shape(page[outermost], label)] += 1
        self._numbered = words.total()
        self._repeat_words = 2 * sum(count for count in words.values() if count > 1) > self._numbered

    def is_furniture(self, line: str, label: str, outermost: bool, half: float) -> bool:
        if self.outermost == 0 and _may_be_heading(line, label):
            return False
        if outermost and self._numbered > half and self._repeat_words and _has_number(line, label):
            return True
        return self._shapes[_shape(line, label)] > half and not _STOPPED.search(line) and bool(_LETTER.search(line))


def _depth(page: Page) -> int:
    return 1 if len(page) < _FEWEST_LINES else 2


def _trimmed(
    page: Page, label: str, sides: tuple[_Side, _Side], half: float, numbered: bool, kept: Container[str]
) -> Page:
    def goes(side: _Side, line: str, outermost: bool) -> bool:
        if line in kept:
            return False
        return numbered if _is_number(line, label) else side.is_furniture(line, label, outermost, half)

    depth = _depth(page)
    first, last = 0, len(page)
    while first < min(depth, last) and goes(sides[0], page[first], first == 0):
        first += 1
    while last > max(first, len(page) - depth) and goes(sides[1], page[last - 1], last == len(page)):
        last -= 1
    return page[first:last]


def printed_numbers(pages: Sequence[Page]) -> list[str]:
    """Return the page numbers printed on the pages if most pages have consecutive ones; else nothing."""
    shifts: Counter[int] = Counter()
    for at, page in enumerate(pages):
        found = (_NUMBER.match(line) for line in {page[0], page[-1]}) if page else ()
        shifts.update({int(next(filter(None, item.groups()))) - at for item in found if item})
    shift, count = shifts.most_common(1)[0] if shifts else (0, 0)
    return [str(at + shift) for at in range(len(pages))] if count > sum(map(bool, pages)) / 2 else []


def _shape(line: str, label: str) -> str:
    return re.sub(rf"(?<!\w){re.escape(label)}(?!\w)", "\0", line, count=1)


def _may_be_heading(line: str, label: str) -> bool:
    """Return whether a line is a word and the page number, and the word does not mean page."""
    word, _, number = line.rpartition(" ")
    return number == label and bool(_ONE_WORD.fullmatch(word)) and word.strip(".:").casefold() not in _PAGE_WORDS


def _is_number(line: str, label: str) -> bool:
    return line.strip("-–— []|") == label


def _has_number(line: str, label: str) -> bool:
    return _is_number(line, label) or line.startswith(f"{label} ") or line.endswith(f" {label}")
