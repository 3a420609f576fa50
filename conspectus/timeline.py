"""When the facts about an entity hold, as rows with their sources."""

from collections.abc import Iterable, Iterator

import numpy as np
from conspectus.entities import row_of
from conspectus.query.citations.numbered import documents_by_id
from conspectus.query.context import Context
from conspectus.rows import TimelineRow
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.joins import claims_of_entities, joined
from conspectus.storage.records import Claim, DatedFact, Entity, Mention, Relation, Span
from conspectus.storage.spans import span_in
from conspectus.storage.tables import records_of
from conspectus.storage.text.dates import PRECISIONS, Dated


def timeline_rows(context: Context, key: str) -> list[TimelineRow]:
    """Return the dated facts about an entity, the earliest first. Raises NotThere if there is no such entity."""
    index, row = context.index, row_of(context, key)
    ends = joined(index)
    rows = np.flatnonzero((ends.sources == row) | (ends.targets == row)).tolist()
    relations = {index.each(Relation)[each].id for each in rows}
    claims = {index.each(Claim)[each].id for each in claims_of_entities(index)[row].tolist()}
    about = (fact for fact in dated_facts(index) if fact.relation_id in relations or fact.claim_id in claims)
    return sorted(rows_of(context, about), key=_order)


def _order(row: TimelineRow) -> tuple[str, str, str, int, str]:
    return row.first or "", row.last or "~", row.title, row.start, row.statement


@per_index
def dated_facts(index: StoredIndex) -> list[DatedFact]:
    """Return the facts that have a date."""
    from pyarrow import compute

    table = index.arrow(DatedFact)
    return records_of(table.filter(compute.not_equal(table["basis"], "none")), DatedFact)


def rows_of(context: Context, facts: Iterable[DatedFact]) -> Iterator[TimelineRow]:
    """Yield what each fact states, with its source: the sentence that states a relation, or the words of a claim."""
    index = context.index
    names, documents = index.by_id(Entity, "name"), documents_by_id(context)
    for fact in facts:
        if fact.relation_id:
            relation = index.each(Relation)[index.ids(Relation)[fact.relation_id]]
            ends = names[relation.source_id], relation.predicate.replace("_", " ") or "–", names[relation.target_id]
            statement = " ".join(ends)
        else:
            statement = index.each(Claim)[index.ids(Claim)[fact.claim_id or ""]].description
        span = _source(context, fact)
        document = documents[span.document_id] if span else None
        yield TimelineRow(
            when=in_words(fact),
            statement=statement,
            quote=document.text[span.start : span.end] if span and document else "",
            document_id=document.id if document else "",
            title=document.title if document else "",
            start=span.start if span else 0,
            end=span.end if span else 0,
            first=fact.first,
            last=fact.last,
            precision=fact.precision,
            basis=fact.basis,
            relation_id=fact.relation_id,
            claim_id=fact.claim_id,
        )


def in_words(fact: DatedFact) -> str:
    """Return the dates of a fact, as precise as they are.

    >>> in_words(DatedFact("", None, None, None, "1951-01-01", None, "year", "stated", None, None))
    'since 1951'
    """
    length = PRECISIONS[fact.precision]
    tail = "0s" if fact.precision == "decade" else ""
    first, last = (day and f"{day[:length]}{tail}" for day in (fact.first, fact.last))
    if first and last:
        return first if Dated(fact.first, fact.last, fact.precision).is_moment else f"{first} to {last}"
    return f"since {first}" if first else f"until {last}"


def _source(context: Context, fact: DatedFact) -> Span | None:
    """Return the place that states a fact; None for a fact of a graph."""
    if fact.chunk_id is None:
        return None
    index, chunk = context.index, context.chunks[context.chunk_rows[fact.chunk_id]]
    record: type[Claim | Mention] = Claim if fact.claim_id else Mention
    place = index.each(record)[index.ids(record)[fact.id]]
    return span_in(chunk, place.start, place.end)
