"""The schema of a domain: the types of entities and relations that an extraction should have (docs/schema.md).

It steers a model's extraction; what does not fit it is found later (pipelines/resolution/fit_schema.py).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Annotated

from conspectus.prompts.render import render
from conspectus.storage.errors import InputError, SettingsError
from conspectus.storage.text.nlp import CONCEPT, NAME, TITLE
from conspectus.storage.text.normalise import entity_key
from pydantic import BaseModel, BeforeValidator, Field, StringConstraints, ValidationError

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
    path = Path(file)
    try:
        return _read(path.absolute(), path.stat().st_mtime_ns) if file else None
    except (OSError, ValueError, InputError) as error:
        raise SettingsError(f"extraction.schema: {file}: {error}") from error


@lru_cache(maxsize=1)
def _read(path: Path, _changed: int) -> Schema:
    """Return the schema in a file that was last changed then; a build asks for it several times."""
    from conspectus.pipelines.exchange.kg.rdf import FORMATS

    schema = _of_ontology(path) if path.suffix.lower() in FORMATS else _of_yaml(path)
    if not schema.entities:
        raise ValueError("it has no types of entities")
    return schema


def _of_yaml(path: Path) -> Schema:
    from yaml import BaseLoader, YAMLError, load

    try:
        found = load(path.read_text("utf-8"), BaseLoader)  # noqa: S506  (every value is a text: `on` is a name)
    except (YAMLError, RecursionError) as error:
        raise ValueError(f"not YAML: {' '.join(str(error).split())}") from error
    try:
        file = _File.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}".lstrip(": ")) from error
    relations = [RelationType(name, of.source, of.target, of.description) for name, of in file.relations.items()]
    return Schema(file.entities, tuple(relations))


_Text = Annotated[str, StringConstraints(strip_whitespace=True, max_length=LONGEST)]
_Types = Annotated[tuple[str, ...], BeforeValidator(lambda value: [value] if isinstance(value, str) else value)]


class _Relation(BaseModel, extra="forbid"):
    source: _Types = Field((), alias="from")
    target: _Types = Field((), alias="to")
    description: _Text = ""


class _File(BaseModel, extra="forbid"):
    """A file of a schema; a list of types has no descriptions."""

    entities: Annotated[
        dict[str, _Text], BeforeValidator(lambda value: dict.fromkeys(value, "") if isinstance(value, list) else value)
    ]
    relations: dict[str, _Relation] = {}


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
