"""When each relation and claim holds, as each place states it: by the date in its sentence, or that of its document.

A sentence with several dates gives a relation the date nearest to its target, fewest clauses away. A date between
commas after the source belongs to the source ("Ada, born in 1815, wrote the notes"), and gives it none.
Statements of an imported graph have the dates of their qualifiers, or of a date that is one of their ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter

import regex
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Basis, Chunk, Claim, DatedFact, Document, Entity, Mention, Relation
from conspectus.storage.spilled import few_as_list, in_blocks, sorted_rows
from conspectus.storage.tables import arrow_of
from conspectus.storage.text.dates import PRECISIONS, Dated, date_of_document, dates_in, read_date
from conspectus.storage.text.literals import is_time, parse_literal

_STARTS = frozenset({"start", "start time", "start date", "from", "since", "begin", "valid from", "p580"})
_ENDS = frozenset({"end", "end time", "end date", "to", "until", "valid to", "p582"})
_MOMENTS = frozenset({"point in time", "date", "time", "year", "when", "p585"})
"""Qualifiers of a statement that have its dates."""
_CLAUSE = regex.compile(r"[,;:()，；（）]|\s(?:and|but|und|aber|et|mais|y|pero)\s")
_FAR = 1_000
"""Characters that a clause between a date and a name counts as."""

_Row = tuple[str, str, str | None, str | None, int | None, int | None]


def dated_facts(
    documents: Sequence[Document], chunks: Sequence[Chunk], knowledge: Knowledge, claims: Sequence[Claim]
) -> Sequence[DatedFact]:
    """Return the dates of all relations and claims, sorted by id: a row for each place that states one."""
    stated = _of_chunks(documents, chunks, knowledge, claims)
    found = [stated, _of_graph(knowledge.relations, knowledge.entities)]
    return few_as_list(sorted_rows(DatedFact, in_blocks(DatedFact, (row for rows in found for row in rows))))


def _of_chunks(
    documents: Sequence[Document], chunks: Sequence[Chunk], knowledge: Knowledge, claims: Sequence[Claim]
) -> Iterator[DatedFact]:
    dates = {document.id: date_of_document(document) for document in documents}
    ends = {each.id: (each.source_id, each.target_id) for each in knowledge.relations}
    of_chunk = groupby(_mentions(knowledge.mentions), key=itemgetter(0))
    claims_of: defaultdict[str, list[Claim]] = defaultdict(list)
    for claim in claims:
        claims_of[claim.chunk_id].append(claim)
    chunk, mentions = next(of_chunk, ("", iter(())))
    for each in sorted(chunks, key=lambda each: each.id):
        rows: list[_Row] = []
        if each.id == chunk:
            rows = list(mentions)
            chunk, mentions = next(of_chunk, ("", iter(())))
        own, of_document = dates_in(each.text), dates[each.document_id]
        names: defaultdict[str | None, list[int]] = defaultdict(list)
        for _, _, entity, _, start, _ in rows:
            if entity and start is not None:
                names[entity].append(start - each.start)
        for _, id_, _, relation, start, end in rows:
            if relation:
                found = _in_sentence(each, own, start, end, *(names[end_] for end_ in ends[relation]))
                yield _fact(id_, relation, None, each, found, of_document)
        for claim in claims_of[each.id]:
            span = _within(each, own, claim.start, claim.end)
            found = _of_claim(claim, span) or (span[0] if span else None)
            yield _fact(claim.id, None, claim.id, each, found, of_document)


def _mentions(mentions: Sequence[Mention]) -> Iterator[_Row]:
    """Yield chunk, id, entity, relation and span of each mention, those of a chunk together."""
    names = ["chunk_id", "id", "entity_id", "relation_id", "start", "end"]
    table = arrow_of(Mention, mentions, names).select(names).sort_by([("chunk_id", "ascending"), ("id", "ascending")])
    for batch in table.to_batches():
        yield from zip(*batch.to_pydict().values(), strict=True)


def _within(chunk: Chunk, dates: Sequence[Dated], start: int | None, end: int | None) -> list[Dated]:
    """Return the dates between two characters of the document; none without a span."""
    if start is None or end is None:
        return []
    return [each for each in dates if start <= chunk.start + each.start < end]


def _in_sentence(
    chunk: Chunk,
    dates: Sequence[Dated],
    start: int | None,
    end: int | None,
    sources: Sequence[int],
    targets: Sequence[int],
) -> Dated | None:
    """Return the date of a relation that a sentence states, None if it has none."""
    inside = _within(chunk, dates, start, end)
    if not inside or start is None or end is None:
        return None
    of_source, of_target = (
        [place for place in places if start <= chunk.start + place < end] for places in (sources, targets)
    )

    def distance(each: Dated) -> tuple[int, int]:
        spans = [sorted((place, each.start)) for place in of_target or of_source]
        return min((len(_CLAUSE.findall(chunk.text, a, b)) * _FAR + b - a, each.start) for a, b in spans or [[0, 0]])

    best = min(inside, key=distance)
    before = max((place for place in of_source if place < best.start), default=None)
    after = min((place for place in of_target if place > best.end), default=None)
    if before is None or after is None:
        return best
    return None if "," in chunk.text[before : best.start] and "," in chunk.text[best.end : after] else best


def _of_claim(claim: Claim, stated: Sequence[Dated]) -> Dated | None:
    """Return the interval that a model states for a claim, at the expression of its quotation that says the same."""
    first, last = (read_date(each or "") for each in (claim.start_date, claim.end_date))
    made = _joined(first, last)
    same = (each for each in stated if made and (each.first, each.last) == (made.first, made.last))
    return next(same, made)


def _joined(first: Dated | None, last: Dated | None) -> Dated | None:
    """Return the interval from one date to another; open where there is none."""
    known = [each for each in (first, last) if each]
    if not known:
        return None
    precision = max((each.precision for each in known), key=list(PRECISIONS).index)
    made = Dated(first.first if first else None, last.last if last else None, precision)
    return made if made.first is None or made.last is None or made.first <= made.last else None


def _fact(
    id_: str, relation: str | None, claim: str | None, chunk: Chunk, stated: Dated | None, document: Dated | None
) -> DatedFact:
    found, basis = stated or document, _basis(stated, document)
    if found is None:
        return DatedFact(id_, relation, claim, chunk.id, None, None, "", basis, None, None)
    has_words = stated is not None and stated.end > 0
    start, end = (chunk.start + found.start, chunk.start + found.end) if has_words else (None, None)
    return DatedFact(id_, relation, claim, chunk.id, found.first, found.last, found.precision, basis, start, end)


def _basis(stated: Dated | None, document: Dated | None) -> Basis:
    return "stated" if stated else "document" if document else "none"


def _of_graph(relations: Iterable[Relation], entities: Sequence[Entity]) -> Iterator[DatedFact]:
    """Yield the dates of statements of an imported graph."""
    names: Mapping[str, str] = {}
    for relation in relations:
        statements: list[tuple[Dated, int]] = []
        for number, parts in groupby(relation.qualifiers, key=lambda each: each.statement):
            if found := _of_qualifiers([(each.predicate.casefold(), each.value) for each in parts]):
                statements.append((found, number))
        if not statements and not relation.chunk_ids:
            names = names or {entity.id: entity.name for entity in entities}
            for id_ in (relation.target_id, relation.source_id):
                literal = parse_literal(names[id_])
                if literal and is_time(literal) and (found := read_date(names[id_])):
                    statements.append((found, 0))
                    break
        for found, number in statements:
            yield DatedFact(
                short_id("dated", relation.id, str(number)),
                relation.id,
                claim_id=None,
                chunk_id=None,
                first=found.first,
                last=found.last,
                precision=found.precision,
                basis="stated",
                start=None,
                end=None,
            )


def _of_qualifiers(parts: Iterable[tuple[str, str]]) -> Dated | None:
    read: dict[int, Dated] = {}
    for predicate, value in parts:
        for place, names in enumerate((_STARTS, _ENDS, _MOMENTS)):
            if predicate in names and (found := read_date(value)):
                read.setdefault(place, found)
    return _joined(read.get(0), read.get(1)) or read.get(2)
