"""Records of the graph as lines that a model reads, each with the sentences of the documents that state it."""

from collections.abc import Sequence

import numpy as np
from conspectus.query.context import Context
from conspectus.query.methods.graphrag.graph_tables import Knowledge
from conspectus.query.reader.material import Statement, Unit, sentences_of
from conspectus.storage.arrays import Rows
from conspectus.storage.records import Claim, Relation, Span
from conspectus.storage.text.nlp import CONCEPT

_PLACES = 8
"""Passages in which an entity or a relation is looked up: the best for the question that hold it."""

_UNTYPED = frozenset({CONCEPT, "TITLE", "NAME"})
"""What an entity has for a type where extraction knows none."""


class RecordUnits:
    """Makes units of records. `order` ranks passages: of a record that many state, the first of them are cited."""

    def __init__(self, context: Context, knowledge: Knowledge, order: Rows) -> None:
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
        source, target = (self._known.entities[each].name for each in self._known.ends[row])
        joined = f"{source} {relation.predicate} {target}" if relation.predicate else f"{source}, {target}"
        return _line(joined, relation.description)

    def claim_line(self, row: int) -> str:
        """Return a claim with whom it is about, its kind, whether it holds, and when."""
        claim = self._known.claims[row]
        about = ", ".join(name for id_ in (claim.subject_id, claim.object_id) if (name := self._name(id_)))
        when = " to ".join(dict.fromkeys(each for each in (claim.start_date, claim.end_date) if each))
        facts = ", ".join(filter(None, (claim.type, claim.status, when)))
        return _line(f"{about} ({facts})" if facts else about, claim.description)

    def entity(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return an entity; it is stated by the sentences that its name stands in."""
        entity, chunks = self._known.entities[row], self._known.chunks_of_entity.of(row)
        best = self._best(chunks)
        stated = self._stated(self._known.spans_of_entity(row, best))
        return Unit(entity, row, entity.name, text, n_tokens, 1.0, self._ids(chunks), stated)

    def relation(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return a relation; it is stated by its evidence."""
        relation: Relation = self._known.relations[row]
        best = self._best(self._known.chunks_of_relation.of(row))
        stated = self._stated(self._known.spans_of_relation(row, best))
        return Unit(relation, row, relation.predicate, text, n_tokens, 1.0, relation.chunk_ids, stated)

    def claim(self, row: int, text: str, n_tokens: int) -> Unit:
        """Return a claim; it is stated by its quote."""
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
        """Return the sentences that the spans touch, each once; a mention without a place is its whole passage."""
        found: dict[Statement, None] = {}
        for span in spans:
            for each in self._sentences_of(self._known.chunk_row[span.chunk_id]):
                place = each.spans[0]
                if place.start < span.end and span.start < place.end:
                    found[each] = None
        return tuple(found)

    def _sentences_of(self, row: int) -> tuple[Statement, ...]:
        if row not in self._sentences:
            self._sentences[row] = sentences_of(self._context.chunks[row])
        return self._sentences[row]


def _line(head: str, description: str) -> str:
    return " ".join((f"{head}: {description}" if description else head).split())
