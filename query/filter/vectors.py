"""Vectors of a filtered view: reused from the whole index if the text is the same, otherwise computed."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.bitmaps import Bitmaps, at, is_in
from conspectus.query.filter.rows import PermittedRows
from conspectus.storage.arrays import Bools, Rows, Vectors, gather_sorted
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Entity, Relation, Report
from conspectus.storage.tables import records_of, taken
from conspectus.storage.text.embedded import description_text, entity_text, predicate_words, relation_text
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory
from pyarrow import compute

Record = TypeVar("Record")


class ViewVectors:
    """The vector indexes of a view. Rows without a vector in the whole index have none here either."""

    def __init__(self, index: StoredIndex, kept: Bitmaps, known: PermittedRows, embedder: Embedder) -> None:
        self._index = index
        self._kept = kept
        self._known = known
        self._embedder = embedder

    def chunks(self) -> WindowedIndex:
        """Return the vectors of the chunks, which are unchanged."""
        return self._index.vectors("chunks").part(np.flatnonzero(self._kept.chunks))

    def reports(self, reports: TableRows[Report]) -> WindowedIndex:
        """Return the vectors of the remaining reports, which are unchanged."""
        kept = is_in(self._index.arrow(Report, "id").column("id"), reports.table.column("id").to_pylist())
        return self._index.vectors("reports").part(np.flatnonzero(kept))

    def entities(self) -> WindowedIndex:
        """Return the vectors of the entities; an entity with another name is embedded."""
        rows = np.flatnonzero(self._renamed)
        texts = map(entity_text, self._known.entities.at(rows))
        changed = dict(zip(rows.tolist(), texts, strict=True))
        return self._filtered("entities", np.flatnonzero(self._kept.entities), changed)

    def descriptions(self) -> WindowedIndex:
        """Return the vectors of the entities by name and description; one that is described otherwise is embedded."""
        rows = np.flatnonzero(self._kept.entities)
        other = np.flatnonzero(~self._kept.intact[rows])
        texts = [description_text(entity) for entity in self._known.entities.at(other)]
        before = [description_text(entity) for entity in self._before(Entity, rows[other])]
        return self._filtered(DESCRIPTIONS, rows, _changed(other, texts, before))

    def relations(self) -> WindowedIndex:
        """Return the vectors of the relations; a relation with another text is embedded."""
        kept, joined = self._kept, self._kept.joined
        rows = np.flatnonzero(kept.relations)
        renamed = np.zeros(len(kept.entities), np.bool_)
        renamed[np.flatnonzero(kept.entities)[self._renamed]] = True
        may_differ = kept.restated | at(renamed, joined.sources) | at(renamed, joined.targets)
        other = np.flatnonzero(may_differ[rows])
        name_of, name_before = self._names() if len(other) else ({}, {})
        texts = [relation_text(relation, name_of) for relation in self._known.relations.at(other)]
        before = [relation_text(relation, name_before) for relation in self._before(Relation, rows[other])]
        return self._filtered("relations", rows, _changed(other, texts, before))

    def predicates(self) -> WindowedIndex:
        """Return the vectors of the distinct predicates, sorted; a predicate spelled differently is embedded."""
        own = sorted(self._known.relations.table.column("predicate").unique().to_pylist())
        whole = sorted(self._index.arrow(Relation, "predicate").column("predicate").unique().to_pylist())
        row_before = {predicate: row for row, predicate in enumerate(whole)}
        changed = {row: predicate_words(each) for row, each in enumerate(own) if each not in row_before}
        return self._filtered("predicates", np.array([row_before.get(each, -1) for each in own], np.int64), changed)

    @cached_property
    def _renamed(self) -> Bools:
        """The remaining entities that have another name than in the whole index, (entities that remain,)."""
        before = self._index.arrow(Entity, "name").column("name").filter(self._kept.entities)
        found: Bools = compute.not_equal(before, self._known.entities.table.column("name")).to_numpy()
        return found

    def _names(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return the names of the remaining entities by id, and those in the whole index."""
        before = self._index.arrow(Entity, "id", "name").filter(self._kept.entities)
        ids, names = (self._known.entities.table.column(name).to_pylist() for name in ("id", "name"))
        return dict(zip(ids, names, strict=True)), dict(zip(ids, before.column("name").to_pylist(), strict=True))

    def _before(self, record: type[Record], rows: Rows) -> list[Record]:
        """Return some rows of the whole index."""
        return records_of(taken(self._index.arrow(record), rows), record)

    def _filtered(self, name: str, rows_before: Rows, changed: Mapping[int, str]) -> WindowedIndex:
        """Return the vectors of the rows of a table of the view, embedding those whose text differs.

        Args:
            name: The vectors.
            rows_before: The row of each in the whole index; -1 for one that it does not have.
            changed: The embedded texts that differ from those of the whole index, by row, ascending.
        """
        whole = self._index.vectors(name)
        has_vector = gather_sorted(whole.table_rows, rows_before)[0] > 0
        other = [row for row in changed if has_vector[row] or rows_before[row] < 0]
        if not other:
            return whole.part(rows_before)
        is_same = np.ones(len(rows_before), np.bool_)
        is_same[[*changed]] = False
        same = np.flatnonzero(is_same)
        kept, owners = whole.vectors_of(rows_before[same])
        pieces = [self._embedder.windows(changed[row]) for row in other]
        flat = [piece for windows in pieces for piece in windows]
        table_rows = np.concatenate([same[owners], np.repeat(other, list(map(len, pieces)))])
        order = np.argsort(table_rows, kind="stable")
        vectors: Vectors = np.concatenate([kept, self._embedder.embed(flat)])[order]
        return windowed_in_memory(vectors, table_rows[order], len(rows_before))


def _changed(rows: Rows, texts: Sequence[str], before: Sequence[str]) -> dict[int, str]:
    """Return the texts of rows that differ from those before."""
    compared = zip(rows.tolist(), texts, before, strict=True)
    return {row: text for row, text, other in compared if text != other}
