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
from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from functools import cache
from typing import TypeVar

import numpy as np
import pyarrow as pa
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.filter.bitmaps import Bitmaps, is_in, restricted, with_column
from conspectus.query.filter.rows import PermittedNames, PermittedRows, permitted_names
from conspectus.query.filter.vectors import ViewVectors
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
from conspectus.storage.tables import taken
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
