"""Vectors of the tables of a narrowed index: those that the whole one has of the same texts, and new ones of others."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from conspectus.pipelines.permitted.knowledge import Narrowed
from conspectus.pipelines.steps.reports.extractive import NAMES_IN_TITLE, leading
from conspectus.pipelines.steps.vectors import entity_text, predicate_texts, relation_text
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.storage.arrays import Rows, Vectors
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Community, Entity, Relation, Report
from conspectus.storage.vectors.memory import held, picked
from conspectus.storage.vectors.windowed import WindowedIndex


@dataclass(frozen=True, slots=True)
class Wanted:
    """A row that is to have vectors: its text, and which row of the whole table it was, with which text."""

    row: int
    text: str
    before: int
    text_before: str


def narrowed_vectors(whole: WindowedIndex, wanted: Sequence[Wanted], n_rows: int, embedder: Embedder) -> WindowedIndex:
    """Return the vectors of some rows (ascending) of a table of `n_rows`; a row whose text is the same keeps its own.

    A row whose text is another is embedded, in windows where it is longer than the model reads.
    """
    same = [each for each in wanted if each.text == each.text_before]
    other = [each for each in wanted if each.text != each.text_before]
    kept, places = picked(whole, np.array([each.before for each in same], np.int64))
    pieces = [embedder.windows(each.text) for each in other]
    flat = [piece for each in pieces for piece in each]
    made: Vectors = embedder.embed(flat) if flat else np.zeros((0, whole.dimension), np.float32)
    owners = np.repeat(np.array([each.row for each in other], np.int64), [len(each) for each in pieces])
    return _merged(kept, np.array([each.row for each in same], np.int64)[places], made, owners, n_rows)


class NarrowedVectors:
    """The vectors of a narrowed index, each set made when it is asked for."""

    def __init__(self, index: Index, known: Narrowed, embedder: Embedder) -> None:
        self._index = index
        self._known = known
        self._embedder = embedder

    @cached_property
    def chunks(self) -> WindowedIndex:
        """Those of the chunks, as they were."""
        before = self._rows_before(Chunk)
        wanted = [Wanted(row, "", before[each.id], "") for row, each in enumerate(self._known.chunks)]
        return self._of("chunks", wanted, len(self._known.chunks))

    @cached_property
    def entities(self) -> WindowedIndex:
        """Those of the entities that had some; one that goes by another name is embedded."""
        before, has_some = self._rows_before(Entity), self._having("entities")
        wanted = [
            Wanted(row, entity_text(each), before[each.id], self._names_before[each.id])
            for row, each in enumerate(self._known.entities)
            if before[each.id] in has_some
        ]
        return self._of("entities", wanted, len(self._known.entities))

    @cached_property
    def relations(self) -> WindowedIndex:
        """Those of the relations that had some; one that reads otherwise is embedded."""
        before, has_some = self._rows_before(Relation), self._having("relations")
        name_of = {each.id: each.name for each in self._known.entities}
        kept = [(row, each) for row, each in enumerate(self._known.relations) if before[each.id] in has_some]
        said = self._relations_before
        wanted = [
            Wanted(row, relation_text(each, name_of), before[each.id], relation_text(said(each), self._names_before))
            for row, each in kept
        ]
        return self._of("relations", wanted, len(self._known.relations))

    @cached_property
    def predicates(self) -> WindowedIndex:
        """Those of the predicates; one that is written otherwise is embedded."""
        own = sorted({each.predicate for each in self._known.relations})
        whole = sorted(set(self._index.arrow(Relation, "predicate").column("predicate").to_pylist()))
        before = {each: row for row, each in enumerate(whole)}
        texts = predicate_texts(self._known.relations)
        wanted = [
            Wanted(row, texts[row], before.get(each, -1), texts[row] if each in before else "")
            for row, each in enumerate(own)
        ]
        return self._of("predicates", wanted, len(own))

    def of_reports(
        self, reports: Sequence[Report], kept: Collection[str], communities: Sequence[Community]
    ) -> WindowedIndex:
        """Return those of the reports. One that is new has them of its first names and its first passage together.

        `kept` are the ids of the others. To embed all that a filter makes new would take a minute on a thousand
        documents, or cost what a server charges; so none is.
        """
        before = self._rows_before(Report)
        old = [(row, before[each.id]) for row, each in enumerate(reports) if each.id in kept]
        new = [(row, each) for row, each in enumerate(reports) if each.id not in kept]
        vectors, places = picked(self._index.vectors("reports"), np.array([was for _, was in old], np.int64))
        made = self._standing_for([each for _, each in new], communities)
        rows_of_old = np.array([row for row, _ in old], np.int64)[places]
        return _merged(vectors, rows_of_old, made, np.array([row for row, _ in new], np.int64), len(reports))

    def _standing_for(self, reports: Sequence[Report], communities: Sequence[Community]) -> Vectors:
        entity = {each.id: each for each in self._known.entities}
        entity_row = {id_: row for row, id_ in enumerate(entity)}
        chunk_row = {each.id: row for row, each in enumerate(self._known.chunks)}
        members = {each.id: each.entity_ids for each in communities}
        names = [leading([entity[id_] for id_ in members[each.community_id]])[:NAMES_IN_TITLE] for each in reports]
        passages = [chunk_row[each.findings[0].citations[0].chunk_id] for each in reports]
        of_names = _means(self.entities, [[entity_row[each.id] for each in some] for some in names])
        return _unit(of_names + self.chunks.mean_vectors(np.array(passages, np.int64)))

    def _of(self, name: str, wanted: Sequence[Wanted], n_rows: int) -> WindowedIndex:
        return narrowed_vectors(self._index.vectors(name), wanted, n_rows, self._embedder)

    def _having(self, name: str) -> set[int]:
        return set(self._index.vectors(name).table_rows.tolist())

    def _rows_before(self, record: type) -> dict[str, int]:
        return {id_: row for row, id_ in enumerate(self._index.arrow(record, "id").column("id").to_pylist())}

    @cached_property
    def _names_before(self) -> dict[str, str]:
        table = self._index.arrow(Entity, "id", "name")
        return dict(zip(table.column("id").to_pylist(), table.column("name").to_pylist(), strict=True))

    @cached_property
    def _relations_before(self) -> Callable[[Relation], Relation]:
        """Return what gives a relation as it reads in the whole index."""
        table = self._index.arrow(Relation, "id", "predicate", "description")
        columns = (table.column(name).to_pylist() for name in ("id", "predicate", "description"))
        read = {id_: told for id_, *told in zip(*columns, strict=True)}
        return lambda each: replace(each, predicate=read[each.id][0], description=read[each.id][1])


def _merged(left: Vectors, rows_of_left: Rows, right: Vectors, rows_of_right: Rows, n_rows: int) -> WindowedIndex:
    rows = np.concatenate([rows_of_left, rows_of_right])
    order = np.argsort(rows, kind="stable")
    return held(np.concatenate([left, right])[order], rows[order], n_rows)


def _means(whole: WindowedIndex, rows: Sequence[Sequence[int]]) -> Vectors:
    """Return for each list of rows, none of them empty, the unit mean of their vectors: (n, d)."""
    if not rows:
        return np.zeros((0, whole.dimension), np.float32)
    vectors = whole.mean_vectors(np.array([row for some in rows for row in some], np.int64))
    starts = np.cumsum([0, *(len(some) for some in rows[:-1])])
    return _unit(np.add.reduceat(vectors, starts, axis=0))


def _unit(vectors: Vectors) -> Vectors:
    unit: Vectors = (vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)).astype(np.float32)
    return unit
