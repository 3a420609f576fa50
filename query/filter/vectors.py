"""Vectors of a filtered view: reused from the whole index if the text is the same, otherwise computed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.bitmaps import Bitmaps, is_in
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Rows, Vectors, gather_sorted
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.records import Entity, Relation, Report
from conspectus.storage.tables import records_of
from conspectus.storage.text.embedded import description_text, entity_text, predicate_texts, relation_text
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory

if TYPE_CHECKING:
    import pyarrow as pa


class ViewVectors:
    """The vector indexes of a view. Rows without a vector in the whole index have none here either."""

    def __init__(self, index: StoredIndex, kept: Bitmaps, known: PermittedRows, embedder: Embedder) -> None:
        self._index = index
        self._kept = kept
        self._known = known
        self._embedder = embedder

    def chunks(self) -> WindowedIndex:
        """Return the vectors of the chunks, which are unchanged."""
        return self._filtered("chunks", np.flatnonzero(self._kept.chunks))

    def reports(self, reports: Sequence[Report]) -> WindowedIndex:
        """Return the vectors of the remaining reports, which are unchanged."""
        kept = is_in(self._index.arrow(Report, "id").column("id"), [report.id for report in reports])
        return self._filtered("reports", np.flatnonzero(kept))

    def entities(self) -> WindowedIndex:
        """Return the vectors of the entities; an entity with another name is embedded."""
        before = self._before(Entity, "name").column("name").to_pylist()
        texts = [entity_text(entity) for entity in self._known.entities]
        return self._filtered("entities", np.flatnonzero(self._kept.entities), texts, before)

    def descriptions(self) -> WindowedIndex:
        """Return the vectors of the entities by name and description; one that is described otherwise is embedded."""
        before = [description_text(entity) for entity in records_of(self._before(Entity), Entity)]
        texts = [description_text(entity) for entity in self._known.described]
        return self._filtered(DESCRIPTIONS, np.flatnonzero(self._kept.entities), texts, before)

    def relations(self) -> WindowedIndex:
        """Return the vectors of the relations; a relation with another text is embedded."""
        columns = self._before(Entity, "id", "name")
        names_before = dict(zip(columns.column("id").to_pylist(), columns.column("name").to_pylist(), strict=True))
        name_of = {entity.id: entity.name for entity in self._known.entities}
        table = self._before(Relation, "predicate", "description")
        worded = zip(table.column("predicate").to_pylist(), table.column("description").to_pylist(), strict=True)
        texts = [relation_text(relation, name_of) for relation in self._known.relations]
        before = [
            relation_text(replace(relation, predicate=predicate, description=description), names_before)
            for relation, (predicate, description) in zip(self._known.relations, worded, strict=True)
        ]
        return self._filtered("relations", np.flatnonzero(self._kept.relations), texts, before)

    def predicates(self) -> WindowedIndex:
        """Return the vectors of the distinct predicates, sorted; a predicate spelled differently is embedded."""
        own = sorted({relation.predicate for relation in self._known.relations})
        whole = sorted(self._index.arrow(Relation, "predicate").column("predicate").unique().to_pylist())
        row_before = {predicate: row for row, predicate in enumerate(whole)}
        texts = predicate_texts(self._known.relations)
        before = [text if predicate in row_before else "" for predicate, text in zip(own, texts, strict=True)]
        rows = np.array([row_before.get(predicate, -1) for predicate in own], np.int64)
        return self._filtered("predicates", rows, texts, before)

    def _before(self, record: type, *columns: str) -> "pa.Table":
        """Return the rows of the whole index of which rows remain."""
        kept = self._kept.entities if record is Entity else self._kept.relations
        return self._index.arrow(record, *columns).filter(kept)

    def _filtered(
        self, name: str, rows_before: Rows, texts: Sequence[str] = (), texts_before: Sequence[str] = ()
    ) -> WindowedIndex:
        """Return the vectors of the rows of a table of the view, embedding those whose text differs.

        Args:
            name: The vectors.
            rows_before: The row of each in the whole index; -1 for one that it does not have.
            texts: The embedded text of each; () if they are unchanged.
            texts_before: That in the whole index.
        """
        whole = self._index.vectors(name)
        changed = np.zeros(len(rows_before), np.bool_)
        changed[:] = [text != before for text, before in zip(texts, texts_before, strict=True)] or False
        same = np.flatnonzero(~changed)
        kept, owners = whole.vectors_of(rows_before[same])
        has_vector = gather_sorted(whole.table_rows, rows_before)[0] > 0
        other = np.flatnonzero(changed & (has_vector | (rows_before < 0)))
        pieces = [self._embedder.windows(texts[row]) for row in other.tolist()]
        flat = [piece for windows in pieces for piece in windows]
        made: Vectors = self._embedder.embed(flat) if flat else np.zeros((0, whole.dimension), np.float32)
        table_rows = np.concatenate([same[owners], np.repeat(other, list(map(len, pieces)))])
        order = np.argsort(table_rows, kind="stable")
        return windowed_in_memory(np.concatenate([kept, made])[order], table_rows[order], len(rows_before))
