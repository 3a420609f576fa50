"""The forms in which language models write citation marks, and the numbers in each.

Asked for [1][3], models write [1, 3], [1-3], 【1†source】, [^1], \\[1\\], [[1]](https://...), [Passage 1], (Source 2),
[Data: Reports (1, 2, +more)], superscripts, <sup>1</sup>, and (1, 3) at the end of a clause. This module is the only
parser of these forms, for streamed answers (`streaming.py`), for the replies of walks and for the numbers in JSON. The
project itself writes [1][3] (`marks.py`).

A mark contains numbers from 1 to 999, so [1984] and [0, 1] are not marks ([0] is one that names nothing). Text in code
is never a mark. The work is linear in the length of the text: a form is searched between a bracket and the next closing
one, at most `LONGEST` characters further.
"""

import re
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from pydantic import BeforeValidator

LONGEST = 300
"""Most characters between the brackets of a mark, and of an address after it."""
_MOST_OF_A_RANGE = 50
"""A longer range yields only its ends."""

_LABELS = (
    r"passages?|sources?|documents?|docs?|reports?|texts?|chunks?|notes?|records?|ref(?:erence)?s?|citations?|"
    r"cit|contexts?|"
    r"evidence|materials?|facts?|paths?|data|points?|entities|relationships?|relations?|claims?|see|"
    r"excerpts?|extracts?|snippets?|ids?|no|№|"
    r"passagen?|quellen?|dokumente?|berichte?|textstellen?|abschnitte?|ausz[uü]ge?|absatz|absätze|siehe|extraits?|rapports?|voir|"
    r"pasajes?|fuentes?|documentos?|informes?|v[ée]ase|fonti?|来源|来源：|出处|参考|文献|资料|引用|段落|文档|报告"
)
_LABEL = rf"(?:(?:{_LABELS})(?:\b|(?=\d)|(?<=№))[\s:：#.]*(?:n[or°º]\.?\s*)?){{0,3}}"
_SEPARATOR = r"(?:[,;，；、&/|–—‑-]|\.{2,3}|…|\band\b|\bund\b|\bet\b|\by\b|\bto\b|\bbis\b)"
_BETWEEN = rf"\s*{_SEPARATOR}(?:\s*{_SEPARATOR})*+\s*"
_LIST = rf"\^?#?\d{{1,3}}\^?(?:{_BETWEEN}(?:{_LABEL})\^?#?\d{{1,3}}\^?)*+"
_PAGE = r"(?:[,:]\s*(?:pp?|pages?|lines?|ll?|s|seiten?)\.?\s*\d{1,4}(?:[–-]\d{1,4})?)?"
_INSIDE = re.compile(
    rf"\s*\^?\s*(?P<label>{_LABEL})(?P<numbers>{_LIST})(?:[,;]?\s*\+\s*more)?{_PAGE}(?::\d{{1,3}})?(?:†[^†]*)?\s*",
    re.IGNORECASE,
)
_GROUPS = re.compile(r"\(\s*(\d{1,6}(?:\s*[,;，、–-]\s*\d{1,6})*+)(?:\s*[,;]?\s*\+?\s*more)?\s*(?:\)|$)", re.IGNORECASE)
_ONLY_LABELS = re.compile(rf"(?:(?:{_LABELS})\b|[\s:：;,.&]|\band\b)*+", re.IGNORECASE)
_PART = re.compile(r"(\d{1,6})\^?(?:\s*(?:[–—‑-]|\.{2,3}|…|\bto\b|\bbis\b)\s*(\d{1,6}))?")
_OPENER = re.compile(r"\\?[\[【(［〔〖]|[¹²³⁰⁴-⁹]|`|<")
_CLOSES = {"[": "]", "【": "】", "(": ")", "［": "］", "〔": "〕", "〖": "〗"}
_TAGS = ("<sup>", "<ref>", "<cite>")
_TAGGED = re.compile(r"<(sup|ref|cite)>\s*(?P<inside>[^<>]{1,60})</\1>", re.IGNORECASE)
_LONGEST_TAGGED = 80
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_RAISED = re.compile(r"[¹²³⁴-⁹][⁰¹²³⁴-⁹]?(?:[⁻˒·,]{1,2}[¹²³⁴-⁹][⁰¹²³⁴-⁹]?)*+")
_BEFORE_RAISED = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?)\]\"”’»。！？])$")
_LOOKED_BACK = 4
_FIRST_DIGIT = {"(": 24, "[": 48}
"""Most characters before the first digit of a mark: anything longer is prose, and need not wait for its end."""
_CLAUSE_ENDS = ".,;:!?。，；：！？"


class CitationMark(NamedTuple):
    """A mark at [start, end) of a text with the white space before it, and its numbers, each once."""

    start: int
    end: int
    space: str
    numbers: tuple[int, ...]


class Forms:
    """Finds the marks of one answer, in order, as the text arrives.

    Args:
        shown: How many sources the model was shown; (1, 3) and superscripts are read only up to this number, and not
            at all if it is not given.
    """

    def __init__(self, shown: int = 0) -> None:
        self._shown = shown
        self._brackets = False
        self._code = ""
        self._tail = ""

    def next(self, text: str, start: int = 0, *, whole: bool) -> tuple[int, CitationMark | None]:
        """Return the offset up to which a text certainly has no mark, and the mark that follows there, if complete.

        Args:
            text: The text received so far.
            start: The offset of the first unread character.
            whole: Whether the text is complete.

        Example:
            >>> Forms().next("So【1†source】.", whole=True)
            (2, CitationMark(start=2, end=12, space='', numbers=(1,)))
            >>> Forms().next("So [1", whole=False)
            (2, None)
        """
        end, mark = self._next(text, start, whole=whole)
        read = mark.end if mark else end
        self._tail = (self._tail + text[max(start, read - _LOOKED_BACK) : read])[-_LOOKED_BACK:]
        return end, mark

    def _next(self, text: str, begin: int, *, whole: bool) -> tuple[int, CitationMark | None]:
        at = begin
        while True:
            if self._code:
                end = self._end_of_code(text, at)
                if end is None:
                    sure = len(text) if len(self._code) == 1 else max(at, len(text) - 2)
                    return len(text) if whole else _before_space(text, at, sure), None
                at, self._code = end, ""
            opener = _OPENER.search(text, at)
            if opener is None:
                return len(text) if whole else _before_space(text, begin, len(text), "\\"), None
            start = opener.start()
            if text[start] == "`":
                if not whole and len(text) - start < 3:
                    return _before_space(text, begin, start), None
                self._code = "```" if text.startswith("```", start) else "`"
                at = start + len(self._code)
                continue
            find = self._tagged if text[start] == "<" else self._mark
            found = find(text, begin, start, opener.group(), whole=whole)
            if found is None:
                return _before_space(text, begin, start), None
            end, numbers = found
            if numbers:
                space = _before_space(text, begin, start)
                return space, CitationMark(space, end, text[space:start], numbers)
            at = end

    def _end_of_code(self, text: str, at: int) -> int | None:
        """Return where the code ends, None if unknown; a code span ends with its line at the latest."""
        if len(self._code) == 3:
            end = text.find(self._code, at)
            return None if end < 0 else end + 3
        ends = [end for end in (text.find("`", at), text.find("\n", at)) if end >= 0]
        return min(ends) + 1 if ends else None

    def _mark(
        self, text: str, begin: int, start: int, opener: str, *, whole: bool
    ) -> tuple[int, tuple[int, ...]] | None:
        """Return the end of the form that opens here, and its numbers (empty if it is no mark); None if undecided."""
        if opener[-1] not in _CLOSES:
            return self._raised(text, begin, start, whole=whole)
        closing = ("\\" if opener[0] == "\\" else "") + _CLOSES[opener[-1]]
        doubled = opener == "[" and text.startswith("[[", start)
        inner = start + len(opener) + doubled
        if opener == "[" and not whole and len(text) == start + 1:
            return None
        if doubled:
            closing = "]]"
        within = _FIRST_DIGIT["(" if opener == "(" else "["]
        if not any(sign.isdigit() for sign in text[inner : inner + within]) and len(text) >= inner + within:
            return start + len(opener), ()
        end = text.find(closing, inner, inner + LONGEST)
        line = text.find("\n", inner, inner + LONGEST)
        if end < 0 or 0 <= line < end:
            if not whole and line < 0 and len(text) < inner + LONGEST:
                return None
            return start + len(opener), ()
        after = end + len(closing)
        if not whole and after == len(text):
            return None  # an address, or the end of a clause, may follow
        numbers = self._parens(text, begin, start, end, after) if opener == "(" else _bracketed(text[inner:end])
        if not numbers:
            return start + len(opener), ()
        if opener != "(":
            self._brackets = True
            link = _address(text, after, whole=whole)
            return None if link is None else (link, numbers)
        return after, numbers

    def _tagged(
        self, text: str, begin: int, start: int, opener: str, *, whole: bool
    ) -> tuple[int, tuple[int, ...]] | None:
        """Return the end and the numbers of <sup>1</sup>, as `_mark`; those of m<sup>2</sup> are none."""
        head = text[start : start + _LONGEST_TAGGED].casefold()
        found = _TAGGED.match(text, start)
        if found is None:
            may_become = any(tag.startswith(head) or head.startswith(tag) for tag in _TAGS)
            return None if may_become and not whole and len(head) < _LONGEST_TAGGED else (start + 1, ())
        numbers = _bracketed(found["inside"].strip().strip("[]"))
        at = _before_space(text, begin, start)
        before = (self._tail + text[max(begin, at - _LOOKED_BACK) : at])[-_LOOKED_BACK:]
        cited = found[1].casefold() != "sup" or "[" in found["inside"] or _BEFORE_RAISED.search(before)
        return (found.end(), numbers) if cited and numbers else (start + len(opener), ())

    def _parens(self, text: str, begin: int, start: int, end: int, after: int) -> tuple[int, ...]:
        """Return the numbers of (1, 3) at the end of a clause; (Source 2) is read anywhere."""
        found = _INSIDE.fullmatch(text, start + 1, end)
        if not found:
            return ()
        numbers = _numbers(found["numbers"])
        if found["label"].strip():
            return numbers
        ends = after == len(text) or text[after] in _CLAUSE_ENDS or text[after] == "\n"
        space = text[_before_space(text, begin, start) : start]
        stands = bool(space) and "\n" not in space
        plausible = ends and stands and not self._brackets and all(0 < number <= self._shown for number in numbers)
        return numbers if plausible else ()

    def _raised(self, text: str, begin: int, start: int, *, whole: bool) -> tuple[int, tuple[int, ...]] | None:
        found = _RAISED.match(text, start)
        if found is None:
            return start + 1, ()
        if not whole and len(text) - found.end() < 2:
            return None
        numbers = tuple(
            dict.fromkeys(int(part) for part in re.split(r"\D+", found[0].translate(_SUPERSCRIPTS)) if part)
        )
        follows = text[found.end() : found.end() + 1]
        before = (self._tail + text[max(begin, start - _LOOKED_BACK) : start])[-_LOOKED_BACK:]
        cited = _BEFORE_RAISED.search(before) and not follows.isalnum()
        return found.end(), numbers if cited and all(number <= self._shown for number in numbers) else ()


def numbers_in(text: str) -> tuple[int, ...]:
    """Return the numbers that a short text cites: "[1, 3]", "Passages 1-2", "3", "Reports (1, 2)".

    >>> numbers_in("[1][3-4]"), numbers_in("Passage 2"), numbers_in("in 1984")
    ((1, 3, 4), (2,), ())
    """
    found = dict.fromkeys(number for mark in marks_in(text) for number in mark.numbers)
    return tuple(found) or _bracketed(text[:LONGEST].strip().strip("()"))


def marks_in(text: str, shown: int = 999) -> Iterator[CitationMark]:
    """Yield the marks of a text, in order."""
    forms, at = Forms(shown), 0
    while True:
        _, mark = forms.next(text, at, whole=True)
        if mark is None:
            return
        yield mark
        at = mark.end


def _bracketed(inside: str) -> tuple[int, ...]:
    """Return the numbers between two brackets, empty if there is other text too."""
    found = _INSIDE.fullmatch(inside)
    if found:
        return _numbers(found["numbers"])
    groups = _GROUPS.findall(inside)
    if groups and _ONLY_LABELS.fullmatch(_GROUPS.sub("", inside)):
        return _numbers(" , ".join(groups), most=999_999)
    return ()


def _numbers(text: str, most: int = 999) -> tuple[int, ...]:
    """Return the numbers of a list with ranges, each once; empty if one is too large, or 0 is among others."""
    found: dict[int, None] = {}
    if text.strip() == "0":  # names nothing, but is not text either
        return (0,)
    for first, last in _PART.findall(text):
        begin, end = int(first), int(last or first)
        if not 0 < begin <= most or not 0 < end <= most:
            return ()
        named = range(begin, end + 1) if begin <= end < begin + _MOST_OF_A_RANGE else (begin, end)
        found.update(dict.fromkeys(named))
    return tuple(found)


def _address(text: str, at: int, *, whole: bool) -> int | None:
    """Return the end of the address after a mark ("[1](https://...)"), `at` if there is none, None if undecided."""
    if not text.startswith("(", at):
        return at
    head = text[at + 1 : at + 9]
    if not any(
        head.startswith(scheme) or (not whole and scheme.startswith(head)) for scheme in ("http://", "https://")
    ):
        return at
    depth = 0
    for place in range(at, min(len(text), at + LONGEST)):
        if text[place].isspace():
            return at
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place + 1
    return at if whole or len(text) >= at + LONGEST else None


def _before_space(text: str, begin: int, end: int, signs: str = "") -> int:
    """Return where the white space (and signs) before an offset begin, `begin` at the earliest."""
    while end > begin and (text[end - 1].isspace() or text[end - 1] in signs):
        end -= 1
    return end


def as_numbers(value: object) -> object:
    """Return the numbers that a member of a JSON object cites: 3, "[1, 2]", ["1", "Report 3"], [[1, 2]].

    >>> as_numbers(["1", "Report 3", [4]]), as_numbers(None), as_numbers("2-3")
    ([1, 3, 4], [], [2, 3])
    """
    if value is None:
        return []
    if isinstance(value, str):
        return list(numbers_in(value))
    if isinstance(value, list):
        found: list[object] = []
        for one in value:
            read = as_numbers(one)
            found += read if isinstance(read, list) else [read]
        return found
    if isinstance(value, float) and value.is_integer():
        return [int(value)]
    return [value] if isinstance(value, int) else value


Numbers = Annotated[list[int], BeforeValidator(as_numbers)]
"""The numbers that a member of a reply cites, in any notation."""
