"""Find the lines of a PDF that are not its text: running headers and footers, tables of contents and indexes.

Tables of contents and back-of-book indexes are lists with page references. They repeat words without making statements.
The titles of tables of contents are headings, if the file has no bookmarks.

A list begins at a line that is its title ("Contents", "Concept Index"), or if five consecutive lines have dot leaders.
It continues, across pages, while at most a few consecutive lines are not entries.
"""

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

import regex
from conspectus.storage.text.language_tables import word_set

Page = Sequence[str]
"""The lines of a page, none empty, stripped and with single blanks."""

_FEWEST_PAGES = 4
_FEWEST_LINES = 8
"""On a page with fewer lines one line at the top and bottom can be a header or footer, on other pages two."""

_PRINTED = re.compile(r"(?:(\d{1,5}) .*|.* (\d{1,5})|[-–— \[]*(\d{1,5})[-\]–— ]*)$", re.S)
_STOPPED = regex.compile(r"[.!?:;,。！？…][\p{Pe}\p{Pf}\"']*$")
_ANY_LETTER = regex.compile(r"\p{L}")
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
    for numbers in filter(None, (labels, printed_numbers(pages))):
        below = [page[::-1] for page in pages]
        ends = zip(pages, below, numbers, strict=True)
        numbered = sum(any(_has_number(end[0], label) for end in (top, foot) if end) for top, foot, label in ends)
        is_numbered = 2 * numbered > sum(map(bool, pages))
        of_each = kept or [()] * len(pages)
        heads = _furniture(pages, numbers, of_each, is_numbered, at_top=True)
        feet = _furniture(below, numbers, of_each, is_numbered, at_top=False)
        pages = [
            page[head : max(head, len(page) - foot)] or page
            for page, head, foot in zip(pages, heads, feet, strict=True)
        ]
    return list(pages)


def _furniture(
    pages: Sequence[Page], labels: Sequence[str], kept: Sequence[Container[str]], is_numbered: bool, *, at_top: bool
) -> list[int]:
    """Return how many lines at the beginning of each page are headers, or footers of pages whose last line is first."""
    half = sum(map(bool, pages)) / 2
    edges = [page[: 1 if len(page) < _FEWEST_LINES else 2] for page in pages]
    labelled = list(zip(edges, labels, kept, strict=True))
    shapes = Counter(shape for edge, label, _ in labelled for shape in {_shape(line, label) for line in edge})
    words = Counter(_shape(edge[0], label) for edge, label, _ in labelled if edge and _has_number(edge[0], label))
    repeat_words = words.total() > half and 2 * sum(count for count in words.values() if count > 1) > words.total()

    def goes(line: str, label: str, is_outermost: bool) -> bool:
        if _is_number(line, label):
            return is_numbered
        if at_top and _may_be_heading(line, label):
            return False
        if is_outermost and repeat_words and _has_number(line, label):
            return True
        return shapes[_shape(line, label)] > half and not _STOPPED.search(line) and bool(_ANY_LETTER.search(line))

    gone = []
    for edge, label, stay in labelled:
        stays = (at for at, line in enumerate(edge) if line in stay or not goes(line, label, at == 0))
        gone.append(next(stays, len(edge)))
    return gone


def printed_numbers(pages: Sequence[Page]) -> list[str]:
    """Return the page numbers printed on the pages if most pages have consecutive ones; else nothing."""
    shifts: Counter[int] = Counter()
    for at, page in enumerate(pages):
        found = (_PRINTED.match(line) for line in {page[0], page[-1]}) if page else ()
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


_PAGE = r"(?:\d{1,4}|[ivxlcdm]{1,7}|[A-Z]-?\d{1,3})"
_LEADER = re.compile(rf"(?P<title>.*?)[ ]?(?:\.\.\.|(?:\.[ ]?){{2,}})[ ]?(?P<pages>{_PAGE}(?:[,;–-][ ]?{_PAGE})*)$")
_PLAIN = re.compile(rf"(?P<title>\S.*?)[ ](?P<pages>{_PAGE})$")
_TERM = re.compile(rf"(?P<title>\S.*?)(?:,[ ]?|[ ])(?P<pages>{_PAGE}(?:(?:,[ ]?|;[ ]?|[ ]?[–-][ ]?){_PAGE})*)[.,]?$")
_LETTER = re.compile(r"\W{0,2}\w?\W{0,2}|symbols|numbers", re.I)
_SEE = re.compile(r"(?:.*,? )?(?:see(?: also)?|siehe(?: auch)?|voir(?: aussi)?|véase) \S", re.I)
_CONTENTS = word_set("contents")
_INDEX = re.compile(
    r"""(?ix) (?: [\dA-Z]{1,2} (?:\.\d{1,2})* \.?\ )? (?: (?:\w+\ ){0,3} index(?:es)? (?:\ of\ \w+ (?:\ \w+){0,3})?
    | (?:stichwort|sach|namens?|personen)verzeichnis | (?:sach|namens)?register | [ií]ndice\ (?:anal[ií]tico|alfabético)
    | 索引 ) """
)
_NUMBER = re.compile(
    r"(?i)(?:(?:chapter|appendix|part|kapitel|anhang) )?"
    r"(\d{1,3}(?:\.\d{1,3})*|[A-Z](?:\.\d{1,3})*|[IVX]{1,5})\.? (?=\S)"
)
_HEADING = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.? (?=[^\W\d_])(?![a-z])(?!.*[.,;:]$).{2,80}")
_FEWEST = 3
_FEWEST_WITH_LEADERS = 5
_MOST_OTHERS = 4
_SHARE = 0.5
_LONGEST_ENTRY = 200
_MOST_PAGES_BEFORE = 50
"""Pages that may be missing before the first page of a file."""


@dataclass(frozen=True, slots=True)
class Bookmark:
    """A heading and its page, from 0; `level` is its depth, from 1."""

    title: str
    page: int
    level: int


def without_lists(pages: Sequence[Page]) -> tuple[Sequence[Page], list[str]]:
    """Return the pages without tables of contents and indexes, and the titles in these tables.

    Dot leaders of the pages are shortened to three dots between blanks.
    """
    lines = [(number, line) for number, page in enumerate(pages) for line in page]
    contents: list[str] = []
    gone: set[int] = set()
    at = 0
    while at < len(lines):
        is_index = _begins(lines, at, len(pages))
        end, entries = _list_at(lines, at, is_index, len(pages)) if is_index is not None else (at, [])
        if is_index is None or not entries:
            at += 1
            continue
        gone.update(range(at, end))
        if not is_index:
            contents += [title for title, _ in entries]
        at = end
    left = iter(range(len(lines)))
    kept = [[line for line in page if next(left) not in gone] for page in pages]
    return (kept, contents) if any(kept) else (pages, [])


def numbered_headings(pages: Sequence[Page]) -> list[Bookmark]:
    """Return bookmarks for lines "2.1 Title" with consecutive numbers from 1 on; nothing if they are few.

    They are the headings of a document that has neither bookmarks nor a table of contents.
    """
    found: list[Bookmark] = []
    last: tuple[int, ...] = ()
    for number, page in enumerate(pages):
        for line in page:
            heading = _HEADING.fullmatch(line)
            if heading is None:
                continue
            parts = tuple(map(int, heading[1].split(".")))
            successors = {(*last[:depth], last[depth] + 1) for depth in range(len(last))} | {(*last, 1)}
            if parts in successors:
                last = parts
                found.append(Bookmark(line, number, len(parts)))
    return found if sum(entry.level == 1 for entry in found) >= _FEWEST else []


def _begins(lines: Sequence[tuple[int, str]], at: int, n_pages: int) -> bool | None:
    """Return whether an index (True) or a table of contents (False) begins at a line; None for neither."""
    number, line = lines[at]
    if _is_title(line, False) and number <= max(30, n_pages // 2):
        return False
    if _is_title(line, True) and number >= n_pages // 2:
        return True
    following = lines[at : at + _FEWEST_WITH_LEADERS]
    if len(following) == _FEWEST_WITH_LEADERS and all(_LEADER.match(each) for _, each in following):
        return number >= 0.7 * n_pages
    return None


def _is_title(line: str, is_index: bool) -> bool:
    title = line.strip(" .:")
    return _INDEX.fullmatch(title) is not None if is_index else title.casefold() in _CONTENTS


def _list_at(
    lines: Sequence[tuple[int, str]], at: int, is_index: bool, n_pages: int
) -> tuple[int, list[tuple[str, list[str]]]]:
    """Return the end of the list that begins at a line, and its entries; no entries if it is not a list."""
    entries: list[tuple[str, list[str]]] = []
    end = begin = at + _is_title(lines[at][1], is_index)
    others = counted = last = 0
    before = ""
    for number in range(begin, len(lines)):
        page, line = lines[number]
        if number > begin and page != lines[number - 1][0] and not _goes_on(lines, number, is_index, n_pages):
            break
        entry = _entry(line, is_index, n_pages)
        if entry and not is_index and entry[1][0].isdecimal():
            entry, last = (None, last) if int(entry[1][0]) < last else (entry, int(entry[1][0]))
        if entry is not None:
            whole = f"{before} {entry[0]}".strip()
            entries.append((whole if len(whole) <= _LONGEST_ENTRY else entry[0], entry[1]))
            end, others, counted, before = number + 1, 0, counted + 1, ""
        elif _is_title(line, is_index) or (is_index and (_LETTER.fullmatch(line) or _SEE.fullmatch(line))):
            end, before, last = number + 1, "", 0
        else:
            others += 1
            before = line if not is_index and others == 1 and not line.endswith((".", ":")) else ""
            if others > _MOST_OTHERS or len(line) > _LONGEST_ENTRY:
                break
    if counted < _FEWEST or counted < _SHARE * (end - begin):
        return at, []
    return end, entries


def _goes_on(lines: Sequence[tuple[int, str]], at: int, is_index: bool, n_pages: int) -> bool:
    """Return whether a list continues at the top of a page: most lines there are entries, or letters of an index."""
    page = lines[at][0]
    first = [line for number, line in lines[at : at + 5] if number == page]
    entries = sum(bool(_entry(line, is_index, n_pages) or (is_index and _LETTER.fullmatch(line))) for line in first)
    return 2 * entries > len(first)


def _entry(line: str, is_index: bool, n_pages: int) -> tuple[str, list[str]] | None:
    """Return title and page labels of an entry; None for another line."""
    found = _LEADER.match(line) or (_TERM if is_index else _PLAIN).match(line)
    if found is None or len(line) > _LONGEST_ENTRY:
        return None
    labels = re.split(r"[,;–-] ?", found["pages"].replace(" ", ""))
    if any(label.isdecimal() and int(label) > n_pages + _MOST_PAGES_BEFORE for label in labels):
        return None  # a year, or a number of a table
    return found["title"].strip(" .,"), labels


def level_of(title: str) -> int:
    """Return the depth of a heading that its number shows, 1 without a number."""
    number = _NUMBER.match(title)
    return number[1].count(".") + 1 if number else 1
