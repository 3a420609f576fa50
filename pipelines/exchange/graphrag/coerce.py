"""The cells of a foreign table as values of the type that its column has: what is of another type is not guessed at."""

import json
import math
import typing
from collections.abc import Callable, Mapping
from dataclasses import asdict
from functools import cache
from typing import Any

from conspectus.pipelines.exchange.graphrag.schema import FindingRow


class Unfit(ValueError):
    """A cell that is not of its column's type; says what it should be."""


@cache
def converter(record: type, column: str) -> Callable[[Any], Any]:
    """Return what makes a cell of a column of a record; it raises Unfit."""
    hint = typing.get_type_hints(record)[column]
    kinds: list[tuple[Any, Callable[[Any], Any]]] = [
        (str | None, text),
        (int | None, whole),
        (float | None, number),
        (tuple[str, ...] | None, texts),
        (tuple[int, ...] | None, wholes),
        (tuple[FindingRow, ...] | None, findings),
    ]
    return next((convert for kind, convert in kinds if kind == hint), mapping)


def written(value: Any) -> str:  # noqa: ANN401  (a cell of any column)
    """Return a cell as JSON, from which the column's converter makes it again."""
    if isinstance(value, tuple):
        value = [asdict(each) if isinstance(each, FindingRow) else each for each in value]
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def text(value: Any) -> str | None:  # noqa: ANN401  (whatever the file has)
    """Return a text; a whole number is written out."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Unfit("a text")


def whole(value: Any) -> int | None:  # noqa: ANN401
    """Return a whole number; pandas writes a column of them as floats where one is missing."""
    number = _number(value, "a whole number")
    if number is None:
        return None
    if not float(number).is_integer() or abs(number) >= _MOST:
        raise Unfit("a whole number")
    return int(number)


def number(value: Any) -> float | None:  # noqa: ANN401
    """Return a finite number; NaN is what pandas writes for none."""
    found = _number(value, "a number")
    if found is None:
        return None
    if abs(found) >= _MOST:
        raise Unfit("a number")
    return float(found)


def texts(value: Any) -> tuple[str, ...] | None:  # noqa: ANN401
    """Return a list of texts."""
    return _several(value, text, "a list of texts")


def wholes(value: Any) -> tuple[int, ...] | None:  # noqa: ANN401
    """Return a list of whole numbers."""
    return _several(value, whole, "a list of whole numbers")


def findings(value: Any) -> tuple[FindingRow, ...] | None:  # noqa: ANN401
    """Return the findings of a report."""
    return _several(value, _finding, "a list of findings")


def mapping(value: Any) -> Mapping[str, object] | None:  # noqa: ANN401
    """Return an object: a struct, the pairs of a map, or JSON; values that JSON has no form for become texts."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise Unfit("an object") from error
    try:
        found = dict(value)
        plain = json.loads(json.dumps(found, ensure_ascii=False, default=str))
    except (TypeError, ValueError, RecursionError) as error:
        raise Unfit("an object") from error
    if not all(isinstance(key, str) for key in found):
        raise Unfit("an object")
    return dict(plain)


_MOST = 1e15
"""Beyond, a float is no exact whole number any more, and no weight is that large."""


def _number(value: Any, wanted: str) -> float | None:  # noqa: ANN401
    if isinstance(value, str):
        try:
            value = float(value) if len(value) < 40 and value.strip() else None
        except ValueError as error:
            raise Unfit(wanted) from error
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Unfit(wanted)
    return value


def _several(value: Any, one: Callable[[Any], Any], wanted: str) -> tuple[Any, ...] | None:  # noqa: ANN401
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if not isinstance(value, list):
        raise Unfit(wanted)
    try:
        made = [one(each) for each in value]
    except Unfit as error:
        raise Unfit(wanted) from error
    return tuple(each for each in made if each is not None)


def _finding(value: Any) -> FindingRow | None:  # noqa: ANN401
    if isinstance(value, str):
        return FindingRow(value, "")
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Unfit("a finding")
    return FindingRow(text(value.get("explanation")) or "", text(value.get("summary")) or "")
