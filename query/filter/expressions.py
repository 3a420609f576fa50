"""Filter expressions and their evaluation on a document's metadata.

The logic has three values, as in SQL (Kleene): a comparison is unknown (None) if the document lacks the key or its
value has another type, and so is its negation. A document is permitted only if the filter is true.
"""

import json
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from operator import eq
from typing import Any

Day = tuple[int, ...]
"""A date at its given precision: (year,), (year, month) or (year, month, day)."""
Value = float | Day | str
"""The right side of a comparison."""
Operator = Callable[[Any, Any], bool]
"""A function of the module `operator`: eq, lt, le, gt or ge."""


@dataclass(frozen=True, slots=True)
class Expression:
    """A condition over metadata.

    Attributes:
        keys: The metadata keys that it reads.
        holds: Whether a document with some metadata matches; None if unknown.
    """

    keys: frozenset[str]
    holds: Callable[[Mapping[str, str]], bool | None]


def of_any_value(key: str, matches: Callable[[str], bool | None]) -> Expression:
    """Return the condition that any value of a key matches: any element of a list may."""

    def holds(metadata: Mapping[str, str]) -> bool | None:
        return any_of([matches(item) for item in values_of(metadata[key])]) if key in metadata else None

    return Expression(frozenset({key}), holds)


def comparison(key: str, operator: Operator, value: Value) -> Expression:
    """Return the comparison of a key with a value; texts have no order."""
    return of_any_value(key, lambda text: _compared(text, operator, value))


def one_of(key: str, values: Collection[Value]) -> Expression:
    """Return the equality of a key with one of some values, looked up and not compared one by one."""
    wanted = frozenset(values)
    # Whether a comparison is unknown depends on the kind of the value alone: one of each is compared.
    kinds = {_kind(value): value for value in values}.values()

    def equals(text: str) -> bool | None:
        number, day = as_number(text), as_day(text)
        equal: set[Value] = {text} if number is None else {text, number}
        if day is not None:
            equal.update(day[:length] for length in (1, 2, 3))
            if number is None:
                equal.add(float(day[0]))
        if not wanted.isdisjoint(equal):
            return True
        return None if any(_compared(text, eq, value) is None for value in kinds) else False

    return of_any_value(key, equals)


def _kind(value: Value) -> tuple[type, int]:
    """Return the kind of a value: its type, and the precision of a date or whether a number is whole."""
    if isinstance(value, str):
        return str, 0
    return type(value), len(value) if isinstance(value, tuple) else value.is_integer()


def negation(of: Expression) -> Expression:
    """Return the negation of a condition; unknown stays unknown."""

    def holds(metadata: Mapping[str, str]) -> bool | None:
        found = of.holds(metadata)
        return None if found is None else not found

    return Expression(of.keys, holds)


def disjunction(of: Sequence[Expression]) -> Expression:
    """Return the condition that one of some conditions is true."""
    keys = frozenset().union(*(item.keys for item in of))
    return Expression(keys, lambda metadata: any_of([item.holds(metadata) for item in of]))


def conjunction(of: Sequence[Expression]) -> Expression:
    """Return the condition that all of some conditions are true."""
    return negation(disjunction([negation(item) for item in of]))


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
    ((2024, 5), (2024, 5, 31), None)
    """
    found = _DAY.fullmatch(text.strip())
    parts = tuple(int(item) for item in found.groups() if item) if found else ()
    possible = parts and (len(parts) < 2 or 1 <= parts[1] <= 12) and (len(parts) < 3 or 1 <= parts[2] <= 31)
    return parts if possible else None


def _compared(text: str, operator: Operator, value: Value) -> bool | None:
    """Compare one value. Dates are compared at the precision of `value`: 2024-05-31 equals 2024-05 and 2024."""
    if isinstance(value, str):
        return operator(text, value)
    if isinstance(value, float):
        number = as_number(text)
        if number is not None:
            return operator(number, value)
        if not value.is_integer():
            return None
        value = (int(value),)  # compare a date with a year
    day = as_day(text)
    if day is None or len(day) < len(value):
        return None
    return operator(day[: len(value)], value)


def is_like(value: str, pattern: str) -> bool:
    """Return whether a text matches a pattern of SQL: `%` stands for any text, `_` for one character.

    All places of the pattern are compared at once: bit n of `reached` says that the text so far fits n characters of
    it. Trying one place after another would take the product of both lengths.

    >>> is_like("notes/2021-05.md", "notes/%-__.md"), is_like("notes.md", "notes_%.md"), is_like("", "%")
    (True, False, True)
    """
    fits, anything, stays, length = _places(pattern)
    reached = 1
    for sign in value:
        reached = (reached & fits.get(sign, anything)) << 1 | reached & stays
        if not reached:
            return False
    return bool(reached >> length)


@lru_cache(256)
def _places(pattern: str) -> tuple[Mapping[str, int], int, int, int]:
    """Return what a pattern without its `%` allows, as bits, and its length.

    They are the places that each of its characters fits, those that any other one fits, and those of a `%`.
    """
    signs = pattern.replace("%", "")
    anything = sum(1 << place for place, sign in enumerate(signs) if sign == "_")
    fits: dict[str, int] = {}
    for place, sign in enumerate(signs):
        fits[sign] = fits.get(sign, anything) | 1 << place
    stays = 0
    for before in accumulate(len(piece) for piece in pattern.split("%")[:-1]):
        stays |= 1 << before
    return fits, anything, stays, len(signs)
