"""Export the graph of an index as N-Triples or N-Quads (W3C recommendations of 2014), with the sources of statements.

Names and descriptions are exact; the texts of documents are not included. `conspectus index --kg` reads the graph (see
kg/rdf.py). The IRIs are explained in rdf_terms.py.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from conspectus.pipelines.exchange.export_result import ExportResult
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
    tables = (
        ("entities", (_entity(entity) for entity in index.rows(Entity))),
        ("relations", (lines_of(relation) for relation in index.rows(Relation))),
        ("mentions", (_mention(mention) for mention in index.rows(Mention))),
        ("chunks", (_chunk(chunk) for chunk in index.rows(Chunk))),
        ("documents", (_document(document) for document in index.rows(Document))),
    )
    rows: dict[str, int] = {}
    triples = 0
    with to.open("w", encoding="utf-8", newline="\n") as stream:
        for table, several in tables:
            rows[table] = 0
            for lines in several:
                for line in lines:
                    stream.write(f"{line} .\n")
                    triples += 1
                rows[table] += 1
        predicates = sorted({relation.predicate for relation in index.rows(Relation)} - {""})
        for predicate in predicates:
            stream.write(f"{_predicate(predicate)} {iri(terms.LABEL)} {literal(predicate)} .\n")
    return ExportResult((to,), {"triples": triples + len(predicates), **rows})


def _entity(entity: Entity) -> Iterator[str]:
    subject = iri(terms.ENTITY + entity.id)
    yield f"{subject} {iri(terms.LABEL)} {literal(entity.name)}"
    for kind in entity.types:
        yield f"{subject} {iri(terms.RDF + 'type')} {iri(terms.TYPE_OF + quote(kind, safe=''))}"
    types = json.dumps(entity.types, ensure_ascii=False)
    yield f"{subject} {_own('types')} {literal(types, terms.RDF + 'JSON')}"
    if entity.description:
        yield f"{subject} {iri(terms.DESCRIPTION)} {literal(entity.description)}"
    yield f"{subject} {_own('frequency')} {_number(entity.frequency)}"
    yield f"{subject} {_own('degree')} {_number(entity.degree)}"


def _relation(relation: Relation) -> Iterator[str]:
    subject = iri(terms.RELATION + relation.id)
    parts = (
        iri(terms.ENTITY + relation.source_id),
        _predicate(relation.predicate),
        iri(terms.ENTITY + relation.target_id),
    )
    yield " ".join(parts)
    yield f"{subject} {iri(terms.RDF + 'type')} {iri(terms.RDF + 'Statement')}"
    for name, part in zip(("subject", "predicate", "object"), parts, strict=True):
        yield f"{subject} {iri(terms.RDF + name)} {part}"
    yield f"{subject} {_own('weight')} {_number(relation.weight)}"
    if relation.strength is not None:
        yield f"{subject} {_own('strength')} {_number(relation.strength)}"
    if relation.description:
        yield f"{subject} {iri(terms.DESCRIPTION)} {literal(relation.description)}"
    if relation.qualifiers:
        told = [
            [(each.predicate, each.value) for each in statement]
            for _, statement in groupby(relation.qualifiers, key=lambda each: each.statement)
        ]
        yield f"{subject} {_own('qualifiers')} {literal(json.dumps(told, ensure_ascii=False), terms.RDF + 'JSON')}"
    for chunk in relation.chunk_ids:
        yield f"{subject} {iri(terms.DERIVED)} {iri(terms.CHUNK + chunk)}"


def _mention(mention: Mention) -> Iterator[str]:
    subject = iri(terms.MENTION + mention.id)
    of = terms.ENTITY + mention.entity_id if mention.entity_id else terms.RELATION + (mention.relation_id or "")
    yield f"{subject} {_own('of')} {iri(of)}"
    yield f"{subject} {iri(terms.DERIVED)} {iri(terms.CHUNK + mention.chunk_id)}"
    yield f"{subject} {_own('match')} {literal(mention.match)}"
    if mention.surface:
        yield f"{subject} {_own('surface')} {literal(mention.surface)}"
    if mention.description:
        yield f"{subject} {iri(terms.DESCRIPTION)} {literal(mention.description)}"
    if mention.start is not None and mention.end is not None:
        yield from _span(subject, mention.start, mention.end)


def _chunk(chunk: Chunk) -> Iterator[str]:
    subject = iri(terms.CHUNK + chunk.id)
    yield f"{subject} {iri(terms.DERIVED)} {iri(_document_iri(chunk.document_id))}"
    yield from _span(subject, chunk.start, chunk.end)


def _document(document: Document) -> Iterator[str]:
    subject = iri(_document_iri(document.id))
    if document.title:
        yield f"{subject} {iri(terms.LABEL)} {literal(document.title)}"
    yield f"{subject} {_own('uri')} {literal(document.uri)}"
    yield f"{subject} {_own('sha256')} {literal(document.sha256)}"


def _span(subject: str, start: int, end: int) -> Iterator[str]:
    """Yield the place in the document, in characters, the end exclusive."""
    yield f"{subject} {_own('start')} {_number(start)}"
    yield f"{subject} {_own('end')} {_number(end)}"


def _document_iri(id_: str) -> str:
    return terms.DOCUMENT + quote(id_, safe="")  # ids from the input may be any text


def _predicate(text: str) -> str:
    return iri(terms.PREDICATE + quote(text, safe=""))


def _own(column: str) -> str:
    return iri(terms.VOCABULARY + column)


def _number(value: float) -> str:
    return literal(repr(value), terms.XSD + ("integer" if isinstance(value, int) else "double"))
