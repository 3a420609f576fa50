"""The graph of an index as N-Triples (W3C recommendation of 2014), with where each statement comes from.

Names and descriptions stand in it to the letter; the texts of documents do not. `conspectus index --kg` reads the graph
back (see kg_own.py); what the IRIs mean is in ntriples_terms.py.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from conspectus.pipelines.exchange import rdf_terms as terms
from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Document, Entity, Mention, Relation

_SHORT = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPED = re.compile('[\\\\"\x00-\x1f\x7f-\x9f\ufffe\uffff]')


def write_ntriples(index: Index, to: Path) -> ExportResult:
    """Write entities, relations, and the mentions, chunks and documents that they come from, as one file."""
    tables = (
        ("entities", (_entity(each) for each in index.rows(Entity))),
        ("relations", (_relation(each) for each in index.rows(Relation))),
        ("mentions", (_mention(each) for each in index.rows(Mention))),
        ("chunks", (_chunk(each) for each in index.rows(Chunk))),
        ("documents", (_document(each) for each in index.rows(Document))),
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
        predicates = sorted({each.predicate for each in index.rows(Relation)} - {""})
        for each in predicates:
            stream.write(f"{_predicate(each)} {_iri(terms.LABEL)} {_literal(each)} .\n")
    return ExportResult((to,), {"triples": triples + len(predicates), **rows})


def _entity(each: Entity) -> Iterator[str]:
    subject = _iri(terms.ENTITY + each.id)
    yield f"{subject} {_iri(terms.LABEL)} {_literal(each.name)}"
    for kind in each.types:
        yield f"{subject} {_iri(terms.RDF + 'type')} {_iri(terms.TYPE_OF + quote(kind, safe=''))}"
    types = json.dumps(each.types, ensure_ascii=False)
    yield f"{subject} {_own('types')} {_literal(types, terms.RDF + 'JSON')}"
    if each.description:
        yield f"{subject} {_iri(terms.DESCRIPTION)} {_literal(each.description)}"
    yield f"{subject} {_own('frequency')} {_number(each.frequency)}"
    yield f"{subject} {_own('degree')} {_number(each.degree)}"


def _relation(each: Relation) -> Iterator[str]:
    subject = _iri(terms.RELATION + each.id)
    parts = (_iri(terms.ENTITY + each.source_id), _predicate(each.predicate), _iri(terms.ENTITY + each.target_id))
    yield " ".join(parts)
    yield f"{subject} {_iri(terms.RDF + 'type')} {_iri(terms.RDF + 'Statement')}"
    for name, part in zip(("subject", "predicate", "object"), parts, strict=True):
        yield f"{subject} {_iri(terms.RDF + name)} {part}"
    yield f"{subject} {_own('weight')} {_number(each.weight)}"
    if each.strength is not None:
        yield f"{subject} {_own('strength')} {_number(each.strength)}"
    if each.description:
        yield f"{subject} {_iri(terms.DESCRIPTION)} {_literal(each.description)}"
    for chunk in each.chunk_ids:
        yield f"{subject} {_iri(terms.DERIVED)} {_iri(terms.CHUNK + chunk)}"


def _mention(each: Mention) -> Iterator[str]:
    subject = _iri(terms.MENTION + each.id)
    of = terms.ENTITY + each.entity_id if each.entity_id else terms.RELATION + (each.relation_id or "")
    yield f"{subject} {_own('of')} {_iri(of)}"
    yield f"{subject} {_iri(terms.DERIVED)} {_iri(terms.CHUNK + each.chunk_id)}"
    yield f"{subject} {_own('match')} {_literal(each.match)}"
    if each.surface:
        yield f"{subject} {_own('surface')} {_literal(each.surface)}"
    if each.description:
        yield f"{subject} {_iri(terms.DESCRIPTION)} {_literal(each.description)}"
    if each.start is not None and each.end is not None:
        yield from _span(subject, each.start, each.end)


def _chunk(each: Chunk) -> Iterator[str]:
    subject = _iri(terms.CHUNK + each.id)
    yield f"{subject} {_iri(terms.DERIVED)} {_iri(_document_iri(each.document_id))}"
    yield from _span(subject, each.start, each.end)


def _document(each: Document) -> Iterator[str]:
    subject = _iri(_document_iri(each.id))
    if each.title:
        yield f"{subject} {_iri(terms.LABEL)} {_literal(each.title)}"
    yield f"{subject} {_own('uri')} {_literal(each.uri)}"
    yield f"{subject} {_own('sha256')} {_literal(each.sha256)}"


def _span(subject: str, start: int, end: int) -> Iterator[str]:
    """Yield where it stands, in characters of the document, the end exclusive."""
    yield f"{subject} {_own('start')} {_number(start)}"
    yield f"{subject} {_own('end')} {_number(end)}"


def _document_iri(id_: str) -> str:
    return terms.DOCUMENT + quote(id_, safe="")  # an id that the input gave may be any text


def _predicate(text: str) -> str:
    return _iri(terms.PREDICATE + quote(text, safe=""))


def _own(column: str) -> str:
    return _iri(terms.VOCABULARY + column)


def _iri(text: str) -> str:
    return f"<{text}>"


def _number(value: float) -> str:
    return _literal(repr(value), terms.XSD + ("integer" if isinstance(value, int) else "double"))


def _literal(text: str, datatype: str = "") -> str:
    escaped = _ESCAPED.sub(_escape, text)
    return f'"{escaped}"^^<{datatype}>' if datatype else f'"{escaped}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT.get(found[0]) or f"\\u{ord(found[0]):04X}"
