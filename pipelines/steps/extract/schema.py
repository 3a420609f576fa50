"""The schema of a domain: the types of entities and relations that an extraction should have (docs/schema.md).

It steers a model's extraction; what does not fit it is found later (pipelines/resolution/fit_schema.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.prompts.render import render
from conspectus.storage.errors import InputError, SettingsError
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key

LONGEST = 300
"""Characters of a description: it is part of every prompt."""


@dataclass(frozen=True, slots=True)
class RelationType:
    """A type of relations. An empty domain or range allows every type of entity at that end."""

    name: str
    domain: tuple[str, ...] = ()
    range: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Schema:
    """Types of entities with their descriptions, and types of relations; without any of these, all relations fit."""

    entities: Mapping[str, str]
    relations: tuple[RelationType, ...] = ()

    def has_type(self, types: Iterable[str]) -> bool:
        """Return whether one of an entity's types is in the schema; an entity without a type fits.

        >>> Schema({"film": ""}).has_type(["FILM", "work"]), Schema({"film": ""}).has_type(["person"])
        (True, False)
        """
        return _meet(types, self.entities)

    def allows(self, source: Iterable[str], predicate: str, target: Iterable[str]) -> bool:
        """Return whether a relation fits: its predicate, and the types of its ends as far as they are known.

        >>> schema = Schema({"film": "", "person": ""}, (RelationType("directed", ("person",), ("film",)),))
        >>> schema.allows(["person"], "Directed", ["film"]), schema.allows(["film"], "directed", ["person"])
        (True, False)
        """
        if not (self.relations and predicate):
            return True
        named = [kind for kind in self.relations if _key(kind.name) == _key(predicate)]
        return any(_meet(source, kind.domain) and _meet(target, kind.range) for kind in named)

    def prompt(self) -> str:
        """Return the part of an extraction prompt that tells the schema."""
        entities = [f"- {kind}: {told}" if told else f"- {kind}" for kind, told in self.entities.items()]
        relations = [
            f"- {kind.name}, from {_any_of(kind.domain)} to {_any_of(kind.range)}"
            + f": {kind.description}".rstrip(": ")
            for kind in self.relations
        ]
        return render("index/schema", entity_types="\n".join(entities), relation_types="\n".join(relations) or "- any")

    def as_yaml(self) -> str:
        """Return the text of a file that `read_schema` reads."""
        from yaml import safe_dump

        ends = (("from", "domain"), ("to", "range"), ("description", "description"))
        relations = {
            kind.name: {
                key: list(value) if isinstance(value, tuple) else value
                for key, name in ends
                if (value := getattr(kind, name))
            }
            for kind in self.relations
        }
        told = {"entities": dict(self.entities), "relations": relations}
        return safe_dump(told, allow_unicode=True, sort_keys=False, width=120)


def _any_of(types: Sequence[str]) -> str:
    return " or ".join(types) or "anything"


def _key(name: str) -> str:
    key = entity_key(name.replace("_", " "))
    return _SAME.get(key, key)


_SAME = {
    "org": "organization", "organisation": "organization", "per": "person", "gpe": "geo", "loc": "geo", "place": "geo",
    "location": "geo", "fac": "geo", "work of art": "work",
}  # fmt: skip
"""Types under the names that taggers give them, and their usual names."""
_UNKNOWN = {NAME, CONCEPT, TITLE}


def _meet(types: Iterable[str], allowed: Iterable[str]) -> bool:
    """Return whether a type is allowed; every type is if none is named, and so is an entity of no known type."""
    found, known = {_key(kind) for kind in types if kind and kind not in _UNKNOWN}, set(map(_key, allowed))
    return not (found and known) or bool(found & known)


def read_schema(file: str) -> Schema | None:
    """Return the schema in a file: YAML, or an ontology in RDF (classes, and properties with domain and range).

    Args:
        file: The path; empty for none.

    Raises:
        SettingsError: The file cannot be read, or is no schema; the message says where.
    """
    if not file:
        return None
    from conspectus.pipelines.exchange.kg.rdf import FORMATS

    path = Path(file)
    try:
        schema = _of_ontology(path) if path.suffix.lower() in FORMATS else _of_yaml(path)
        if not schema.entities:
            raise ValueError("it has no types of entities")
    except (OSError, ValueError, InputError) as error:
        raise SettingsError(f"extraction.schema: {file}: {error}") from error
    return schema


def _of_yaml(path: Path) -> Schema:
    from yaml import BaseLoader, YAMLError, load

    try:
        found = load(path.read_text("utf-8"), BaseLoader)  # noqa: S506  (every value is a text: `on` is a name)
    except (YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(found, dict) or found.keys() - {"entities", "relations"}:
        raise ValueError("a schema has the keys entities and relations")
    entities = {kind: _text(kind, told) for kind, told in _members("entities", found.get("entities")).items()}
    return Schema(entities, tuple(_relation(*item) for item in _members("relations", found.get("relations")).items()))


def _relation(name: str, about: object) -> RelationType:
    about = {"description": about} if isinstance(about, str) else about
    if not isinstance(about, dict) or about.keys() - {"from", "to", "description"}:
        raise ValueError(f"the relation {name!r} has the keys from, to and description")
    return RelationType(
        name, _types(name, about.get("from")), _types(name, about.get("to")), _text(name, about.get("description", ""))
    )


def _members(key: str, value: object) -> dict[str, Any]:
    if isinstance(value, list):  # names without descriptions
        value = dict.fromkeys((each for each in value if isinstance(each, str)), "")
    if not isinstance(value or {}, dict):
        raise ValueError(f"{key} is not a mapping of names to descriptions")
    return {" ".join(name.split()): of for name, of in dict(value or {}).items()}  # type: ignore[call-overload]


def _types(name: str, value: object) -> tuple[str, ...]:
    found = value if isinstance(value, list) else [value] if value else []
    if not all(isinstance(each, str) and each.strip() for each in found):
        raise ValueError(f"the ends of the relation {name!r} are a type or a list of types")
    return tuple(" ".join(each.split()) for each in found)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or len(value) > LONGEST:
        raise ValueError(f"the description of {name!r} is not a text of at most {LONGEST} characters")
    return " ".join(value.split())


_CLASSES, _PROPERTIES = {"Class"}, {"ObjectProperty", "Property"}
"""The last parts of the IRIs of what OWL and RDF Schema call a type of entities or of relations."""


def _of_ontology(path: Path) -> Schema:
    import pyoxigraph as ox
    from conspectus.pipelines.exchange.kg.builder import local_name
    from conspectus.pipelines.exchange.kg.rdf import document_of

    told: dict[str, dict[str, list[str]]] = {}
    for _, quad in document_of(path):
        if isinstance(quad.subject, ox.NamedNode) and isinstance(quad.object, ox.NamedNode | ox.Literal):
            about = told.setdefault(quad.subject.value, {})
            about.setdefault(local_name(quad.predicate.value), []).append(quad.object.value)

    def names(iris: Iterable[str]) -> tuple[str, ...]:
        labels = [told.get(iri, {}).get("label") or [_in_words(local_name(iri))] for iri in iris]
        return tuple(each[0] for each in labels)

    def kinds(wanted: set[str]) -> list[tuple[str, dict[str, list[str]]]]:
        return [(iri, about) for iri, about in told.items() if wanted & set(map(local_name, about.get("type", ())))]

    def comment(about: Mapping[str, Sequence[str]]) -> str:
        return " ".join((about.get("comment") or about.get("definition") or [""])[0].split())[:LONGEST]

    return Schema(
        {names([iri])[0]: comment(about) for iri, about in kinds(_CLASSES)},
        tuple(
            RelationType(names([iri])[0], names(about.get("domain", ())), names(about.get("range", ())), comment(about))
            for iri, about in kinds(_PROPERTIES)
        ),
    )


def _in_words(name: str) -> str:
    """Return a name of code in words.

    >>> _in_words("bornIn"), _in_words("written_by")
    ('born in', 'written by')
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()
