"""Read a Wikidata JSON dump: an array with one entity a line, read line by line.

Read are the statements of preferred or normal rank whose value is an item, and the labels of the entities they use.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.kg.builder import GraphBuilder
from conspectus.pipelines.exchange.kg.files import lines_of

_ANY_LANGUAGE = "mul"
"""Wikidata's code for a label that holds in all languages."""
_KINDS = {"item": "Q", "property": "P", "lexeme": "L"}


def read_wikidata(path: Path, into: GraphBuilder, language: str) -> None:
    """Read a dump; a line that is not an entity is a failure. Statements of a deprecated rank are left out."""
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
            label = _mapping(_mapping(entity.get("labels")).get(code)).get("value")
            if isinstance(label, str) and label.strip():
                into.label(id_, label, rank)
        for predicate, target in _statements(entity):
            into.add(into.id(id_), into.predicate(predicate), into.id(target))


def _statements(entity: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the (property, item) pairs of the statements that are read."""
    for predicate, several in _mapping(entity.get("claims")).items():
        for value in several if isinstance(several, list) else ():
            statement = _mapping(value)
            snak = _mapping(statement.get("mainsnak"))
            content = _mapping(_mapping(snak.get("datavalue")).get("value"))  # only an item has an id
            if statement.get("rank") in {"preferred", "normal"} and snak.get("snaktype") == "value":
                target = _entity_id(content)
                if target:
                    yield predicate, target


def _entity_id(value: Mapping[str, Any]) -> str:
    """Return the id of an entity; older dumps give only its kind and number."""
    if isinstance(value.get("id"), str):
        return str(value["id"])
    kind, number = _KINDS.get(str(value.get("entity-type"))), value.get("numeric-id")
    return f"{kind}{number}" if kind and isinstance(number, int) else ""


def _mapping(value: object) -> Mapping[str, Any]:
    """Return a mapping, empty for any other value: PHP writes an empty mapping as []."""
    return value if isinstance(value, dict) else {}
