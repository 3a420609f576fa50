"""What a graph's file says of its things and triples beside their names: types, descriptions, weights, foreign ids."""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from conspectus.pipelines.readers.encodings import clean


@dataclass(frozen=True, slots=True)
class ForeignRow:
    """Where it stands: the file, the id that it has there, its place, and what our tables have no column for.

    The description and the types (a JSON list) are among the details too: of what documents say something else as well,
    nothing else tells whose words are whose.
    """

    file: str
    source_id: str
    ordinal: int
    details: Mapping[str, str] = field(default_factory=dict)


def details_of(rest: Mapping[str, str], description: str, types: Sequence[str] = ()) -> dict[str, str]:
    """Return the details of a row: what is left of it, its description, its types."""
    details = dict(rest)
    if description:
        details["description"] = description
    if types:
        details["types"] = json.dumps(types, ensure_ascii=False)
    return details


@dataclass(frozen=True, slots=True)
class ToldThing:
    """What is said of a thing; the first of its types is the one that counts."""

    types: tuple[str, ...] = ()
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()


@dataclass(frozen=True, slots=True)
class ToldTriple:
    """What is said of a triple. `strength` as in conspectus.storage.records.Relation."""

    weight: float = 1.0
    strength: float | None = None
    description: str = ""
    rows: tuple[ForeignRow, ...] = ()


def one_thing(told: Sequence[ToldThing]) -> ToldThing:
    """Return what several rows say of one thing: all types and descriptions, each once, in their order."""
    if len(told) == 1:
        return told[0]
    types = tuple(dict.fromkeys(chain.from_iterable(each.types for each in told)))
    return ToldThing(types, _texts(each.description for each in told), _rows(told))


def one_triple(told: Sequence[ToldTriple]) -> ToldTriple:
    """Return what several rows say of one triple: the sum of the weights, the mean strength, all descriptions."""
    if len(told) == 1:
        return told[0]
    strengths = [each.strength for each in told if each.strength is not None]
    return ToldTriple(
        sum(each.weight for each in told),
        sum(strengths) / len(strengths) if strengths else None,
        _texts(each.description for each in told),
        _rows(told),
    )


def weight_of(text: str) -> float | None:
    """Return a weight as a file states it, None for what is none."""
    weight = strength_of(text)
    return weight if weight is not None and weight > 0 else None


def strength_of(text: str) -> float | None:
    """Return a strength as a file states it, None for what is none."""
    try:
        strength = float(text)
    except ValueError:
        return None
    return strength if math.isfinite(strength) else None


def types_of(text: str) -> tuple[str, ...]:
    """Return the types of a JSON list, none where it is no such list."""
    try:
        values = json.loads(text) if text.lstrip().startswith("[") else []
    except (ValueError, RecursionError):
        return ()
    return tuple(clean(each) for each in values if isinstance(each, str) and each.strip())


def _texts(texts: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(filter(None, texts)))


def _rows(told: Sequence[ToldThing] | Sequence[ToldTriple]) -> tuple[ForeignRow, ...]:
    return tuple(chain.from_iterable(each.rows for each in told))
