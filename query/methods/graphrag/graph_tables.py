"""The records of the graph that local search reads: as arrays for fast look-ups, and as lines for a model.

`GraphTables` joins entities, relations and claims with the chunks that state them. `RecordUnits` writes a record as a
line and finds the sentences of the documents that state it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.query.answer_writing.context_windows import Statement, Unit, sentences_of
from conspectus.query.context import Context
from conspectus.storage.arrays import Rows, gather
from conspectus.storage.index import per_index
from conspectus.storage.records import Claim, Community, Entity, Mention, Relation, Report, Span
from conspectus.storage.spans import span_in
from conspectus.storage.text.nlp import CONCEPT

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True, eq=False)
class GraphLists:
    """A ragged array: the numbers of owner i of n are `values[starts[i]:starts[i + 1]]`, ascending."""

    starts: Rows
    values: Rows

    @classmethod
    def of_pairs(cls, n_owners: int, owners: Rows, values: Rows) -> "GraphLists":
        """Return the lists of pairs, whatever the order of the pairs."""
        order = np.lexsort((values, owners))
        starts = np.zeros(n_owners + 1, np.int64)
        np.cumsum(np.bincount(owners, minlength=n_owners), out=starts[1:])
        return cls(starts, values[order])

    def of(self, owner: int) -> Rows:
        """Return the list of one owner."""
        return self.values[self.starts[owner] : self.starts[owner + 1]]

    def pairs(self, owners: Rows) -> tuple[Rows, Rows]:
        """Return (positions in `owners`, values): the concatenated lists of some owners."""
        counts, entries = gather(self.starts, owners)
        return np.repeat(np.arange(len(owners)), counts), self.values[entries]


class GraphTables:
    """The entities, relations and claims of an index by row, joined with each other and with chunks."""

    def __init__(self, context: Context) -> None:
        index = context.index
        self.entities: list[Entity] = index.rows(Entity)
        self.relations: list[Relation] = index.rows(Relation)
        self.claims: list[Claim] = index.rows(Claim)
        self.reports: list[Report] = index.rows(Report)
        self._chunks = context.chunks
        self.entity_row = {entity.id: row for row, entity in enumerate(self.entities)}
        self.chunk_row = {chunk.id: row for row, chunk in enumerate(self._chunks)}
        ends = [
            (self.entity_row[relation.source_id], self.entity_row[relation.target_id]) for relation in self.relations
        ]
        self.ends: Rows = np.array(ends, np.int64).reshape(-1, 2)
        """(relations, 2): the entity rows of source and target."""
        self.weights = np.array([relation.weight for relation in self.relations], np.float64)
        self.degrees = np.array([entity.degree for entity in self.entities], np.float64)
        self.frequencies = np.array([entity.frequency for entity in self.entities], np.float64)
        rows = np.arange(len(self.relations))
        self.relations_of = GraphLists.of_pairs(len(self.entities), self.ends.ravel(), np.repeat(rows, 2))
        self.claims_of = self._claims_of()
        self.reports_of, self.relations_of_report = self._of_communities(index.rows(Community))
        mentions = index.arrow(Mention, "chunk_id", "entity_id", "relation_id", "start", "end")
        self._mention_chunk = _rows_of(mentions.column("chunk_id"), list(self.chunk_row))
        self._mention_start = mentions.column("start").fill_null(-1).to_numpy().astype(np.int64)
        self._mention_end = mentions.column("end").fill_null(-1).to_numpy().astype(np.int64)
        self._entity_mentions = _owned(mentions.column("entity_id"), list(self.entity_row))
        self._relation_mentions = _owned(mentions.column("relation_id"), [relation.id for relation in self.relations])
        self.chunks_of_entity = self._chunks_of(self._entity_mentions)
        self.chunks_of_relation = self._chunks_of(self._relation_mentions)
        self.chunk_of_claim = np.array([self.chunk_row[claim.chunk_id] for claim in self.claims], np.int64)

    def spans_of_entity(self, row: int, chunks: Rows) -> tuple[Span, ...]:
        """Return the mentions of an entity in some chunks; a mention without offsets is the whole chunk."""
        return self._spans(self._entity_mentions.of(row), chunks)

    def spans_of_relation(self, row: int, chunks: Rows) -> tuple[Span, ...]:
        """Return the mentions of a relation in some chunks."""
        return self._spans(self._relation_mentions.of(row), chunks)

    def span_of_claim(self, row: int) -> Span:
        """Return the quote of a claim."""
        claim, chunk = self.claims[row], int(self.chunk_of_claim[row])
        return span_in(self._chunks[chunk], claim.start, claim.end)

    def _spans(self, mentions: Rows, chunks: Rows) -> tuple[Span, ...]:
        kept = mentions[np.isin(self._mention_chunk[mentions], chunks)]
        places = zip(
            self._mention_chunk[kept].tolist(),
            self._mention_start[kept].tolist(),
            self._mention_end[kept].tolist(),
            strict=True,
        )
        return tuple(span_in(self._chunks[row], start, end) for row, start, end in sorted(set(places)))

    def _chunks_of(self, mentions: GraphLists) -> GraphLists:
        """Return the distinct chunks of the mentions of each owner."""
        owners = np.repeat(np.arange(len(mentions.starts) - 1), np.diff(mentions.starts))
        pairs = np.unique(np.stack([owners, self._mention_chunk[mentions.values]], axis=1), axis=0)
        return GraphLists.of_pairs(len(mentions.starts) - 1, pairs[:, 0], pairs[:, 1])

    def _claims_of(self) -> GraphLists:
        pairs = [
            (self.entity_row[id_], row)
            for row, claim in enumerate(self.claims)
            for id_ in dict.fromkeys((claim.subject_id, claim.object_id))
            if id_ is not None and id_ in self.entity_row
        ]
        return _lists(len(self.entities), pairs)

    def _of_communities(self, communities: Sequence[Community]) -> tuple[GraphLists, GraphLists]:
        """Return the reports that cover each entity, and the relations inside the community of each report."""
        report_row = {report.community_id: row for row, report in enumerate(self.reports)}
        relation_row = {relation.id: row for row, relation in enumerate(self.relations)}
        reported = [(report_row[community.id], community) for community in communities if community.id in report_row]
        entities = [(self.entity_row[id_], row) for row, community in reported for id_ in community.entity_ids]
        relations = [(row, relation_row[id_]) for row, community in reported for id_ in community.relation_ids]
        return _lists(len(self.entities), entities), _lists(len(self.reports), relations)


@per_index
def knowledge_of(context: Context) -> GraphTables:
    """Return the joined tables of an index, read on first use."""
    return GraphTables(context)


def _lists(n_owners: int, pairs: Sequence[tuple[int, int]]) -> GraphLists:
    both = np.array(pairs, np.int64).reshape(-1, 2)
    return GraphLists.of_pairs(n_owners, both[:, 0], both[:, 1])


def _owned(column: "pa.ChunkedArray", ids: Sequence[str]) -> GraphLists:
    """Return for each id the rows of the table whose column has it."""
    owners = _rows_of(column, ids)
    held = np.flatnonzero(owners >= 0)
    return GraphLists.of_pairs(len(ids), owners[held], held)


def _rows_of(column: "pa.ChunkedArray", ids: Sequence[str]) -> Rows:
    """Return the position of each value in `ids`; -1 if it is null or absent."""
    import pyarrow as pa
    import pyarrow.compute as pc

    places = pc.index_in(column, value_set=pa.array(ids, pa.string()), skip_nulls=True)
    rows: Rows = places.fill_null(-1).to_numpy().astype(np.int64)
    return rows


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
        source, target = (self._known.entities[end].name for end in self._known.ends[row])
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
        entity, chunks = self._known.entities[row], self._known.chunks_of_entity.of(row)
        best = self._best(chunks)
        stated = self._stated(self._known.spans_of_entity(row, best))
        return Unit(entity, row, entity.name, text, n_tokens, 1.0, self._ids(chunks), stated)

    def relation(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return a relation with the sentences of its evidence."""
        relation: Relation = self._known.relations[row]
        best = self._best(self._known.chunks_of_relation.of(row))
        stated = self._stated(self._known.spans_of_relation(row, best))
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
