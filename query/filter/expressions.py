"""Filter expressions and their evaluation on a document's metadata.

A filter is true, false or unknown of a document (Kleene's three values): a key that the document lacks, or a value that
is not of the kind that it is compared with, is unknown, and so is its negation. Only what is true is permitted.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
TextOperator = Literal["contains", "startswith", "endswith", "like"]


@dataclass(frozen=True, slots=True)
class Day:
    """A date, as precisely as it is given: (year,), (year, month) or (year, month, day)."""

    parts: tuple[int, ...]


Value = float | Day | str
"""What is compared with: a number, a date or a text."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A key's value compared with another; of a list of values one that is so is enough (and none, for !=)."""

    key: str
    operator: Operator
    value: Value

    @property
    def keys(self) -> frozenset[str]:
        """The keys that are looked at."""
        return frozenset({self.key})

    def holds(self, told: Mapping[str, str]) -> bool | None:
        """Return whether this is so of a document, None where that is unknown."""
        if self.key not in told:
            return None
        operator: Operator = "=" if self.operator == "!=" else self.operator
        found = any_of([_compared(item, operator, self.value) for item in values_of(told[self.key])])
        return negated(found) if self.operator == "!=" else found


@dataclass(frozen=True, slots=True)
class TextMatch:
    """A part of a key's value compared with a text, in any case; of a list of values one that matches is enough."""

    key: str
    operator: TextOperator
    text: str

    @property
    def keys(self) -> frozenset[str]:
        """The keys that are looked at."""
        return frozenset({self.key})

    def holds(self, told: Mapping[str, str]) -> bool | None:
        """Return whether this is so of a document, None where that is unknown."""
        if self.key not in told:
            return None
        text = self.text.casefold()
        return any(_matches(item.casefold(), self.operator, text) for item in values_of(told[self.key]))


@dataclass(frozen=True, slots=True)
class Not:
    """What is not so."""

    of: "Expression"

    @property
    def keys(self) -> frozenset[str]:
        """The keys that are looked at."""
        return self.of.keys

    def holds(self, told: Mapping[str, str]) -> bool | None:
        """Return whether this is so of a document, None where that is unknown."""
        return negated(self.of.holds(told))


@dataclass(frozen=True, slots=True)
class All:
    """What is so where each of several is."""

    of: tuple["Expression", ...]

    @property
    def keys(self) -> frozenset[str]:
        """The keys that are looked at."""
        return frozenset().union(*(item.keys for item in self.of))

    def holds(self, told: Mapping[str, str]) -> bool | None:
        """Return whether this is so of a document, None where that is unknown."""
        return negated(any_of([negated(item.holds(told)) for item in self.of]))


@dataclass(frozen=True, slots=True)
class Any:
    """What is so where one of several is."""

    of: tuple["Expression", ...]

    @property
    def keys(self) -> frozenset[str]:
        """The keys that are looked at."""
        return frozenset().union(*(item.keys for item in self.of))

    def holds(self, told: Mapping[str, str]) -> bool | None:
        """Return whether this is so of a document, None where that is unknown."""
        return any_of([item.holds(told) for item in self.of])


Expression = Comparison | TextMatch | Not | All | Any


def negated(found: bool | None) -> bool | None:
    """Return the opposite of a truth value; what is unknown stays unknown."""
    return None if found is None else not found


def any_of(found: Sequence[bool | None]) -> bool | None:
    """Return whether one of several truth values is true, None where that is unknown."""
    if True in found:
        return True
    return None if None in found else False


def values_of(told: str) -> list[str]:
    """Return the values of a key: those of a list, which is told as JSON, or the one that there is.

    >>> values_of('["a", 1]'), values_of("a, b"), values_of("[draft")
    (['a', '1'], ['a, b'], ['[draft'])
    """
    if not told.startswith("["):
        return [told]
    try:
        found = json.loads(told)
    except (ValueError, RecursionError):
        return [told]
    return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in found]


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:[T ].*)?", re.DOTALL)


def as_number(text: str) -> float | None:
    """Return the number that a text is; None where it is none."""
    found = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return found if math.isfinite(found) else None


def as_day(text: str) -> Day | None:
    """Return the date that a text is or begins with, as ISO 8601 writes it; None where it is none.

    >>> as_day("2024-05"), as_day("2024-05-31T12:00:00Z"), as_day("May 2024")
    (Day(parts=(2024, 5)), Day(parts=(2024, 5, 31)), None)
    """
    found = _DAY.fullmatch(text.strip())
    parts = tuple(int(item) for item in found.groups() if item) if found else ()
    possible = parts and (len(parts) < 2 or 1 <= parts[1] <= 12) and (len(parts) < 3 or 1 <= parts[2] <= 31)
    return Day(parts) if possible else None


def _compared(told: str, operator: Operator, value: Value) -> bool | None:
    """Compare one value; a date as precisely as the other is given: all of 2024-05 is after 2024-04, and in 2024."""
    if isinstance(value, str):
        return told == value
    if isinstance(value, float):
        number = as_number(told)
        if number is not None:
            return _ordered(number, operator, value)
        if not value.is_integer():
            return None
        value = Day((int(value),))  # a year, of a date
    day = as_day(told)
    if day is None or len(day.parts) < len(value.parts):
        return None
    return _ordered(day.parts[: len(value.parts)], operator, value.parts)


def _matches(told: str, operator: TextOperator, text: str) -> bool:
    if operator == "contains":
        return text in told
    if operator == "startswith":
        return told.startswith(text)
    if operator == "endswith":
        return told.endswith(text)
    pattern = re.escape(text).replace("%", ".*").replace("_", ".")  # as in SQL
    return re.fullmatch(pattern, told, re.DOTALL) is not None


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
