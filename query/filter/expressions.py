"""Filter expressions and their evaluation on a document's metadata.

The logic has three values, as in SQL (Kleene): a comparison is unknown (None) if the document lacks the key or its
value has another type, and so is its negation. A document is permitted only if the filter is true.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
TextOperator = Literal["contains", "startswith", "endswith", "like"]


@dataclass(frozen=True, slots=True)
class Day:
    """A date at its given precision: (year,), (year, month) or (year, month, day)."""

    parts: tuple[int, ...]


Value = float | Day | str
"""The right side of a comparison."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A comparison of a key with a value. Any element of a list may match; for `!=` none may be equal."""

    key: str
    operator: Operator
    value: Value

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return frozenset({self.key})

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        if self.key not in metadata:
            return None
        operator: Operator = "=" if self.operator == "!=" else self.operator
        found = any_of([_compared(item, operator, self.value) for item in values_of(metadata[self.key])])
        return negated(found) if self.operator == "!=" else found


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A case-insensitive match of a part of a key's value, with a folded text. A list matches if any value does."""

    key: str
    operator: TextOperator
    text: str

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return frozenset({self.key})

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        if self.key not in metadata:
            return None
        return any(_matches(item.casefold(), self.operator, self.text) for item in values_of(metadata[self.key]))


@dataclass(frozen=True, slots=True)
class OneOf:
    """Equality with one of some values, looked up and not compared one by one. Any element of a list may match.

    `kinds` has one value of each kind (a text, a whole number, another number, a date of each precision): whether a
    comparison is unknown depends on the kind alone.
    """

    key: str
    values: frozenset[Value]
    kinds: tuple[Value, ...]

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return frozenset({self.key})

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        return any_of([self._equals(item) for item in values_of(metadata[self.key])]) if self.key in metadata else None

    def _equals(self, text: str) -> bool | None:
        number, day = as_number(text), as_day(text)
        equal: set[Value] = {text} if number is None else {text, number}
        if day is not None:
            equal.update(Day(day.parts[:length]) for length in (1, 2, 3))
            if number is None:
                equal.add(float(day.parts[0]))
        if not self.values.isdisjoint(equal):
            return True
        return None if any(_compared(text, "=", value) is None for value in self.kinds) else False


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    of: "Expression"

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return self.of.keys

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        return negated(self.of.holds(metadata))


@dataclass(frozen=True, slots=True)
class All:
    """Conjunction."""

    of: tuple["Expression", ...]

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return frozenset().union(*(item.keys for item in self.of))

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        return negated(any_of([negated(item.holds(metadata)) for item in self.of]))


@dataclass(frozen=True, slots=True)
class Any:
    """Disjunction."""

    of: tuple["Expression", ...]

    @property
    def keys(self) -> frozenset[str]:
        """The metadata keys that this expression reads."""
        return frozenset().union(*(item.keys for item in self.of))

    def holds(self, metadata: Mapping[str, str]) -> bool | None:
        """Return whether a document with this metadata matches; None if unknown."""
        return any_of([item.holds(metadata) for item in self.of])


def one_of(key: str, values: Collection[Value]) -> OneOf:
    """Return the equality of a key with one of some values."""
    kinds = {_kind(value): value for value in values}
    return OneOf(key, frozenset(values), tuple(kinds.values()))


def _kind(value: Value) -> tuple[type, int]:
    """Return the kind of a value: its type, and the precision of a date or whether a number is whole."""
    if isinstance(value, str):
        return str, 0
    return type(value), len(value.parts) if isinstance(value, Day) else value.is_integer()


Expression = Comparison | TextMatch | OneOf | Not | All | Any


def negated(found: bool | None) -> bool | None:
    """Return the negation of a truth value; unknown stays unknown."""
    return None if found is None else not found


def any_of(found: Sequence[bool | None]) -> bool | None:
    """Return the disjunction of truth values."""
    if True in found:
        return True
    return None if None in found else False


def values_of(text: str) -> tuple[str, ...]:
    """Return the values of a metadata text: the elements of a JSON list, or the text itself.

    >>> values_of('["a", 1]'), values_of("a, b"), values_of("[draft")
    (('a', '1'), ('a, b',), ('[draft',))
    """
    return _elements(text) if text.startswith("[") else (text,)


@lru_cache(64)  # each term of a filter reads the values of the same document
def _elements(text: str) -> tuple[str, ...]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return (text,)
    return tuple(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in found)


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:[T ].*)?", re.DOTALL)


@lru_cache(1 << 15)
def as_number(text: str) -> float | None:
    """Return the finite number in a text, or None."""
    found = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return found if math.isfinite(found) else None


@lru_cache(1 << 15)
def as_day(text: str) -> Day | None:
    """Return the ISO 8601 date at the beginning of a text, or None.

    >>> as_day("2024-05"), as_day("2024-05-31T12:00:00Z"), as_day("May 2024")
    (Day(parts=(2024, 5)), Day(parts=(2024, 5, 31)), None)
    """
    found = _DAY.fullmatch(text.strip())
    parts = tuple(int(item) for item in found.groups() if item) if found else ()
    possible = parts and (len(parts) < 2 or 1 <= parts[1] <= 12) and (len(parts) < 3 or 1 <= parts[2] <= 31)
    return Day(parts) if possible else None


def _compared(text: str, operator: Operator, value: Value) -> bool | None:
    """Compare one value. Dates are compared at the precision of `value`: 2024-05-31 equals 2024-05 and 2024."""
    if isinstance(value, str):
        return text == value
    if isinstance(value, float):
        number = as_number(text)
        if number is not None:
            return _ordered(number, operator, value)
        if not value.is_integer():
            return None
        value = Day((int(value),))  # compare a date with a year
    day = as_day(text)
    if day is None or len(day.parts) < len(value.parts):
        return None
    return _ordered(day.parts[: len(value.parts)], operator, value.parts)


def _matches(value: str, operator: TextOperator, text: str) -> bool:
    if operator == "contains":
        return text in value
    if operator == "startswith":
        return value.startswith(text)
    if operator == "endswith":
        return value.endswith(text)
    return is_like(value, text)


def is_like(value: str, pattern: str) -> bool:
    """Return whether a text matches a pattern of SQL: `%` stands for any text, `_` for one character.

    The pieces between `%` are looked for from left to right, each at its first place, which leaves most for the others.

    >>> is_like("notes/2021-05.md", "notes/%-__.md"), is_like("notes.md", "notes_%.md"), is_like("", "%")
    (True, False, True)
    """
    first, *rest = pattern.split("%")
    if not rest:
        return len(value) == len(pattern) and _found(value, pattern, 0, len(value)) == 0
    *pieces, last = rest
    at, end = len(first), len(value) - len(last)
    if at > end or _found(value, first, 0, at) or _found(value, last, end, len(value)) != end:
        return False
    for piece in pieces:
        at = _found(value, piece, at, end) + len(piece)
        if at < len(piece):
            return False
    return True


def _found(value: str, piece: str, start: int, end: int) -> int:
    """Return the first place of a piece in value[start:end], or -1; `_` stands for any character.

    With `_`, all places are compared at once: bit n of `begun` says that n characters of the piece end here. Trying one
    place after another would take the product of both lengths.
    """
    if "_" not in piece:
        return value.find(piece, start, end)
    fits, anything = _places(piece)
    begun, whole = 0, 1 << len(piece)
    for place in range(start, end):
        begun = ((begun | 1) & fits.get(value[place], anything)) << 1
        if begun & whole:
            return place + 1 - len(piece)
    return -1


@lru_cache(256)
def _places(piece: str) -> tuple[Mapping[str, int], int]:
    """Return the places of a piece, as bits, that each of its characters fits, and those that any other one fits."""
    anything = sum(1 << place for place, sign in enumerate(piece) if sign == "_")
    fits: dict[str, int] = {}
    for place, sign in enumerate(piece):
        fits[sign] = fits.get(sign, anything) | 1 << place
    return fits, anything


def _ordered(left: float | tuple[int, ...], operator: Operator, right: float | tuple[int, ...]) -> bool:
    if operator == "=":
        return left == right
    if operator == "<":
        return left < right  # type: ignore[operator]  # both numbers, or both tuples
    if operator == "<=":
        return left <= right  # type: ignore[operator]
    if operator == ">":
        return left > right  # type: ignore[operator]
    return left >= right  # type: ignore[operator]
