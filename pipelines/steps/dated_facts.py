"""When each relation and claim holds, as each place states it: by the date in its sentence, or that of its document.

A relation has the date in a model's description of it. Else a sentence with several dates gives it the date nearest to
its target, fewest clauses away. A date between commas after the source belongs to the source ("Ada, born in 1815, wrote
the notes"), and gives it none.
Statements of an imported graph have the dates of their qualifiers, or of a date that is one of their ends.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter, itemgetter

import numpy as np
import regex
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Basis, Chunk, Claim, DatedFact, Document, Entity, Mention, Relation
from conspectus.storage.spilled import few_as_list, in_blocks, sorted_rows
from conspectus.storage.tables import arrow_of, batches_of, rows_among, taken
from conspectus.storage.text.dates import PRECISIONS, Dated, date_of_document, dates_in, read_date
from conspectus.storage.text.literals import is_time, parse_literal
from pyarrow import compute

_STARTS = frozenset({"start", "start time", "start date", "from", "since", "begin", "valid from", "p580"})
_ENDS = frozenset({"end", "end time", "end date", "to", "until", "valid to", "p582"})
_MOMENTS = frozenset({"point in time", "date", "time", "year", "when", "p585"})
"""Qualifiers of a statement that have its dates."""
_CLAUSE = regex.compile(r"[,;:()，；（）]|\s(?:and|but|und|aber|et|mais|y|pero)\s")
_FAR = 1_000
"""Characters that a clause between a date and a name counts as."""

_AT_ONCE = 1 << 17
"""Mentions that are read together: for each block the ids of all relations are looked at."""

_Row = tuple[str, str, str | None, str | None, int | None, int | None, str, str, str]


def dated_facts(
    documents: Sequence[Document], chunks: Sequence[Chunk], knowledge: Knowledge, claims: Sequence[Claim]
) -> Sequence[DatedFact]:
    """Return the dates of all relations and claims, sorted by id: a row for each place that states one."""
    stated = _of_chunks(documents, chunks, knowledge, claims)
    rows = chain(stated, _of_graph(knowledge.relations, knowledge.entities))
    return few_as_list(sorted_rows(DatedFact, in_blocks(DatedFact, rows)))


def _of_chunks(
    documents: Sequence[Document], chunks: Sequence[Chunk], knowledge: Knowledge, claims: Sequence[Claim]
) -> Iterator[DatedFact]:
    dates = {document.id: date_of_document(document) for document in documents}
    by_chunk = attrgetter("chunk_id")
    claims_of = {id_: list(each) for id_, each in groupby(sorted(claims, key=by_chunk), key=by_chunk)}
    of_chunk = groupby(_mentions(knowledge), key=itemgetter(0))
    chunk_id, mentions = next(of_chunk, ("", iter(())))
    order = compute.sort_indices(arrow_of(Chunk, chunks, ["id"])["id"])
    for chunk in (chunks[row.as_py()] for row in order):
        rows: list[_Row] = []
        if chunk.id == chunk_id:
            rows = list(mentions)
            chunk_id, mentions = next(of_chunk, ("", iter(())))
        default = dates[chunk.document_id]
        own = [
            replace(each, start=chunk.start + each.start, end=chunk.start + each.end) for each in dates_in(chunk.text)
        ]
        names: defaultdict[str | None, list[int]] = defaultdict(list)
        for _, _, entity, _, start, *_ in rows:
            if start is not None:
                names[entity].append(start)
        for _, id_, _, relation, start, end, told, *ends in rows:
            if relation:
                places = ([at for at in names[each] if (start or 0) <= at < (end or 0)] for each in ends)
                stated = _described(own, told) or _of_relation(chunk, _within(own, start, end), *places)
                yield _fact(id_, chunk.id, stated, default, relation_id=relation)
        for claim in claims_of.get(chunk.id, ()):
            stated = _of_claim(claim, _within(own, claim.start, claim.end))
            yield _fact(claim.id, chunk.id, stated, default, claim_id=claim.id)


def _mentions(knowledge: Knowledge) -> Iterator[_Row]:
    """Yield chunk, id, entity, relation, span, description and the relation's ends of each mention, chunk by chunk."""
    names = ["chunk_id", "id", "entity_id", "relation_id", "start", "end", "description"]
    table = arrow_of(Mention, knowledge.mentions, names).select(names)
    ends = arrow_of(Relation, knowledge.relations, ["id", "source_id", "target_id"])
    order = compute.sort_indices(table, [("chunk_id", "ascending"), ("id", "ascending")]).to_numpy().astype(np.int64)
    batches, of_ends = batches_of(table), batches_of(ends)
    for start in range(0, len(order), _AT_ONCE):
        block = taken(table, order[start : start + _AT_ONCE], batches)
        rows = rows_among(block["relation_id"], ends["id"])
        both = ["source_id", "target_id"]
        found = taken(ends, np.maximum(rows, 0), of_ends).select(both) if len(ends) else block.select(["id", "id"])
        yield from zip(*block.to_pydict().values(), *(column.to_pylist() for column in found.columns), strict=True)


def _within(dates: Sequence[Dated], start: int | None, end: int | None) -> list[Dated]:
    return [each for each in dates if start is not None and end is not None and start <= each.start < end]


def _described(dates: Sequence[Dated], description: str) -> Dated | None:
    """Return the date in a model's description of a relation, where the passage states it; None if it has several."""
    told = dates_in(description)
    if len(told) != 1:
        return None
    same = (each for each in dates if (each.first, each.last) == (told[0].first, told[0].last))
    return next(same, replace(told[0], start=0, end=0))


def _of_relation(chunk: Chunk, dates: Sequence[Dated], sources: Sequence[int], targets: Sequence[int]) -> Dated | None:
    """Return the date of a relation in a sentence: the nearest of those in it, None if that belongs to the source."""

    def words(place: int, other: int) -> str:
        return chunk.text[min(place, other) - chunk.start : max(place, other) - chunk.start]

    def distance(each: Dated) -> tuple[int, int]:
        between = [words(place, each.start) for place in targets or sources]
        return min((len(_CLAUSE.findall(text)) * _FAR + len(text) for text in between), default=0), each.start

    best = min(dates, key=distance, default=None)
    before = [place for place in sources if best and place < best.start]
    after = [place for place in targets if best and place > best.end]
    if best and before and after and "," in words(max(before), best.start) and "," in words(best.end, min(after)):
        return None
    return best


def _of_claim(claim: Claim, stated: Sequence[Dated]) -> Dated | None:
    """Return the interval that a model states for a claim, or else its quotation, where the quotation says it."""
    made = _joined(*(read_date(each or "") for each in (claim.start_date, claim.end_date)))
    same = [each for each in stated if made is None or (each.first, each.last) == (made.first, made.last)]
    return same[0] if same else made


def _joined(first: Dated | None, last: Dated | None) -> Dated | None:
    """Return the interval from one date to another, which no words state; open where there is none."""
    precision = max((each.precision for each in (first, last) if each), key=list(PRECISIONS).index, default="")
    made = Dated(first.first if first else None, last.last if last else None, precision)
    return made if precision and (made.first or "") <= (made.last or "9999") else None


def _fact(
    id_: str,
    chunk_id: str | None,
    stated: Dated | None,
    default: Dated | None,
    *,
    relation_id: str | None = None,
    claim_id: str | None = None,
) -> DatedFact:
    first, last, precision = (
        (found.first, found.last, found.precision) if (found := stated or default) else (None, None, "")
    )
    basis: Basis = "stated" if stated else "document" if default else "none"
    start, end = (stated.start, stated.end) if stated and stated.end else (None, None)
    return DatedFact(id_, relation_id, claim_id, chunk_id, first, last, precision, basis, start, end)


def _of_graph(relations: Iterable[Relation], entities: Sequence[Entity]) -> Iterator[DatedFact]:
    """Yield the dates of statements of an imported graph."""
    names: Mapping[str, str] = {}
    for relation in relations:
        found = [
            (number, _of_qualifiers([(each.predicate.casefold(), each.value) for each in parts]))
            for number, parts in groupby(relation.qualifiers, key=attrgetter("statement"))
        ]
        if not found and not relation.chunk_ids:
            names = names or {entity.id: entity.name for entity in entities}
            ends = (names[id_] for id_ in (relation.target_id, relation.source_id))
            dates = [read_date(name) for name in ends if (read := parse_literal(name)) and is_time(read)]
            found = [(0, _joined(dates[0], dates[0]))] if dates else []
        for number, date in found:
            if date:
                yield _fact(short_id("dated", relation.id, str(number)), None, date, None, relation_id=relation.id)


def _of_qualifiers(parts: Sequence[tuple[str, str]]) -> Dated | None:
    first, last, moment = (
        next((read_date(value) for predicate, value in parts if predicate in names), None)
        for names in (_STARTS, _ENDS, _MOMENTS)
    )
    return _joined(first, last) or _joined(moment, moment)
