"""Read triples with pyoxigraph: N-Triples and N-Quads line by line; Turtle, RDF/XML and JSON-LD as a whole."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

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
from conspectus.pipelines.exchange.kg.files import BOM, blocks_of, lines_of, suffix_of
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage import rdf_terms as terms
from conspectus.storage.errors import InputError
from conspectus.storage.rdf_terms import OWN

if TYPE_CHECKING:
    import pyoxigraph as ox

_DEEPEST = 1000
"""Most marks `<<` in a line or document: pyoxigraph ends the process at a triple that contains 100,000 others."""
FORMATS = {
    ".nt": "N_QUADS", ".nq": "N_QUADS", ".ttl": "TURTLE", ".rdf": "RDF_XML", ".owl": "RDF_XML", ".jsonld": "JSON_LD"
}  # fmt: skip
LABELS = {
    "http://www.w3.org/2000/01/rdf-schema#label": 0,
    "http://www.w3.org/2004/02/skos/core#prefLabel": 1,
}
"""Predicates whose object is a label of the subject, with their rank; they do not become triples."""


def read_rdf(path: Path, into: GraphBuilder, language: str) -> None:
    """Read the triples of a file: IRIs and blank nodes are ids, literals are names, and labels name the ids.

    Literals in languages other than `language` are left out, and a note gives their number. A label in another language
    is used only if there is no other. The names of graphs are ignored. Statements that Conspectus exported are read by
    `OwnStatements`. A line that is not a triple is a failure.

    Raises:
        InputError: A document in Turtle, RDF/XML or JSON-LD is malformed.
    """
    import pyoxigraph as ox

    foreign = 0
    own = OwnStatements(path, into)
    blanks: dict[str, str] = {}
    is_lines = FORMATS[suffix_of(path)] == "N_QUADS"

    def id_of(node: "ox.NamedNode | ox.BlankNode") -> str:
        if isinstance(node, ox.NamedNode):
            return node.value
        # pyoxigraph gives the nodes of a document random labels; a label is only unique within its file
        label = node.value if is_lines else blanks.setdefault(node.value, f"b{len(blanks)}")
        return f"_:{label}@{path.name}"

    for item, quad in _lines(path, into) if is_lines else _document(path):
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
                into.add(into.id(subject), into.predicate(predicate), into.id(target))
            continue
        value, distance = object_.value, _distance(object_.language, language)
        if subject.startswith(OWN):
            own.take(item, subject, predicate, value, "")
        elif not value.strip():
            into.fail(item, "an empty literal", str(quad))
        elif predicate in LABELS:
            into.label(subject, value, 10 * distance + LABELS[predicate])
        elif distance > 2:
            foreign += 1
        else:
            name = into.name(_with_unit(value, object_.datatype.value))
            into.add(into.id(subject), into.predicate(predicate), name)
    own.end()
    if foreign:
        into.notes.append(f"{foreign:,} texts of {path.name} in other languages left out (kg.language is {language})")


def _lines(path: Path, into: GraphBuilder) -> "Iterator[tuple[str, ox.Quad]]":
    for number, line in lines_of(path):
        item = f"{path.name}:{number}"
        try:
            yield from [(item, quad) for quad in _parsed(line, path)]
        except SyntaxError as error:
            into.fail(item, "not a triple of N-Triples", f"{error.msg}: {line.decode('utf-8', 'replace')}")


def _document(path: Path) -> "Iterator[tuple[str, ox.Quad]]":
    from lxml import etree

    content = b"".join(blocks_of(path)).removeprefix(BOM)
    try:
        # pyoxigraph limits neither depth nor the text of entities; these parsers do
        if FORMATS[suffix_of(path)] == "JSON_LD":
            json.loads(content)
        elif FORMATS[suffix_of(path)] == "RDF_XML":
            etree.fromstring(content, etree.XMLParser(no_network=True, load_dtd=False, huge_tree=False))
        for quad in _parsed(content, path, f"file:///{quote(path.name)}"):
            yield path.name, quad
    except (SyntaxError, ValueError, RecursionError) as error:
        raise InputError(f"{path} cannot be read: {' '.join(str(error).split())}") from error


def _parsed(content: bytes, path: Path, base: str | None = None) -> "Iterator[ox.Quad]":
    import pyoxigraph as ox

    if content.count(b"<<") > _DEEPEST:
        raise SyntaxError(f"more than {_DEEPEST:,} marks <<")
    return ox.parse(content, getattr(ox.RdfFormat, FORMATS[suffix_of(path)]), base_iri=base, lenient=True)


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

    def __init__(self, path: Path, into: GraphBuilder) -> None:
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
            into.add(into.id(subject), predicate_of(into, predicate), into.id(thing))
        elif predicate in _PARTS and (value is None) == predicate.startswith(terms.RDF):
            about[_PARTS[predicate]] = thing if value is None else value

    def end(self) -> None:
        """Add the entities and relations to the graph after all statements."""
        into = self._into
        for ordinal, (iri, about) in enumerate(self._entities.items()):
            types, description = types_of(about.get("types", "")), about.get("description", "")
            row = self._row(iri, ordinal, description, types)
            into.thing(into.id(iri), ThingAttributes(types, description, (row,)))
        for ordinal, (iri, about) in enumerate(self._relations.items()):
            source, said, target = (about.get(part, "") for part in ("subject", "predicate", "object"))
            if not source or not target or not said.startswith(terms.PREDICATE):
                into.fail(about["item"], "a relation without subject, predicate and object", iri)
                continue
            description = about.get("description", "")
            weight = into.measured(about["item"], "weight", about.get("weight", ""), weight_of)
            attributes = TripleAttributes(
                1.0 if weight is None else weight,
                into.measured(about["item"], "strength", about.get("strength", ""), strength_of),
                description,
                (self._row(iri, ordinal, description),),
                _statements_of(about.get("qualifiers", "")),
            )
            into.add_with_attributes(into.id(source), predicate_of(into, said), into.id(target), attributes)
        if self._left_out:
            into.notes.append(
                f"{self._left_out:,} statements of {self._path.name} about documents and mentions left out: "
                "a graph is read without them"
            )

    def _row(self, iri: str, ordinal: int, description: str, types: Sequence[str] = ()) -> ForeignRow:
        return ForeignRow(self._path.name, iri, ordinal, details_of({}, description, types))


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
