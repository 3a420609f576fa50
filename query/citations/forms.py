"""The forms in which language models write citation marks, and the numbers in each.

Asked for [1][3], models write [1, 3], [1-3], 【1†source】, [^1], \\[1\\], [[1]](https://...), [Passage 1], (Source 2),
[Data: Reports (1, 2, +more)], superscripts, <sup>1</sup>, and (1, 3) at the end of a clause. This module is the only
parser of these forms, for answers (`answer_text.py`), for the replies of walks and for the numbers in JSON. The
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
_TAGGED = re.compile(r"<(sup|ref|cite)>\s*(?P<inside>[^<>]{1,60})</\1>", re.IGNORECASE)
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_RAISED = re.compile(r"[¹²³⁴-⁹][⁰¹²³⁴-⁹]?(?:[⁻˒·,]{1,2}[¹²³⁴-⁹][⁰¹²³⁴-⁹]?)*+")
_BEFORE_RAISED = re.compile(r"(?:[^\W\d_]{4}|[.,;:!?)\]\"”’»。！？])$")
_LOOKED_BACK = 4
_FIRST_DIGIT = {"(": 24, "[": 48}
"""Most characters before the first digit of a mark: anything longer is prose."""
_CLAUSE_ENDS = ".,;:!?。，；：！？"


class CitationMark(NamedTuple):
    """A mark at [start, end) of a text with the white space before it, and its numbers, each once."""

    start: int
    end: int
    space: str
    numbers: tuple[int, ...]


def numbers_in(text: str) -> tuple[int, ...]:
    """Return the numbers that a short text cites: "[1, 3]", "Passages 1-2", "3", "Reports (1, 2)".

    >>> numbers_in("[1][3-4]"), numbers_in("Passage 2"), numbers_in("in 1984")
    ((1, 3, 4), (2,), ())
    """
    found = dict.fromkeys(number for mark in marks_in(text) for number in mark.numbers)
    return tuple(found) or _bracketed(text[:LONGEST].strip().strip("()"))


def marks_in(text: str, shown: int = 999) -> Iterator[CitationMark]:
    """Yield the marks of a text, in order.

    Args:
        text: The text.
        shown: How many sources the model was shown; (1, 3) and superscripts are read only up to this number.

    Example:
        >>> list(marks_in("So【1†source】."))
        [CitationMark(start=2, end=12, space='', numbers=(1,))]
    """
    at = begin = 0
    in_brackets = False
    numbers: tuple[int, ...]
    while opener := _OPENER.search(text, at):
        start = opener.start()
        space = _before_space(text, begin, start)
        if text[start] == "`":
            at, numbers = _end_of_code(text, start), ()
        elif text[start] == "<":
            at, numbers = _tagged(text, start, space)
        elif opener[0][-1] not in _CLOSES:
            at, numbers = _raised(text, start, shown)
        else:
            at, numbers = _mark(text, start, space, opener[0], 0 if in_brackets else shown)
            in_brackets = in_brackets or (bool(numbers) and opener[0] != "(")
        if numbers:
            yield CitationMark(space, at, text[space:start], numbers)
            begin = at


def _end_of_code(text: str, start: int) -> int:
    """Return where the code ends that begins at an offset; a code span ends with its line at the latest."""
    if text.startswith("```", start):
        end = text.find("```", start + 3)
        return len(text) if end < 0 else end + 3
    ends = [end for end in (text.find("`", start + 1), text.find("\n", start + 1)) if end >= 0]
    return min(ends) + 1 if ends else len(text)


def _mark(text: str, start: int, space: int, opener: str, shown: int) -> tuple[int, tuple[int, ...]]:
    """Return the end of the form that opens here, and its numbers (empty if it is no mark)."""
    doubled = opener == "[" and text.startswith("[[", start)
    closing = "]]" if doubled else ("\\" if opener[0] == "\\" else "") + _CLOSES[opener[-1]]
    outer = start + len(opener)
    inner = outer + doubled
    if not any(sign.isdigit() for sign in text[inner : inner + _FIRST_DIGIT["(" if opener == "(" else "["]]):
        return outer, ()
    end = text.find(closing, inner, inner + LONGEST)
    if end < 0 or text.find("\n", inner, end) >= 0:
        return outer, ()
    after = end + len(closing)
    if opener == "(":
        numbers = _in_parentheses(text, start, space, end, shown)
        return (after, numbers) if numbers else (outer, ())
    numbers = _bracketed(text[inner:end])
    return (_behind_address(text, after), numbers) if numbers else (outer, ())


def _tagged(text: str, start: int, space: int) -> tuple[int, tuple[int, ...]]:
    """Return the end and the numbers of <sup>1</sup>, as `_mark`; those of m<sup>2</sup> are none."""
    found = _TAGGED.match(text, start)
    if found is None:
        return start + 1, ()
    numbers = _bracketed(found["inside"].strip().strip("[]"))
    cited = found[1].casefold() != "sup" or "[" in found["inside"] or _may_be_raised(text, space)
    return (found.end(), numbers) if cited and numbers else (start + 1, ())


def _in_parentheses(text: str, start: int, space: int, end: int, shown: int) -> tuple[int, ...]:
    """Return the numbers of (1, 3) at the end of a clause; (Source 2) is read anywhere."""
    found = _INSIDE.fullmatch(text, start + 1, end)
    if not found:
        return ()
    numbers = _numbers(found["numbers"])
    if found["label"].strip():
        return numbers
    ends = text[end + 1 : end + 2] in {"", "\n", *_CLAUSE_ENDS}
    stands = space < start and "\n" not in text[space:start]
    return numbers if ends and stands and all(0 < number <= shown for number in numbers) else ()


def _raised(text: str, start: int, shown: int) -> tuple[int, tuple[int, ...]]:
    """Return the end and the numbers of superscripts behind a word or a clause, as `_mark`."""
    found = _RAISED.match(text, start)
    if found is None:
        return start + 1, ()
    parts = re.split(r"\D+", found[0].translate(_SUPERSCRIPTS))
    numbers = tuple(dict.fromkeys(int(part) for part in parts if part))
    cited = _may_be_raised(text, start) and not text[found.end() : found.end() + 1].isalnum()
    return found.end(), numbers if cited and all(number <= shown for number in numbers) else ()


def _may_be_raised(text: str, at: int) -> bool:
    """Return whether a number that is raised here may be a mark, and is no power."""
    return _BEFORE_RAISED.search(text[max(0, at - _LOOKED_BACK) : at]) is not None


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


def _behind_address(text: str, at: int) -> int:
    """Return the end of the address after a mark ("[1](https://...)"), the end of the mark if there is none."""
    if not text.startswith(("(http://", "(https://"), at):
        return at
    depth = 0
    for place in range(at, min(len(text), at + LONGEST)):
        if text[place].isspace():
            return at
        depth += (text[place] == "(") - (text[place] == ")")
        if depth == 0:
            return place + 1
    return at


def _before_space(text: str, begin: int, end: int) -> int:
    """Return where the white space before an offset begins, `begin` at the earliest."""
    while end > begin and text[end - 1].isspace():
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
