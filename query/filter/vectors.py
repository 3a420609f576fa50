"""Vectors of a filtered view: reused from the whole index if the text is the same, otherwise computed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Vectors
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.records import Chunk, Entity, Relation, Report
from conspectus.storage.text.embedded import description_text, entity_text, predicate_texts, relation_text
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory


@dataclass(frozen=True, slots=True)
class _Row:
    """A row of the view that has a vector: its text, and its row and text in the whole index."""

    row: int
    text: str
    row_before: int
    text_before: str


class ViewVectors:
    """The vector indexes of a view. Rows without a vector in the whole index have none here either."""

    def __init__(self, index: StoredIndex, known: PermittedRows, embedder: Embedder) -> None:
        self._index = index
        self._known = known
        self._embedder = embedder

    def chunks(self) -> WindowedIndex:
        """Return the vectors of the chunks, which are unchanged."""
        return self._unchanged("chunks", Chunk, [chunk.id for chunk in self._known.chunks])

    def reports(self, reports: Sequence[Report]) -> WindowedIndex:
        """Return the vectors of the remaining reports, which are unchanged."""
        return self._unchanged("reports", Report, [report.id for report in reports])

    def entities(self) -> WindowedIndex:
        """Return the vectors of the entities; an entity with another name is embedded."""
        entities, before, names = self._known.entities, self._rows_before(Entity), self._names_before()
        rows = [
            _Row(row, entity_text(entity), before[entity.id], names[entity.id]) for row, entity in enumerate(entities)
        ]
        return self._filtered("entities", rows, len(entities))

    def descriptions(self) -> WindowedIndex:
        """Return the vectors of the entities by name and description; one that is described otherwise is embedded."""
        before = self._rows_before(Entity)
        text_before = {entity.id: description_text(entity) for entity in self._index.rows(Entity)}
        described = self._known.described()
        rows = [
            _Row(row, description_text(entity), before[entity.id], text_before[entity.id])
            for row, entity in enumerate(described)
        ]
        return self._filtered(DESCRIPTIONS, rows, len(described))

    def relations(self) -> WindowedIndex:
        """Return the vectors of the relations; a relation with another text is embedded."""
        before, names_before = self._rows_before(Relation), self._names_before()
        name_of = {entity.id: entity.name for entity in self._known.entities}
        table = self._index.arrow(Relation, "id", "predicate", "description")
        columns = (table.column(name).to_pylist() for name in ("id", "predicate", "description"))
        texts = {id_: (predicate, description) for id_, predicate, description in zip(*columns, strict=True)}
        rows = []
        for row, relation in enumerate(self._known.relations):
            predicate, description = texts[relation.id]
            whole = replace(relation, predicate=predicate, description=description)
            text_before = relation_text(whole, names_before)
            rows.append(_Row(row, relation_text(relation, name_of), before[relation.id], text_before))
        return self._filtered("relations", rows, len(rows))

    def predicates(self) -> WindowedIndex:
        """Return the vectors of the distinct predicates, sorted; a predicate spelled differently is embedded."""
        own = sorted({relation.predicate for relation in self._known.relations})
        whole = sorted(set(self._index.arrow(Relation, "predicate").column("predicate").to_pylist()))
        before = {predicate: row for row, predicate in enumerate(whole)}
        texts = predicate_texts(self._known.relations)
        rows = [
            _Row(row, texts[row], before.get(predicate, -1), texts[row] if predicate in before else "")
            for row, predicate in enumerate(own)
        ]
        return self._filtered("predicates", rows, len(own))

    def _unchanged(self, name: str, record: type, ids: Sequence[str]) -> WindowedIndex:
        before = self._rows_before(record)
        return self._filtered(name, [_Row(row, "", before[id_], "") for row, id_ in enumerate(ids)], len(ids))

    def _filtered(self, name: str, rows: Sequence[_Row], n_rows: int) -> WindowedIndex:
        """Return the vectors of some rows (ascending) of a table of `n_rows`, embedding those whose text differs."""
        whole = self._index.vectors(name)
        has_vector = {*whole.table_rows.tolist(), -1}
        rows = [row for row in rows if row.row_before in has_vector]
        same = [row for row in rows if row.text == row.text_before]
        other = [row for row in rows if row.text != row.text_before]
        kept, owners = whole.vectors_of(np.array([row.row_before for row in same], np.int64))
        pieces = [self._embedder.windows(row.text) for row in other]
        flat = [piece for windows in pieces for piece in windows]
        made: Vectors = self._embedder.embed(flat) if flat else np.zeros((0, whole.dimension), np.float32)
        rows_of_kept = np.array([row.row for row in same], np.int64)[owners]
        rows_of_made = np.repeat(np.array([row.row for row in other], np.int64), list(map(len, pieces)))
        table_rows = np.concatenate([rows_of_kept, rows_of_made])
        order = np.argsort(table_rows, kind="stable")
        return windowed_in_memory(np.concatenate([kept, made])[order], table_rows[order], n_rows)

    def _rows_before(self, record: type) -> dict[str, int]:
        return {id_: row for row, id_ in enumerate(self._index.arrow(record, "id").column("id").to_pylist())}

    def _names_before(self) -> dict[str, str]:
        table = self._index.arrow(Entity, "id", "name")
        return dict(zip(table.column("id").to_pylist(), table.column("name").to_pylist(), strict=True))
