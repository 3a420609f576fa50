"""Locate text units in the text of their document.

A unit is not always a substring of the document: metadata may precede it ("key: value" lines, `prepend_metadata`),
whitespace and letter forms may have changed, and a cut between tokens may have left part of a character (U+FFFD) at
either end.
"""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

_METADATA = re.compile(r"[^\n:]{1,200}: ")
_MOST_LINES = 40
_MOST_CHARACTERS = 8_000
"""The maximum length of the metadata before a unit."""
_HALF_LETTERS = "\ufffd"
_UNSEEN = frozenset("\ufeff\xad\u200b\u2060")
_LONGEST_OVERLAP = 20_000
"""The maximum overlap of two consecutive units, in characters."""


@dataclass(frozen=True, slots=True)
class Aligned:
    """The span of a unit, `text[start:end]`; `prepended` is the text before it that is not in the document."""

    start: int
    end: int
    prepended: str = ""


class AlignedText:
    """The text of a document, in which units are located."""

    def __init__(self, text: str) -> None:
        self._text = text

    def align(self, units: Sequence[str]) -> list[Aligned | None]:
        """Return the span of each unit, None for a unit that does not occur.

        Units are in text order: if a unit occurs several times, the search starts after the beginning of the
        previous unit, and falls back to the whole text.
        """
        found: list[Aligned | None] = []
        after = -1
        for unit in units:
            place = self._place(unit, after + 1)
            found.append(place)
            after = place.start if place else after
        return found

    def _place(self, unit: str, begin: int) -> Aligned | None:
        for prepended, body in _readings(unit):
            at = _find(self._text, body, begin)
            if at >= 0:
                return Aligned(at, at + len(body), prepended)
        for prepended, body in _readings(unit):
            span = self._folded.find(body, begin)
            if span:
                return Aligned(*span, prepended)
        return None

    @cached_property
    def _folded(self) -> "_Folded":
        return _Folded(self._text)


class _Folded:
    """A text without whitespace and with normalised letters, which maps each character to its offset in the text."""

    def __init__(self, text: str) -> None:
        self._text = text
        parts = [_fold(sign) for sign in text]
        self._places = [place for place, part in enumerate(parts) for _ in part]
        self._letters = "".join(parts)

    def find(self, unit: str, begin: int) -> tuple[int, int] | None:
        wanted = "".join(map(_fold, unit.strip(_HALF_LETTERS)))
        if not wanted:
            return None
        at = _find(self._letters, wanted, bisect_left(self._places, begin))
        if at < 0:
            return None
        start, end = self._places[at], self._places[at + len(wanted) - 1] + 1
        while end < len(self._text) and unicodedata.combining(self._text[end]):
            end += 1
        return start, end


def _find(text: str, part: str, begin: int) -> int:
    at = text.find(part, begin)
    return at if at >= 0 else text.find(part)


def _fold(sign: str) -> str:
    if sign.isascii():
        return "" if sign.isspace() else sign
    return "" if sign.isspace() or sign in _UNSEEN else "".join(unicodedata.normalize("NFKD", sign).split())


def _readings(unit: str) -> Iterator[tuple[str, str]]:
    """Yield possible prepended text of a unit with the rest: first none, then more and more lines."""
    if unit.strip():
        yield "", unit
    if not _METADATA.match(unit):
        return
    at = 0
    for _ in range(_MOST_LINES):
        at = unit.find("\n", at) + 1
        if not at or at > _MOST_CHARACTERS:
            return
        if unit[at:].strip():
            yield unit[:at], unit[at:]


def joined(units: Sequence[str]) -> str:
    """Return the text that units were cut from, as far as they contain it: overlaps appear once."""
    bodies = _without_common_metadata(units)
    text = ""
    for body in bodies:
        shared = _overlap(text, body)
        text += body[shared:] if shared or not text else f"\n\n{body}"
    return text


def _without_common_metadata(units: Sequence[str]) -> list[str]:
    """Return units without the metadata lines that all of them share at the beginning."""
    if len(units) < 2 or not _METADATA.match(units[0]):
        return list(units)
    at = 0
    for prepended, _ in _readings(units[0]):
        if _METADATA.match(prepended) and all(unit.startswith(prepended) for unit in units):
            at = len(prepended)
    return [unit[at:] for unit in units]


def _overlap(before: str, after: str) -> int:
    """Return the length of the longest suffix of one text, within bounds, that is a prefix of the next."""
    tail = before[-_LONGEST_OVERLAP:]
    at = tail.find(after[:1]) if after else -1
    while at >= 0 and not after.startswith(tail[at:]):
        at = tail.find(after[0], at + 1)
    return len(tail) - at if at >= 0 else 0
