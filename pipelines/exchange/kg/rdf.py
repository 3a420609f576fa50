"""Read triples with pyoxigraph: N-Triples and N-Quads line by line; Turtle, TriG, RDF/XML and JSON-LD as a whole."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from conspectus.pipelines.exchange.kg.builder import (
    ALTERNATIVE,
    ForeignRow,
    ThingAttributes,
    TripleAttributes,
    local_name,
    strength_of,
    types_of,
)
from conspectus.pipelines.exchange.kg.statements import BOM, Statements, lines_of, opened, suffix_of, thing_with_id
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage import rdf_terms as terms
from conspectus.storage.errors import InputError
from conspectus.storage.rdf_terms import OWN
from conspectus.storage.settings import KgSettings

if TYPE_CHECKING:
    import pyoxigraph as ox

_DEEPEST = 1000
"""Most marks `<<` in a line: pyoxigraph ends the process at a triple that contains 100,000 others."""
FORMATS = {
    ".nt": "N_QUADS", ".nq": "N_QUADS", ".ttl": "TURTLE", ".n3": "N3", ".trig": "TRIG", ".rdf": "RDF_XML",
    ".owl": "RDF_XML", ".xml": "RDF_XML", ".jsonld": "JSON_LD",
}  # fmt: skip
_NAMES = {"label": 1, "prefLabel": 2, "name": 3}
_TITLES = ("http://purl.org/dc/terms/title", "http://purl.org/dc/elements/1.1/title")
_ALTERNATIVES = frozenset(("altLabel", "hiddenLabel", "alternateName", "alias"))
_DESCRIPTIONS = frozenset(("comment", "definition", "description", "abstract"))
"""The last parts of predicates whose object is a label of the subject (with its rank), a further name, or its
description, in RDFS, SKOS, schema.org, FOAF, Dublin Core and DBpedia."""


def read_rdf(path: Path, into: Statements, settings: KgSettings) -> None:
    """Read the triples of a file: IRIs and blank nodes are ids, literals are names, and labels name the ids.

    Literals in languages other than `settings.language` are left out, and a note gives their number. A label in
    another language is a further name, as alternative labels are, and is displayed only if there is no other. The names
    of graphs are ignored. Statements that Conspectus exported are read by `OwnStatements`. In N-Triples, a line that is
    not a triple is a failure.

    Raises:
        InputError: A document in another syntax is malformed.
    """
    import pyoxigraph as ox

    foreign = 0
    own = OwnStatements(path, into)
    blanks: dict[str, str] = {}
    format_ = FORMATS.get(suffix_of(path), "JSON_LD")
    into.form(f"{path.name}: RDF")

    def id_of(node: "ox.NamedNode | ox.BlankNode") -> str:
        if isinstance(node, ox.NamedNode):
            return node.value
        # pyoxigraph gives the nodes of a document random labels; a label is only unique within its file
        label = node.value if format_ == "N_QUADS" else blanks.setdefault(node.value, f"b{len(blanks)}")
        return f"_:{label}@{path.name}"

    for item, quad in _lines(path, into) if format_ == "N_QUADS" else document_of(path):
        predicate, object_ = quad.predicate.value, quad.object
        if isinstance(object_, ox.Triple) or isinstance(quad.subject, ox.Triple):
            into.fail(item, "a triple within a triple", str(quad))
            continue
        subject = id_of(quad.subject)
        if not isinstance(object_, ox.Literal):
            target = id_of(object_)
            if subject.startswith(OWN):
                own.take(item, subject, predicate, None, target)
            else:
                into.add(thing_with_id(subject), predicate, thing_with_id(target))
            continue
        value, distance, last = object_.value, _distance(object_.language, settings.language), local_name(predicate)
        if subject.startswith(OWN):
            own.take(item, subject, predicate, value, "")
        elif not value.strip():
            into.fail(item, "an empty literal", str(quad))
        elif last in _NAMES or predicate in _TITLES:
            into.label(subject, value, 10 * distance + _NAMES.get(last, len(_NAMES) + 1))
        elif last in _ALTERNATIVES:
            into.label(subject, value, ALTERNATIVE + distance)
        elif distance > 2:
            foreign += 1
        else:
            if last in _DESCRIPTIONS:
                into.thing(thing_with_id(subject), ThingAttributes((), " ".join(value.split())))
            name = _with_unit(value, object_.datatype.value)
            into.add(thing_with_id(subject), predicate, name)
    own.end()
    if foreign:
        into.note(f"{foreign:,} texts of {path.name} in other languages left out (kg.language is {settings.language})")


def _lines(path: Path, into: Statements) -> "Iterator[tuple[str, ox.Quad]]":
    import pyoxigraph as ox

    for number, line in lines_of(path):
        item = f"{path.name}:{number}"
        try:
            if line.count(b"<<") > _DEEPEST:
                raise SyntaxError(f"more than {_DEEPEST:,} marks <<")
            yield from [(item, quad) for quad in ox.parse(line, ox.RdfFormat.N_QUADS, lenient=True)]
        except SyntaxError as error:
            into.fail(item, "not a triple of N-Triples", f"{error.msg}: {line.decode('utf-8', 'replace')}")


def document_of(path: Path) -> "Iterator[tuple[str, ox.Quad]]":
    """Yield the name of a file and each of its quads; InputError if it is malformed."""
    import pyoxigraph as ox

    format_ = FORMATS.get(suffix_of(path), "JSON_LD")
    try:
        with opened(path) as stream:
            if stream.read(len(BOM)) != BOM:
                stream.seek(0)
            base = f"file:///{quote(path.name)}"
            for quad in ox.parse(stream, getattr(ox.RdfFormat, format_), base_iri=base, lenient=True):
                yield path.name, quad
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _with_unit(value: str, datatype: str) -> str:
    """Return the text of a literal; DBpedia states the unit of a number by its datatype.

    >>> _with_unit("94.0", "http://dbpedia.org/datatype/minute"), _with_unit("94", terms.XSD + "integer")
    ('94.0 minute', '94')
    """
    if datatype.startswith((terms.XSD, terms.RDF)) or strength_of(value) is None:
        return value
    return f"{value} {local_name(datatype)}"


def _distance(tag: str | None, language: str) -> int:
    """Return 0 for the wanted language, 1 for a variant of it (en-GB for en), 2 for no language, 3 for another."""
    if not tag:
        return 2
    wanted, has = language.lower(), tag.lower()
    if has == wanted:
        return 0
    return 1 if has.split("-")[0] == wanted.split("-")[0] else 3


_PARTS = {
    terms.DESCRIPTION: "description",
    **{terms.VOCABULARY + name: name for name in ("types", "weight", "strength", "qualifiers")},
    **{terms.RDF + name: name for name in ("subject", "predicate", "object")},
}


class OwnStatements:
    """Collects the statements whose subject is an IRI of Conspectus, in any order: types, descriptions, weights."""

    def __init__(self, path: Path, into: Statements) -> None:
        self._path = path
        self._into = into
        self._entities: dict[str, dict[str, str]] = {}
        self._relations: dict[str, dict[str, str]] = {}
        self._left_out = 0

    def take(self, item: str, subject: str, predicate: str, value: str | None, thing: str) -> None:
        """Add a statement; `value` is its literal, None if its object is the IRI `thing`."""
        into, is_entity = self._into, subject.startswith(terms.ENTITY)
        if not is_entity and not subject.startswith(terms.RELATION):
            self._left_out += not subject.startswith(terms.PREDICATE)
            return
        about = (self._entities if is_entity else self._relations).setdefault(subject, {"item": item})
        if is_entity and predicate == terms.LABEL and value is not None:
            into.label(subject, value)
        elif is_entity and predicate.startswith(terms.PREDICATE) and value is None:
            into.add(thing_with_id(subject), predicate_of(into, predicate), thing_with_id(thing))
        elif predicate in _PARTS and (value is None) == predicate.startswith(terms.RDF):
            about[_PARTS[predicate]] = thing if value is None else value

    def end(self) -> None:
        """Add the entities and relations to the graph after all statements."""
        into = self._into
        for ordinal, (iri, about) in enumerate(self._entities.items()):
            types, description = types_of(about.get("types", "")), about.get("description", "")
            row = ForeignRow(self._path.name, iri, ordinal).of(description, types)
            into.thing(thing_with_id(iri), ThingAttributes(types, description, (row,)))
        for ordinal, (iri, about) in enumerate(self._relations.items()):
            source, said, target = (about.get(part, "") for part in ("subject", "predicate", "object"))
            if not source or not target or not said.startswith(terms.PREDICATE):
                into.fail(about["item"], "a relation without subject, predicate and object", iri)
                continue
            description = about.get("description", "")
            row = ForeignRow(self._path.name, iri, ordinal).of(description)
            qualifiers = _statements_of(about.get("qualifiers", ""))
            measures = into.measures(about["item"], about)
            attributes = TripleAttributes(*measures, description, (row,), qualifiers)
            into.add(thing_with_id(source), predicate_of(into, said), thing_with_id(target), attributes)
        if self._left_out:
            into.note(
                f"{self._left_out:,} statements of {self._path.name} about documents and mentions left out: "
                "a graph is read without them"
            )


def _statements_of(text: str) -> tuple[tuple[tuple[str, str], ...], ...]:
    """Return the qualifiers in our own JSON (a list of statements, each a list of pairs), empty for other text."""
    try:
        statements = json.loads(text) if text else []
        return tuple(tuple((clean(str(said)), clean(str(value))) for said, value in each) for each in statements)
    except (ValueError, TypeError, RecursionError):
        return ()


def predicate_of(into: Statements, iri: str) -> str:
    """Return the predicate that one of our IRIs represents."""
    return into.shown_predicate(clean(unquote(iri.removeprefix(terms.PREDICATE), errors="replace")))
