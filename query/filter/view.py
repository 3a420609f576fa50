"""A view of an index restricted to permitted documents.

A view filters the rows of the open index: it keeps the rows that permitted documents support (`bitmaps`), and makes
each part of permitted rows when it is asked for. Text that occurs only in hidden documents is in none of its tables,
vectors or graphs, so no question to a view can reveal it. Numbers are those of the whole index: the frequencies of
words, entities and names, and the weights of relations and of the graph.

- Where a hidden document mentions an entity or states a relation too, name, types, predicate and description are those
  of its permitted mentions. An entity without descriptions by a model has none.
- Communities are those of the whole index without their hidden members, and a report remains only if its community
  is complete. Methods that read reports fall back on passages if none remain.
- Failures, merges and origins are empty: they contain file names, and names that hidden documents use.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache, cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.bitmaps import Bitmaps, at, is_in, restricted, with_column
from conspectus.query.filter.rows import PermittedNames, PermittedRows, permitted_names
from conspectus.storage.arrays import Bools, Rows, Vectors, gather_sorted
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    Correction,
    DatedFact,
    Document,
    Entity,
    Failure,
    Link,
    Mention,
    Merge,
    Name,
    Origin,
    Relation,
    Report,
    Synonym,
)
from conspectus.storage.tables import records_of, taken
from conspectus.storage.text.embedded import description_text, entity_text, predicate_words, relation_text
from conspectus.storage.vectors.windowed import WindowedIndex, windowed_in_memory
from pyarrow import compute

Joining = TypeVar("Joining", Synonym, Link)

VIEWS_PER_INDEX = 8
"""Number of views that an open index caches, least recently used dropped first."""


class Views:
    """The most recently used views of an open index. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[Hashable, StoredIndex] = OrderedDict()

    def get(self, key: Hashable, make: Callable[[], StoredIndex]) -> StoredIndex:
        """Return the view of a key; concurrent callers of the same view share one."""
        with self._lock:
            view = self._views.get(key)
            if view is None:
                view = self._views[key] = make()
            self._views.move_to_end(key)
            while len(self._views) > VIEWS_PER_INDEX:
                self._views.popitem(last=False)
            return view


def view_of(
    index: StoredIndex, document_ids: AbstractSet[str], embedder: Embedder, *, graph: bool, always: bool = False
) -> StoredIndex:
    """Return a view of an index; the index itself if everything is permitted.

    Args:
        index: the whole index, or a view of it.
        document_ids: the permitted documents; unknown ids are ignored.
        embedder: the model that made the index's vectors.
        graph: whether statements found only in an imported graph are permitted.
        always: return a view even then.
    """
    may_be_all = not always and graph and len(document_ids) >= index.manifest.rows["documents"]
    if may_be_all and document_ids >= set(index.arrow(Document, "id").column("id").to_pylist()):
        return index
    kept = Bitmaps(index, document_ids, graph=graph)
    known = PermittedRows(index, kept)
    own = ViewVectors(index, kept, known, embedder)
    communities = cache(lambda: permitted_communities(index, kept, known))
    reports = cache(lambda: permitted_reports(index, kept, communities()))
    vectors = {
        "chunks": own.chunks,
        "entities": own.entities,
        "relations": own.relations,
        "predicates": own.predicates,
        "reports": lambda: own.reports(reports()),
    }
    if index.has_vectors(DESCRIPTIONS):
        vectors[DESCRIPTIONS] = own.descriptions
    parts = Parts(
        rows={
            Document: lambda: TableRows(index.arrow(Document).filter(kept.documents), Document),
            Chunk: lambda: known.chunks,
            Entity: lambda: known.entities,
            Mention: lambda: TableRows(taken(index.arrow(Mention), kept.mentions), Mention),
            Relation: lambda: known.relations,
            Name: lambda: permitted_names(index, known),
            Link: lambda: _between(index.arrow(Link), Link, known.chunks),
            Claim: lambda: known.claims,
            DatedFact: lambda: known.dated_facts,
            Synonym: lambda: _between(index.arrow(Synonym), Synonym, known.entities),
            Community: communities,
            Report: reports,
            Failure: list,
            Merge: list,
            Correction: list,
            Origin: list,
        },
        vectors=vectors,
        graph=lambda: index.graph().part(np.flatnonzero(np.append(kept.chunks, kept.entities))),
        lexical=lambda: index.lexical().part(np.flatnonzero(kept.chunks)),
        entity_names=(lambda: PermittedNames(index, kept, known)) if index.is_mapped(Entity) else None,
    )
    return MemoryIndex(index.root, index.manifest, parts)


def _between(table: pa.Table, record: type[Joining], ends: TableRows[Chunk] | TableRows[Entity]) -> TableRows[Joining]:
    """Return the rows of a table whose two ends both remain."""
    known = ends.table.column("id").to_pylist()
    within = is_in(table.column("source_id"), known) & is_in(table.column("target_id"), known)
    return TableRows(table.filter(within), record)


def permitted_communities(index: StoredIndex, kept: Bitmaps, known: PermittedRows) -> TableRows[Community]:
    """Return the communities with their permitted members, relations and chunks; empty ones are left out."""
    table = restricted(index.arrow(Community), "entity_ids", known.entities.table.column("id"))
    table = restricted(table, "relation_ids", index.arrow(Relation, "id").column("id").filter(kept.relations))
    table = restricted(table, "chunk_ids", known.chunks.table.column("id"))
    table = with_column(table, "size", compute.list_value_length(table.column("entity_ids")))
    return TableRows(table.filter(compute.greater(table.column("size"), 0)), Community)


def permitted_reports(index: StoredIndex, kept: Bitmaps, communities: TableRows[Community]) -> TableRows[Report]:
    """Return the reports on complete communities: all members remain, and all are intact."""
    table, whole = communities.table, index.arrow(Community, "id", "size")
    before = whole.column("size").take(compute.index_in(table.column("id"), value_set=whole.column("id")))
    intact = restricted(table, "entity_ids", index.arrow(Entity, "id").column("id").filter(kept.intact))
    members = compute.list_value_length(intact.column("entity_ids")).to_numpy()
    complete = (members == before.to_numpy()) & (members == table.column("size").to_numpy())
    reports = index.arrow(Report)
    ids = table.column("id").filter(complete).to_pylist()
    return TableRows(reports.filter(is_in(reports.column("community_id"), ids)), Report)


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
