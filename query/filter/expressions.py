"""Filter expressions and their evaluation on a document's metadata.

The logic has three values, as in SQL (Kleene): a comparison is unknown (None) if the document lacks the key or its
value has another type, and so is its negation. A document is permitted only if the filter is true.
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
    """A case-insensitive match of a part of a key's value. A list matches if any of its values does."""

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
        text = self.text.casefold()
        return any(_matches(item.casefold(), self.operator, text) for item in values_of(metadata[self.key]))


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


Expression = Comparison | TextMatch | Not | All | Any


def negated(found: bool | None) -> bool | None:
    """Return the negation of a truth value; unknown stays unknown."""
    return None if found is None else not found


def any_of(found: Sequence[bool | None]) -> bool | None:
    """Return the disjunction of truth values."""
    if True in found:
        return True
    return None if None in found else False


def values_of(text: str) -> list[str]:
    """Return the values of a metadata text: the elements of a JSON list, or the text itself.

    >>> values_of('["a", 1]'), values_of("a, b"), values_of("[draft")
    (['a', '1'], ['a, b'], ['[draft'])
    """
    if not text.startswith("["):
        return [text]
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return [text]
    return [item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in found]


_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
_DAY = re.compile(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?(?:[T ].*)?", re.DOTALL)


def as_number(text: str) -> float | None:
    """Return the finite number in a text, or None."""
    found = float(text) if _NUMBER.fullmatch(text.strip()) else math.nan
    return found if math.isfinite(found) else None


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
    pattern = re.escape(text).replace("%", ".*").replace("_", ".")  # as in SQL
    return re.fullmatch(pattern, value, re.DOTALL) is not None


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
