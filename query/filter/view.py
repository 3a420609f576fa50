"""A view of an index restricted to permitted documents.

A view filters the rows of the open index: it keeps the rows that permitted documents support (`bitmaps`), and makes
each part of permitted rows when it is asked for. Text that occurs only in hidden documents is in none of its tables,
vectors or graphs, so no question to a view can reveal it. Numbers are those of the whole index: the frequencies of
words, entities and names, and the weights of relations and of the graph.

- Where a hidden document mentions an entity or states a relation too, name, types, predicate and description are those
  of its permitted mentions. Without descriptions by a model, one permitted sentence describes it.
- Communities are those of the whole index without their hidden members, and a report remains only if its community
  is complete. Methods that read reports fall back on passages if none remain.
- Failures, merges and origins are empty: they contain file names, and names that hidden documents use.
"""

import threading
from collections import OrderedDict
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TypeVar

import numpy as np
import pyarrow as pa
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.context import Context
from conspectus.query.filter.bitmaps import Bitmaps, is_in
from conspectus.query.filter.communities import permitted_communities, permitted_reports
from conspectus.query.filter.names import PermittedNames, permitted_names
from conspectus.query.filter.rows import PermittedRows
from conspectus.query.filter.vectors import ViewVectors
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.mapped import TableRows
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
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

Joining = TypeVar("Joining", Synonym, Link)

VIEWS_PER_INDEX = 8
"""Number of views that an open index caches, least recently used dropped first."""


class Views:
    """The most recently used views of an open index. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views: OrderedDict[tuple[frozenset[str], bool], StoredIndex] = OrderedDict()

    def get(self, context: Context, documents: frozenset[str], *, graph: bool) -> StoredIndex:
        """Return the view of some documents; concurrent callers of the same view share one."""
        key = documents, graph
        with self._lock:
            view = self._views.get(key)
            if view is None:
                view = self._views[key] = view_of(context.index, documents, context.embedder, graph=graph)
            self._views.move_to_end(key)
            while len(self._views) > VIEWS_PER_INDEX:
                self._views.popitem(last=False)
            return view


def view_of(index: StoredIndex, document_ids: AbstractSet[str], embedder: Embedder, *, graph: bool) -> StoredIndex:
    """Return a view of an index; the index itself if everything is permitted.

    Args:
        index: the whole index, or a view of it.
        document_ids: the permitted documents; unknown ids are ignored.
        embedder: the model that made the index's vectors.
        graph: whether statements found only in an imported graph are permitted.
    """
    may_be_all = graph and len(document_ids) >= index.manifest.rows["documents"]
    if may_be_all and document_ids >= set(index.arrow(Document, "id").column("id").to_pylist()):
        return index
    return MemoryIndex(index.root, index.manifest, _View(index, document_ids, embedder, graph).parts())


class _View:
    """Filters the tables of an index; expensive parts are made on first use."""

    def __init__(self, index: StoredIndex, document_ids: AbstractSet[str], embedder: Embedder, graph: bool) -> None:
        self._index = index
        self._kept = Bitmaps(index, document_ids, graph=graph)
        self.known = PermittedRows(index, self._kept)
        self.vectors = ViewVectors(index, self._kept, self.known, embedder)

    def parts(self) -> Parts:
        """Return the function that makes each part."""
        known = self.known
        return Parts(
            rows={
                Document: lambda: known.documents,
                Chunk: lambda: known.chunks,
                Entity: lambda: known.described,
                Mention: lambda: known.mentions,
                Relation: lambda: known.relations,
                Name: lambda: permitted_names(self._index, known),
                Link: self.links,
                Claim: lambda: known.claims,
                Synonym: self.synonyms,
                Community: lambda: self.communities,
                Report: lambda: self.reports,
                Failure: list,
                Merge: list,
                Origin: list,
            },
            undescribed=lambda: known.entities,
            vectors={
                "chunks": self.vectors.chunks,
                "entities": self.vectors.entities,
                "relations": self.vectors.relations,
                "predicates": self.vectors.predicates,
                "reports": lambda: self.vectors.reports(self.reports),
            }
            | ({DESCRIPTIONS: self.vectors.descriptions} if self._index.has_vectors(DESCRIPTIONS) else {}),
            graph=self.graph,
            lexical=lambda: self._index.lexical().part(np.flatnonzero(self._kept.chunks)),
            entity_names=self.entity_names if self._index.is_mapped(Entity) else None,
        )

    def entity_names(self) -> PermittedNames:
        """Return the names of the entities by their words."""
        return PermittedNames(self._index, self._kept, self.known)

    def synonyms(self) -> TableRows[Synonym]:
        """Return the pairs whose entities are both permitted."""
        return self._between(Synonym, self._index.arrow(Entity, "id").column("id").filter(self._kept.entities))

    def links(self) -> TableRows[Link]:
        """Return the links between permitted chunks."""
        return self._between(Link, self.known.chunks.table.column("id"))

    def graph(self) -> Adjacency:
        """Return the graph of the permitted chunks and entities."""
        kept = self._kept
        return self._index.graph().part(np.flatnonzero(np.append(kept.chunks, kept.entities)))

    def _between(self, record: type[Joining], ids: pa.ChunkedArray) -> TableRows[Joining]:
        table, known = self._index.arrow(record), ids.to_pylist()
        return TableRows(
            table.filter(is_in(table.column("source_id"), known) & is_in(table.column("target_id"), known)), record
        )

    @cached_property
    def communities(self) -> TableRows[Community]:
        """The communities with their permitted members, relations and chunks; empty ones are left out."""
        return permitted_communities(self._index, self._kept, self.known)

    @cached_property
    def reports(self) -> TableRows[Report]:
        """The reports on complete communities: all members remain, and all are intact."""
        return permitted_reports(self._index, self._kept, self.communities)
