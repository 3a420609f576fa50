"""A view of an index restricted to permitted documents.

A view filters the rows of the open index: it keeps the rows that permitted documents support (`bitmaps`), and makes
each part of permitted rows when it is asked for. Of a large index it takes what depends on one passage only (the terms
of its text, the titles in it) from mapped arrays, and counts the rest anew. Text that occurs only in hidden documents
is in none of its tables, vectors or graphs, so no question to a view can reveal it.

Compared with an index built from the permitted documents alone (the tests check this table by table):

- documents, chunks, links, mentions, relations, names, synonyms, the graph of chunks and entities, BM25 and the
  vectors of chunks, entities, relations and predicates are equal, except that a name introduced only by a hidden
  document is still recognised if a permitted document mentions it;
- an entity that a hidden document mentions too is described by a model's descriptions in permitted chunks, else by
  one permitted sentence, instead of the sentences that a build selects;
- communities are those of the whole index without their hidden members, and a report remains only if its community
  is complete. Methods that read reports fall back on passages if none remain.

Failures, merges and origins are empty: they contain file names, and names that hidden documents use.
"""

import threading
from collections import OrderedDict
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
from conspectus.prompts.embedding.embedder import Embedder
from conspectus.query.context import Context
from conspectus.query.filter.bitmaps import Bitmaps, is_in
from conspectus.query.filter.communities import permitted_communities, permitted_reports
from conspectus.query.filter.names import PermittedNames
from conspectus.query.filter.rows import PermittedRows
from conspectus.query.filter.vectors import ViewVectors
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.walk_graph import NamedChunks, graph_of, name_chunks, with_links
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.joins import Groups
from conspectus.storage.mapped import TableRows
from conspectus.storage.memory_index import MemoryIndex, Parts
from conspectus.storage.name_tables import are_names
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
from conspectus.storage.searched_texts import SearchedTexts, term_counts
from conspectus.storage.structure.links import find_links
from conspectus.storage.structure.signs import document_signs
from conspectus.storage.tables import records_of
from conspectus.storage.text.bm25 import Bm25
from conspectus.storage.title_occurrences import begins, title_occurrences

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
                Name: lambda: self.names.names,
                Link: lambda: self.links,
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
            lexical=self.lexical,
            entity_names=self.entity_names if self._index.is_mapped(Entity) else None,
        )

    def entity_names(self) -> PermittedNames:
        """Return the names of the entities by their words."""
        return PermittedNames(self._index, self._kept, self.known)

    def lexical(self) -> Bm25:
        """Return the lexical index of the permitted chunks; only their word frequencies count."""
        whole, rows = self._index.lexical(), np.flatnonzero(self._kept.chunks)
        documents = np.cumsum(self._kept.documents) - 1
        texts = SearchedTexts(
            self.known.chunks, self.known.documents, documents[self._kept.joined.documents[rows]].tolist()
        )
        if self._index.is_mapped(Chunk):
            return whole.of_part(term_counts(self._index), rows, texts)
        languages = whole.analysis.languages
        return Bm25.of(texts, None if languages is None else [languages[row] for row in rows.tolist()])

    def synonyms(self) -> list[Synonym]:
        """Return the pairs whose entities are both permitted."""
        table = self._index.arrow(Synonym)
        ids = self._index.arrow(Entity, "id").column("id").filter(self._kept.entities).to_pylist()
        return records_of(
            table.filter(is_in(table.column("source_id"), ids) & is_in(table.column("target_id"), ids)), Synonym
        )

    def graph(self) -> Adjacency:
        """Return the graph of chunks and entities, computed as in a build."""
        known = self.known
        named = are_names(known.entities.table.column("types"))
        graph = graph_of(len(known.chunks), named, self.holding, self.names)
        return with_links(graph, known.chunks, self.links) if self.links else graph

    @cached_property
    def holding(self) -> Groups:
        """The rows of the chunks that mention each entity."""
        kept, joined = self._kept, self._kept.joined
        mentions = kept.mentions[joined.entities[kept.mentions] >= 0]
        entities = (np.cumsum(kept.entities) - 1)[joined.entities[mentions]]
        chunks = (np.cumsum(kept.chunks) - 1)[joined.chunks[mentions]]
        return Groups.of(entities, chunks, int(kept.entities.sum()))

    @cached_property
    def names(self) -> NamedChunks:
        """The titles of chunks, and the chunks that contain them."""
        known = self.known
        if self._index.is_mapped(Chunk):
            ids = known.chunks.table.column("id").to_pylist()
            texts = self._index.arrow(Chunk, "text").column("text")
            return title_occurrences(self._index).of_part(self._kept.chunks, ids, lambda row: str(texts[row]))
        title_of = {document.id: document.title for document in known.documents}
        chunks = list(known.chunks)
        first = begins(self._index, chunks, [title_of[chunk.document_id] for chunk in chunks])
        return name_chunks(known.documents, chunks, [*first])

    @cached_property
    def links(self) -> list[Link]:
        """The links between permitted documents."""
        known, kept = self.known, self._kept
        signs = document_signs(self._index)[kept.documents] if self._index.is_mapped(Document) else None
        return find_links(known.documents, known.chunks, signs)

    @cached_property
    def communities(self) -> TableRows[Community]:
        """The communities with their permitted members, relations and chunks; empty ones are left out."""
        return permitted_communities(self._index, self._kept, self.known, self.holding)

    @cached_property
    def reports(self) -> TableRows[Report]:
        """The reports on complete communities: all members remain, and all are intact."""
        return permitted_reports(self._index, self._kept, self.communities)
