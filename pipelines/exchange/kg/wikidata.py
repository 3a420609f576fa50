"""Read a Wikidata JSON dump: an array with one entity a line, read line by line.

It reads the statements of preferred or normal rank, their qualifiers, and the labels of the entities that they use.
Values are items, times, quantities and texts; identifiers of other databases, media, addresses and places on the globe
are left out.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.kg.builder import ALTERNATIVE, LAST_LABEL, TripleAttributes
from conspectus.pipelines.exchange.kg.statements import Statements, Thing, lines_of, thing_with_id
from conspectus.pipelines.readers.rows import items, mapping
from conspectus.storage.settings import KgSettings

_ANY_LANGUAGE = "mul"
"""Wikidata's code for a label that is valid in all languages."""
_KINDS = {"item": "Q", "property": "P", "lexeme": "L"}
_TIME = re.compile(r"([+-])0*(\d{1,9})-(\d\d)-(\d\d)T")
_CENTURY, _DECADE, _YEAR, _MONTH, _DAY = 7, 8, 9, 10, 11
"""Precisions of a time value."""
_ORDINALS = {1: "st", 2: "nd", 3: "rd"}
_UNIT = re.compile(r"https?://www\.wikidata\.org/entity/(Q\d+)")
_UNIT_LABELS = {
    "Q11573": "metre", "Q174728": "centimetre", "Q174789": "millimetre", "Q828224": "kilometre", "Q3710": "foot",
    "Q218593": "inch", "Q253276": "mile", "Q11570": "kilogram", "Q41803": "gram", "Q100995": "pound",
    "Q712226": "square kilometre", "Q25343": "square metre", "Q35852": "hectare", "Q11574": "second", "Q7727": "minute",
    "Q25235": "hour", "Q573": "day", "Q23387": "week", "Q5151": "month", "Q577": "year", "Q4917": "US dollar",
    "Q4916": "euro", "Q25224": "pound sterling", "Q11229": "percent",
}  # fmt: skip
"""Labels of units, for excerpts of a dump that lack them; labels in the dump take precedence."""


def read_wikidata(path: Path, into: Statements, settings: KgSettings) -> None:
    """Read a dump; a line that is not an entity is a failure. Statements of a deprecated rank are left out."""
    language = settings.language
    left_out: Counter[str] = Counter()
    into.form(f"{path.name}: entities of Wikidata")
    for number, line in lines_of(path):
        text = line.strip().removesuffix(b",").strip()
        if text in (b"", b"[", b"]"):
            continue
        item = f"{path.name}:{number}"
        try:
            entity = json.loads(text)
        except (ValueError, RecursionError) as error:
            into.fail(item, "not JSON", str(error))
            continue
        if not isinstance(entity, dict) or not isinstance(entity.get("id"), str) or not entity["id"].strip():
            into.fail(item, "not an entity of Wikidata", text[:100].decode("utf-8", "replace"))
            continue
        id_ = entity["id"].strip()
        for rank, code in enumerate((language, _ANY_LANGUAGE)):
            label = mapping(mapping(entity.get("labels")).get(code)).get("value")
            if isinstance(label, str) and label.strip():
                into.label(id_, label, rank)
        for alias in items(mapping(entity.get("aliases")).get(language)):
            if isinstance(name := mapping(alias).get("value"), str) and name.strip():
                into.label(id_, name, ALTERNATIVE)
        for predicate, statement in _statements(entity):
            value = _value(mapping(statement.get("mainsnak")), language, left_out)
            if value is not None:
                qualifiers = _qualifiers(statement, language, left_out)
                ids = [part for each in qualifiers for part in each]
                attributes = TripleAttributes(statements=(tuple(qualifiers),)) if qualifiers else None
                into.add(thing_with_id(id_), predicate, value, attributes, ids)
    for unit, label in _UNIT_LABELS.items():
        into.label(unit, label, LAST_LABEL)
    if left_out:
        told = ", ".join(f"{count:,} of type {kind}" for kind, count in sorted(left_out.items()))
        into.note(f"values of {path.name} left out: {told}")


def _statements(entity: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the statements to import, with their properties."""
    for predicate, several in mapping(entity.get("claims")).items():
        for value in items(several):
            statement = mapping(value)
            if statement.get("rank") in {"preferred", "normal"}:
                yield predicate, statement


def _qualifiers(statement: Mapping[str, Any], language: str, left_out: Counter[str]) -> list[tuple[str, str]]:
    """Return the properties and values of a statement's qualifiers."""
    found = []
    for predicate, several in mapping(statement.get("qualifiers")).items():
        for snak in items(several):
            value = _value(mapping(snak), language, left_out)
            if value is not None:
                _, text, *unit = ("", value) if isinstance(value, str) else value
                found.append((predicate, " ".join((text, *(_UNIT_LABELS.get(each, each) for each in unit)))))
    return found


def _value(snak: Mapping[str, Any], language: str, left_out: Counter[str]) -> Thing | None:
    """Return the value of a main statement or a qualifier, None if it is missing or not imported."""
    if snak.get("snaktype") != "value":
        return None
    data = mapping(snak.get("datavalue"))
    kind, content = data.get("type"), data.get("value")
    if kind == "time":
        text = _time(mapping(content))
    elif kind == "quantity":
        return _quantity(mapping(content))
    elif kind == "monolingualtext":
        text = str(mapping(content).get("text", "")) if mapping(content).get("language") == language else ""
    elif kind == "string" and snak.get("datatype", "string") == "string":
        text = content if isinstance(content, str) else ""
    elif isinstance(content, dict) and (id_ := _entity_id(content)):  # only items have ids
        return thing_with_id(id_)
    else:
        left_out[str(snak.get("datatype") or kind or "unknown")[:40]] += 1
        return None
    return " ".join(text.split()) or None


def _time(content: Mapping[str, Any]) -> str:
    """Return a time in a form that `storage.text.literals` reads, as precise as stated; "" if coarser than a century.

    >>> _time({"time": "+1952-03-11T00:00:00Z", "precision": 11})
    '1952-03-11'
    >>> _time({"time": "-0044-03-00T00:00:00Z", "precision": 9})
    '44 BC'
    """
    found, precision = _TIME.match(str(content.get("time", ""))), content.get("precision", _DAY)
    if found is None or type(precision) is not int or precision < _CENTURY:
        return ""
    before, year = found[1] == "-", int(found[2])
    if precision == _CENTURY:
        number = (year + 99) // 100
        ending = "th" if number % 100 in (11, 12, 13) else _ORDINALS.get(number % 10, "th")
        return f"{number}{ending} century{' BC' if before else ''}"
    if before:  # the year 1 BC is -0001 in Wikidata and 0000 in ISO 8601
        iso = f"-{year - 1:04}"
        return f"{year} BC" if precision <= _YEAR else "-".join([iso, found[3], found[4]][: precision - _YEAR + 1])
    if precision == _DECADE:
        return f"{year // 10 * 10}s"
    return "-".join([f"{year:04}" if precision > _YEAR else str(year), found[3], found[4]][: precision - _YEAR + 1])


def _quantity(content: Mapping[str, Any]) -> Thing | None:
    amount, unit = content.get("amount"), _UNIT.fullmatch(str(content.get("unit", "")))
    if not isinstance(amount, str) or not amount.strip():
        return None
    amount = amount.strip().removeprefix("+")
    return ("quantity", amount, unit[1]) if unit else amount


def _entity_id(value: Mapping[str, Any]) -> str:
    """Return the id of an entity; older dumps give only its kind and number."""
    if isinstance(value.get("id"), str):
        return str(value["id"])
    kind, number = _KINDS.get(str(value.get("entity-type"))), value.get("numeric-id")
    return f"{kind}{number}" if kind and isinstance(number, int) else ""
