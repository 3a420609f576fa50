"""The records of the graph that local search reads: by row for fast look-ups, and as lines for a model.

`GraphTables` joins entities, relations and claims with the chunks that state them. `RecordUnits` writes a record as a
line and finds the sentences of the documents that state it.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.answer_writing.context_windows import Statement, Unit, sentences_of
from conspectus.query.context import Context
from conspectus.query.walk.graph import open_graph
from conspectus.storage.arrays import Floats, Ints, Rows, distinct, runs
from conspectus.storage.index import per_index
from conspectus.storage.joins import (
    chunks_of_entities,
    claims_of_entities,
    joined,
    mentions_of_entities,
    mentions_of_relations,
    reports_of_entities,
)
from conspectus.storage.records import Claim, Entity, Mention, Relation, Report, Span
from conspectus.storage.spans import span_in
from conspectus.storage.text.nlp import CONCEPT

if TYPE_CHECKING:
    import pyarrow as pa


class GraphTables:
    """The entities, relations, claims and reports of an index by row, joined with each other and with chunks.

    Rows are read when they are asked for; nothing of the size of a table is made.
    """

    def __init__(self, context: Context) -> None:
        index = context.index
        self.entities: Sequence[Entity] = index.each(Entity)
        self.relations: Sequence[Relation] = index.each(Relation)
        self.claims: Sequence[Claim] = index.each(Claim)
        self.reports: Sequence[Report] = index.each(Report)
        self.entity_row: Mapping[str, int] = index.ids(Entity)
        self.chunk_row: Mapping[str, int] = context.chunk_rows
        self.claims_of = claims_of_entities(index)
        self.reports_of = reports_of_entities(index)
        self.chunks_of_entity = chunks_of_entities(index)
        self._index = index
        self._chunks = context.chunks
        self._graph = open_graph(context)
        self._mention_chunk = joined(index).chunks
        self.mentions_of_entity = mentions_of_entities(index)
        self.mentions_of_relation = mentions_of_relations(index)
        spans = index.arrow(Mention, "start", "end")
        self._starts, self._ends = spans.column("start"), spans.column("end")
        self._weights = index.arrow(Relation, "weight").column("weight")
        self._entity_counts = index.arrow(Entity, "degree", "frequency")

    def ends(self, relations: Rows) -> Ints:
        """Return the entity rows of source and target, (relations, 2)."""
        return np.stack([self._graph.sources[relations], self._graph.targets[relations]], axis=1)

    def weights(self, relations: Rows) -> Floats:
        """Return the weights of relations."""
        return _taken(self._weights, relations)

    def degrees(self, entities: Ints) -> Floats:
        """Return the degrees of entities, in the shape of their rows."""
        return _taken(self._entity_counts.column("degree"), entities.ravel()).reshape(entities.shape)

    def frequencies(self, entities: Rows) -> Floats:
        """Return the numbers of chunks that mention entities."""
        return _taken(self._entity_counts.column("frequency"), entities)

    def relations_of(self, entities: Rows) -> Rows:
        """Return the distinct relations of entities, ascending."""
        return distinct(self._graph.edges_of(entities).relation)

    def chunks_of_relations(self, relations: Rows) -> tuple[Rows, Rows]:
        """Return (places in `relations`, chunks): the distinct chunks that state each of some relations."""
        places, mentions = self.mentions_of_relation.of_each(relations)
        chunks = self._mention_chunk[mentions].astype(np.int64)
        order, starts = runs(places, chunks)
        return places[order[starts]], chunks[order[starts]]

    def span_of_claim(self, row: int) -> Span:
        """Return the quote of a claim."""
        claim = self.claims[row]
        return span_in(self._chunks[self.chunk_row[claim.chunk_id]], claim.start, claim.end)

    def spans(self, mentions: Rows, chunks: Rows) -> tuple[Span, ...]:
        """Return those of some mentions that are in some chunks; a mention without offsets is the whole chunk."""
        spans = set()
        for mention in mentions[np.isin(self._mention_chunk[mentions], chunks)].tolist():
            chunk = self._chunks[self._mention_chunk[mention]]
            spans.add(span_in(chunk, self._starts[mention].as_py(), self._ends[mention].as_py()))
        return tuple(sorted(spans, key=lambda span: (span.chunk_id, span.start, span.end)))


@per_index
def knowledge_of(context: Context) -> GraphTables:
    """Return the joined tables of an index, opened on first use."""
    return GraphTables(context)


def _taken(column: "pa.ChunkedArray", rows: Rows) -> Floats:
    values: Floats = column.take(rows).to_numpy().astype(np.float64)
    return values


_PLACES = 8
"""Number of passages, best for the question first, whose sentences may state an entity or a relation."""

_UNTYPED = frozenset({CONCEPT, "TITLE", "NAME"})
"""Uninformative types: extraction without a model assigns them."""


class RecordUnits:
    """Makes units of records. `order` ranks passages: a record is cited from the first that state it."""

    def __init__(self, context: Context, knowledge: GraphTables, order: Rows) -> None:
        self._context = context
        self._known = knowledge
        self._rank = {row: place for place, row in enumerate(order.tolist())}
        self._sentences: dict[int, tuple[Statement, ...]] = {}

    def entity_line(self, row: int) -> str:
        """Return an entity with its type and description."""
        entity = self._known.entities[row]
        known = entity.type and entity.type not in _UNTYPED
        return _line(f"{entity.name} ({entity.type.lower()})" if known else entity.name, entity.description)

    def relation_line(self, row: int) -> str:
        """Return a relation with its ends and description."""
        relation = self._known.relations[row]
        source, target = (self._name(id_) for id_ in (relation.source_id, relation.target_id))
        joined = f"{source} {relation.predicate} {target}" if relation.predicate else f"{source}, {target}"
        return _line(joined, relation.description)

    def claim_line(self, row: int) -> str:
        """Return a claim with its subject and object, type, status and dates."""
        claim = self._known.claims[row]
        about = ", ".join(name for id_ in (claim.subject_id, claim.object_id) if (name := self._name(id_)))
        when = " to ".join(dict.fromkeys(date for date in (claim.start_date, claim.end_date) if date))
        facts = ", ".join(filter(None, (claim.type, claim.status, when)))
        return _line(f"{about} ({facts})" if facts else about, claim.description)

    def entity(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return an entity with the sentences that contain its name."""
        entity, chunks = self._known.entities[row], self._known.chunks_of_entity[row]
        best = self._best(chunks)
        stated = self._stated(self._known.spans(self._known.mentions_of_entity[row], best))
        return Unit(entity, row, entity.name, text, n_tokens, 1.0, self._ids(chunks), stated)

    def relation(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return a relation with the sentences of its evidence."""
        relation: Relation = self._known.relations[row]
        best = self._best(self._known.chunks_of_relations(np.array([row]))[1])
        stated = self._stated(self._known.spans(self._known.mentions_of_relation[row], best))
        return Unit(relation, row, relation.predicate, text, n_tokens, 1.0, relation.chunk_ids, stated)

    def claim(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return a claim with the sentences of its quote."""
        claim: Claim = self._known.claims[row]
        stated = self._stated([self._known.span_of_claim(row)])
        return Unit(claim, row, claim.type, text, n_tokens, 1.0, (claim.chunk_id,), stated)

    def _name(self, entity_id: str | None) -> str:
        row = self._known.entity_row.get(entity_id) if entity_id else None
        return "" if row is None else self._known.entities[row].name

    def _ids(self, chunks: Rows) -> tuple[str, ...]:
        return tuple(self._context.chunks[row].id for row in chunks.tolist())

    def _best(self, chunks: Rows) -> Rows:
        last = len(self._rank)
        order = sorted(chunks.tolist(), key=lambda row: (self._rank.get(row, last), row))
        return np.array(order[:_PLACES], np.int64)

    def _stated(self, spans: Sequence[Span]) -> tuple[Statement, ...]:
        """Return the distinct sentences that overlap the spans."""
        found: dict[Statement, None] = {}
        for span in spans:
            for sentence in self._sentences_of(self._known.chunk_row[span.chunk_id]):
                place = sentence.spans[0]
                if place.start < span.end and span.start < place.end:
                    found[sentence] = None
        return tuple(found)

    def _sentences_of(self, row: int) -> tuple[Statement, ...]:
        if row not in self._sentences:
            self._sentences[row] = sentences_of(self._context.chunks[row])
        return self._sentences[row]


def _line(head: str, description: str) -> str:
    return " ".join((f"{head}: {description}" if description else head).split())
