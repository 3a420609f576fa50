"""The graph of an index as an RDF store for SPARQL, derived from its tables.

The store is made on the first query of a version (see `conspectus.storage.derived`).

Its content (prefixes are those of `PREFIXES`):

    e:<id> rdfs:label "Grey Heron"             the name of an entity; a label of its own for each
    e:<id> a t:PERSON                          its types, if it has others than that it is a name
    e:<id> dcterms:description "..."           its description
    e:<id> p:directed_by e:<id>                a relation; the text of its predicate is percent-encoded
    e:<id> v:release_year 1974                 the same if the object is a literal, typed from its text
    r:<id>/<n> rdf:subject e:<id>; rdf:predicate p:<text>; rdf:object e:<id>; q:start 1990
                                               a statement with qualifiers: start, end, role, ...

Typed literals: xsd:integer and xsd:decimal for numbers and years, xsd:date and xsd:gYearMonth, xsd:dayTimeDuration; a
quantity is a number in its base unit (metres, kilograms, litres, bytes; others as they are stated).
"""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, cast

from conspectus.storage import rdf_terms as terms
from conspectus.storage.cancellation import check
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.rdf_terms import iri, literal, named
from conspectus.storage.records import Entity, Relation
from conspectus.storage.text.literals import Literal, parse_literal
from conspectus.storage.text.nlp import CONCEPT, NAME

if TYPE_CHECKING:
    import pyarrow as pa

PREFIXES = {
    "e": terms.ENTITY,
    "p": terms.PREDICATE,
    "v": terms.VALUE,
    "r": terms.RELATION,
    "q": terms.QUALIFIER,
    "t": terms.TYPE_OF,
    "rdf": terms.RDF,
    "rdfs": terms.LABEL.removesuffix("label"),
    "xsd": terms.XSD,
    "dcterms": terms.DESCRIPTION.removesuffix("description"),
}
"""Prefixes that queries may use without declaring them."""

_FORM = 1
"""Raised when the content of a store changes."""
_LOADED_AT_ONCE = 32 << 20
"""Bytes of triples that are loaded at once: three million take .25 GB and 31 s so, .46 and 27 with twice as many."""


@per_index
def open_store(index: StoredIndex) -> Path:
    """Return the folder of the index's store, made on first use.

    Raises:
        IndexCorrupt: The tables hold what cannot be written as RDF.
    """
    return derived_folder(index, "sparql", _FORM, lambda folder: _write(index, folder))


def _write(index: StoredIndex, folder: Path) -> None:
    import pyoxigraph as ox

    lines = folder.with_name(f"{folder.name}.nt")
    try:
        with lines.open("wb") as stream:
            for text in chain(_entities(index), _qualifiers(index)):
                check()
                stream.write(text.encode())
            for block in _relations(index):
                check()
                stream.write(block)
        store = ox.Store(str(folder))
        for triples in _whole_lines(lines):
            check()
            store.bulk_load(input=triples, format=ox.RdfFormat.N_TRIPLES)
        store.flush()
    except (SyntaxError, ValueError) as error:
        raise IndexCorrupt(f"{index.root}: its graph cannot be written as RDF: {error}") from error
    finally:
        lines.unlink(missing_ok=True)


def _whole_lines(path: Path) -> Iterator[bytes]:
    """Yield a file in blocks of whole lines."""
    rest: bytes = b""
    with path.open("rb") as stream:
        while data := stream.read(_LOADED_AT_ONCE):
            end = data.rfind(b"\n") + 1
            if end:
                yield rest + data[:end]
            rest = data[end:] if end else rest + data
    if rest:
        yield rest


def _entities(index: StoredIndex) -> Iterator[str]:
    table = index.arrow(Entity, "id", "name", "types", "description")
    for batch in table.to_batches(max_chunksize=_BLOCK):
        lines: list[str] = []
        columns = [batch.column(name).to_pylist() for name in table.column_names]
        for id_, name, types, description in zip(*columns, strict=True):
            subject = iri(terms.ENTITY + id_)
            lines.append(f"{subject} {_LABEL} {literal(name)} .\n")
            lines += [
                f"{subject} {_TYPE} {iri(named(terms.TYPE_OF, kind))} .\n" for kind in types if kind not in _PLAIN
            ]
            if description:
                lines.append(f"{subject} {_DESCRIPTION} {literal(description)} .\n")
        yield "".join(lines)


def _relations(index: StoredIndex) -> Iterator[memoryview]:
    import pyarrow as pa
    import pyarrow.compute as pc

    values = _values(index)
    literal_ids = pa.array(values.keys(), pa.string())
    typed = pa.array(values.values(), pa.string())
    for batch in index.arrow(Relation, "source_id", "predicate", "target_id").to_batches(max_chunksize=_BLOCK):
        said = batch.column("predicate").dictionary_encode()
        # arrays of texts are joined without a loop, and written as they lie in memory
        for prefix in (terms.PREDICATE, terms.VALUE):
            iris = pa.array([iri(predicate_iri(text, prefix)) for text in said.dictionary.to_pylist()], pa.string())
            sources, stated, targets = batch.column("source_id"), iris.take(said.indices), batch.column("target_id")
            if prefix == terms.VALUE:
                rows = pc.index_in(targets, value_set=literal_ids)
                kept = pc.is_valid(rows)
                sources, stated, objects = sources.filter(kept), stated.filter(kept), typed.take(rows.filter(kept))
            else:
                objects = pc.binary_join_element_wise(f"<{terms.ENTITY}", targets, ">", "")
            lines = pc.binary_join_element_wise(f"<{terms.ENTITY}", sources, "> ", stated, " ", objects, " .\n", "")
            if len(lines):
                size = int(pc.sum(pc.binary_length(lines)).as_py())
                yield memoryview(lines.buffers()[2])[:size]


def _values(index: StoredIndex) -> dict[str, str]:
    """Return the typed literal of each entity whose name is one."""
    table = index.arrow(Entity, "id", "name")
    found = {}
    for id_, name in zip(*(cast("pa.ChunkedArray", column).to_pylist() for column in table.columns), strict=True):
        typed = typed_literal(name)
        if typed:
            found[id_] = typed
    return found


def _qualifiers(index: StoredIndex) -> Iterator[str]:
    import pyarrow.compute as pc

    table = index.arrow(Relation, "id", "source_id", "predicate", "target_id", "qualifiers")
    table = table.filter(pc.greater(pc.list_value_length(table.column("qualifiers")), 0))
    for row in table.to_pylist():
        ends = iri(terms.ENTITY + row["source_id"]), iri(terms.ENTITY + row["target_id"])
        parts = (ends[0], iri(predicate_iri(row["predicate"])), ends[1])
        lines = []
        for qualifier in row["qualifiers"]:
            subject = iri(f"{terms.RELATION}{row['id']}/{qualifier['statement']}")
            value = typed_literal(qualifier["value"]) or literal(qualifier["value"])
            lines.append(f"{subject} {iri(named(terms.QUALIFIER, qualifier['predicate']))} {value} .\n")
            lines += [
                f"{subject} {iri(terms.RDF + name)} {part} .\n"
                for name, part in zip(("subject", "predicate", "object"), parts, strict=True)
            ]
        yield "".join(lines)


def predicate_iri(predicate: str, prefix: str = terms.PREDICATE) -> str:
    """Return the IRI of a predicate; a relation of documents that has none is stated as `p:related`."""
    return named(prefix, predicate or "related")


def typed_literal(text: str) -> str:
    """Return the typed literal that a text is, as SPARQL writes it, or "" if it is none.

    >>> typed_literal("1974"), typed_literal("Grey Heron")
    ('"1974"^^<http://www.w3.org/2001/XMLSchema#integer>', '')
    >>> typed_literal("1h 34")
    '"PT5640S"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>'
    """
    found = parse_literal(text)
    return typed(found) if found else ""


def typed(found: Literal) -> str:
    """Return a literal as SPARQL writes it, "" for a decade or a century: one value cannot stand for it."""
    if found.kind == "time":
        return _time(found)
    if found.kind == "duration":
        return literal(f"PT{_digits(found.low)}S", terms.XSD + "dayTimeDuration")
    return literal(_digits(found.low), terms.XSD + ("integer" if float(found.low).is_integer() else "decimal"))


def _time(found: Literal) -> str:
    days = found.high - found.low + 1
    year, month, day = found.date()
    if days == 1:
        return literal(f"{_year(year)}-{month:02}-{day:02}", terms.XSD + "date")
    if days <= _LONGEST_MONTH:
        return literal(f"{_year(year)}-{month:02}", terms.XSD + "gYearMonth")
    return literal(str(year), terms.XSD + "integer") if days <= _LONGEST_YEAR else ""


_LONGEST_MONTH, _LONGEST_YEAR = 31, 366
_BLOCK = 50_000
"""Rows that are written at a time."""
_PLAIN = {NAME, CONCEPT}
_LABEL, _TYPE, _DESCRIPTION = iri(terms.LABEL), iri(terms.RDF + "type"), iri(terms.DESCRIPTION)


def _year(year: int) -> str:
    return f"{'-' if year < 0 else ''}{abs(year):04}"


def _digits(number: float) -> str:
    """Return a number without an exponent, which xsd:decimal does not have."""
    return str(int(number)) if float(number).is_integer() else f"{number:.12f}".rstrip("0")
