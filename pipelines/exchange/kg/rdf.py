"""Read triples in N-Triples (W3C recommendation of 2014), and the first three terms of N-Quads.

N-Triples is a regular language, so one pattern reads a line. pyoxigraph 0.5 is a little faster, but a line of nested
triple terms crashes the process.
"""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import unquote

from conspectus.pipelines.exchange.kg.builder import (
    ForeignRow,
    GraphBuilder,
    ThingAttributes,
    TripleAttributes,
    details_of,
    local_name,
    strength_of,
    types_of,
    weight_of,
)
from conspectus.pipelines.exchange.kg.files import lines_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage import rdf_terms as terms
from conspectus.storage.rdf_terms import OWN

_IRI = r'<((?:[^\x00-\x20<>"{}|^`\\]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})+)>'
_BLANK = r"_:([\w:](?:[\w:.\-·]*[\w:\-·])?)"
_LITERAL = rf'"((?:[^"\\\n\r]|\\.)*)"(?:\^\^{_IRI}|@([A-Za-z]+(?:-[A-Za-z0-9]+)*))?'
_LINE = re.compile(
    rf"\s*(?:{_IRI}|{_BLANK})\s*{_IRI}\s*(?:{_IRI}|{_BLANK}|{_LITERAL})\s*(?:{_IRI}|{_BLANK})?\s*\.\s*(?:#.*)?"
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))")
_SHORT = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f", '"': '"', "'": "'", "\\": "\\"}

LABELS = {
    "http://www.w3.org/2000/01/rdf-schema#label": 0,
    "http://www.w3.org/2004/02/skos/core#prefLabel": 1,
}
"""Predicates whose object is a label of the subject, with their rank; they do not become triples."""


def read_ntriples(path: Path, into: GraphBuilder, language: str) -> None:
    """Read one triple a line: IRIs and blank nodes are ids, literals are names, and labels name the ids.

    Literals in languages other than `language` are left out, and a note gives their number. A label in another language
    is used only if there is no other. A line that is not a triple is a failure. Statements that Conspectus exported are
    read by `OwnStatements`.
    """
    foreign = 0
    own = OwnStatements(path, into)
    for number, line in lines_of(path):
        item = f"{path.name}:{number}"
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            into.fail(item, "not UTF-8", line.decode("utf-8", "replace"))
            continue
        if not text.strip() or text.lstrip().startswith("#"):
            continue
        found = _LINE.fullmatch(text)
        if found is None:
            into.fail(item, "not a triple of N-Triples", text)
            continue
        iri, blank, predicate, target_iri, target_blank, literal, datatype, tag = found.groups()[:8]
        try:
            subject = unescaped(iri) if iri else _blank(blank, path)
            predicate = unescaped(predicate)
            value = None if literal is None else unescaped(literal)
            thing = unescaped(target_iri) if target_iri else _blank(target_blank, path) if target_blank else ""
        except ValueError as error:
            into.fail(item, str(error), text)
            continue
        if subject.startswith(OWN):
            own.take(item, subject, predicate, value, thing)
        elif value is not None and not value.strip():
            into.fail(item, "an empty literal", text)
        elif value is not None and predicate in LABELS:
            into.label(subject, value, 10 * _distance(tag, language) + LABELS[predicate])
        elif value is not None and _distance(tag, language) > 2:
            foreign += 1
        else:
            target = into.id(thing) if value is None else into.name(_with_unit(value, datatype))
            into.add(into.id(subject), into.predicate(predicate), target)
    own.end()
    if foreign:
        into.notes.append(f"{foreign:,} texts of {path.name} in other languages left out (kg.language is {language})")


def _with_unit(value: str, datatype: str | None) -> str:
    """Return the text of a literal; DBpedia states the unit of a number by its datatype.

    >>> _with_unit("94.0", "http://dbpedia.org/datatype/minute"), _with_unit("94", terms.XSD + "integer")
    ('94.0 minute', '94')
    """
    if not datatype or datatype.startswith((terms.XSD, terms.RDF)) or strength_of(value) is None:
        return value
    return f"{value} {local_name(datatype)}"


def unescaped(text: str) -> str:
    r"""Return a text with its escapes resolved; ValueError for an unknown escape.

    >>> unescaped(r"Caf\u00E9 \"Flore\"")
    'Café "Flore"'
    """
    return _ESCAPE.sub(_escape, text) if "\\" in text else text


def _escape(found: re.Match[str]) -> str:
    short, long, sign = found.groups()
    if sign is not None:
        if sign not in _SHORT:
            raise ValueError(f"an unknown escape \\{sign}")
        return _SHORT[sign]
    code = int(short or long, 16)
    if code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        raise ValueError(f"an escape that is not a character {found[0]}")
    return chr(code)


def _blank(label: str, path: Path) -> str:
    """Return the id of a blank node, which is only unique within its file."""
    return f"_:{label}@{path.name}"


def _distance(tag: str | None, language: str) -> int:
    """Return 0 for the wanted language, 1 for a variant of it (en-GB for en), 2 for no language, 3 for another."""
    if not tag:
        return 2
    wanted, has = language.lower(), tag.lower()
    if has == wanted:
        return 0
    return 1 if has.split("-")[0] == wanted.split("-")[0] else 3


@dataclass(slots=True)
class _Subject:
    """The statements about one subject so far: literals, and the IRIs of the parts of a relation."""

    item: str
    texts: dict[str, str] = field(default_factory=dict)
    ends: dict[str, str] = field(default_factory=dict)


_TEXTS = {
    terms.VOCABULARY + "types": "types",
    terms.DESCRIPTION: "description",
    terms.VOCABULARY + "weight": "weight",
    terms.VOCABULARY + "strength": "strength",
    terms.VOCABULARY + "qualifiers": "qualifiers",
}
_ENDS = {terms.RDF + "subject": "subject", terms.RDF + "predicate": "predicate", terms.RDF + "object": "object"}


class OwnStatements:
    """Collects the statements whose subject is an IRI of Conspectus, in any order: types, descriptions, weights."""

    def __init__(self, path: Path, into: GraphBuilder) -> None:
        self._path = path
        self._into = into
        self._entities: dict[str, _Subject] = {}
        self._relations: dict[str, _Subject] = {}
        self._left_out = 0

    def take(self, item: str, subject: str, predicate: str, value: str | None, thing: str) -> None:
        """Add a statement; `value` is its literal, None if its object is the IRI `thing`."""
        into = self._into
        if subject.startswith(terms.ENTITY):
            about = self._entities.setdefault(subject, _Subject(item))
            if predicate == terms.LABEL and value is not None:
                into.label(subject, value)
            elif predicate.startswith(terms.PREDICATE) and value is None:
                into.add(into.id(subject), predicate_of(into, predicate), into.id(thing))
            elif predicate in _TEXTS and value is not None:
                about.texts[_TEXTS[predicate]] = value
        elif subject.startswith(terms.RELATION):
            about = self._relations.setdefault(subject, _Subject(item))
            if predicate in _TEXTS and value is not None:
                about.texts[_TEXTS[predicate]] = value
            elif predicate in _ENDS and value is None:
                about.ends[_ENDS[predicate]] = thing
        elif not subject.startswith(terms.PREDICATE):
            self._left_out += 1

    def end(self) -> None:
        """Add the entities and relations to the graph after all statements."""
        into = self._into
        for ordinal, (iri, about) in enumerate(self._entities.items()):
            types, description = types_of(about.texts.get("types", "")), about.texts.get("description", "")
            into.thing(
                into.id(iri), ThingAttributes(types, description, (self._row(iri, ordinal, description, types),))
            )
        for ordinal, (iri, about) in enumerate(self._relations.items()):
            ends = about.ends
            if len(ends) < len(_ENDS) or not ends["predicate"].startswith(terms.PREDICATE):
                into.fail(about.item, "a relation without subject, predicate and object", iri)
                continue
            weight = self._measured(about, "weight", weight_of)
            attributes = TripleAttributes(
                1.0 if weight is None else weight,
                self._measured(about, "strength", strength_of),
                about.texts.get("description", ""),
                (self._row(iri, ordinal, about.texts.get("description", "")),),
                _statements_of(about.texts.get("qualifiers", "")),
            )
            into.add_with_attributes(
                into.id(ends["subject"]), predicate_of(into, ends["predicate"]), into.id(ends["object"]), attributes
            )
        if self._left_out:
            into.notes.append(
                f"{self._left_out:,} statements of {self._path.name} about documents and mentions left out: "
                "a graph is read without them"
            )

    def _row(self, iri: str, ordinal: int, description: str, types: Sequence[str] = ()) -> ForeignRow:
        return ForeignRow(self._path.name, iri, ordinal, details_of({}, description, types))

    def _measured(self, about: _Subject, name: str, read: Callable[[str], float | None]) -> float | None:
        text = about.texts.get(name)
        value = None if text is None else read(text)
        if text is not None and value is None:
            self._into.fail(about.item, f"not a {name}", text)
        return value


def _statements_of(text: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the qualifiers in our own JSON (a list of statements, each a list of pairs), empty for other text."""
    try:
        statements = json.loads(text) if text else []
        return tuple(tuple((clean(str(said)), clean(str(value))) for said, value in each) for each in statements)
    except (ValueError, TypeError, RecursionError):
        return ()


def predicate_of(into: GraphBuilder, iri: str) -> int:
    """Return the number of the predicate that one of our IRIs represents."""
    return into.literal_predicate(clean(unquote(iri.removeprefix(terms.PREDICATE), errors="replace")))
