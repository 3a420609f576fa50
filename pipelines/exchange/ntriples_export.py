"""Export the graph of an index as N-Triples or N-Quads (W3C recommendations of 2014), with the sources of statements.

Names and descriptions are exact; the texts of documents are not included. `conspectus index --kg` reads the graph (see
kg/rdf.py). The IRIs are explained in rdf_terms.py.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.exports import ExportResult
from conspectus.storage import rdf_terms as terms
from conspectus.storage.index import StoredIndex
from conspectus.storage.rdf_terms import iri, literal
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation


def write_ntriples(index: StoredIndex, to: Path) -> ExportResult:
    """Write entities, relations, and the mentions, chunks and documents that they come from, to the file `to`."""
    return _write(index, to, _relation)


def write_nquads(index: StoredIndex, to: Path) -> ExportResult:
    """Write the same as N-Quads: a relation is in the graph of each chunk that states it, named by the chunk's IRI."""
    return _write(index, to, _relation_by_chunk)


def _relation_by_chunk(relation: Relation) -> Iterator[str]:
    triple, *others = _relation(relation)
    yield from (f"{triple} {iri(terms.CHUNK + chunk)}" for chunk in relation.chunk_ids)
    yield from others if relation.chunk_ids else (triple, *others)


def _write(index: StoredIndex, to: Path, lines_of: Callable[[Relation], Iterable[str]]) -> ExportResult:
    rows: dict[str, int] = {}
    triples = 0
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        for record in (Entity, Relation, Mention, Chunk, Document):
            made: list[Any] = index.rows(record)
            rows[StoredIndex.table_name(record)] = len(made)
            for line in chain.from_iterable(map(lines_of if record is Relation else _described, made)):
                stream.write(f"{line} .\n")
                triples += 1
        predicates = sorted({relation.predicate for relation in index.rows(Relation)} - {""})
        for predicate in predicates:
            stream.write(f"{_predicate(predicate)} {iri(terms.LABEL)} {literal(predicate)} .\n")
    return ExportResult((to,), {"triples": triples + len(predicates), **rows})


def _relation(relation: Relation) -> Iterator[str]:
    subject = iri(terms.RELATION + relation.id)
    source, target = iri(terms.ENTITY + relation.source_id), iri(terms.ENTITY + relation.target_id)
    parts = {"subject": source, "predicate": _predicate(relation.predicate), "object": target}
    yield " ".join(parts.values())
    yield f"{subject} {iri(terms.RDF + 'type')} {iri(terms.RDF + 'Statement')}"
    for name, part in parts.items():
        yield f"{subject} {iri(terms.RDF + name)} {part}"
    yield from _columns(subject, relation, "weight", "strength", "description")
    if relation.qualifiers:
        told = [
            [(each.predicate, each.value) for each in statement]
            for _, statement in groupby(relation.qualifiers, key=lambda each: each.statement)
        ]
        yield f"{subject} {iri(terms.VOCABULARY + 'qualifiers')} {_object(told)}"
    for chunk in relation.chunk_ids:
        yield f"{subject} {iri(terms.DERIVED)} {iri(terms.CHUNK + chunk)}"


def _described(row: Entity | Mention | Chunk | Document) -> Iterator[str]:
    columns: tuple[str, ...]
    match row:
        case Entity():
            subject, columns = iri(terms.ENTITY + row.id), ("types", "description", "frequency", "degree")
            yield f"{subject} {iri(terms.LABEL)} {literal(row.name)}"
            for kind in row.types:
                yield f"{subject} {iri(terms.RDF + 'type')} {iri(terms.named(terms.TYPE_OF, kind))}"
        case Mention():
            subject, columns = iri(terms.MENTION + row.id), ("match", "surface", "description", "start", "end")
            of = terms.ENTITY + row.entity_id if row.entity_id else terms.RELATION + (row.relation_id or "")
            yield f"{subject} {iri(terms.VOCABULARY + 'of')} {iri(of)}"
            yield f"{subject} {iri(terms.DERIVED)} {iri(terms.CHUNK + row.chunk_id)}"
        case Chunk():
            subject, columns = iri(terms.CHUNK + row.id), ("start", "end")
            yield f"{subject} {iri(terms.DERIVED)} {iri(terms.named(terms.DOCUMENT, row.document_id))}"
        case Document():
            subject, columns = iri(terms.named(terms.DOCUMENT, row.id)), ("uri", "sha256")
            if row.title:
                yield f"{subject} {iri(terms.LABEL)} {literal(row.title)}"
    yield from _columns(subject, row, *columns)


def _predicate(text: str) -> str:
    return iri(terms.named(terms.PREDICATE, text))


def _columns(subject: str, record: object, *columns: str) -> Iterator[str]:
    """Yield the cells of a record that are not empty. `start` and `end` are characters of the document."""
    for column in columns:
        value = getattr(record, column)
        if value is not None and value != "":
            predicate = terms.DESCRIPTION if column == "description" else terms.VOCABULARY + column
            yield f"{subject} {iri(predicate)} {_object(value)}"


def _object(value: object) -> str:
    if isinstance(value, str):
        return literal(value)
    if isinstance(value, int | float):
        return literal(repr(value), terms.XSD + ("integer" if isinstance(value, int) else "double"))
    return literal(json.dumps(value, ensure_ascii=False), terms.RDF + "JSON")
