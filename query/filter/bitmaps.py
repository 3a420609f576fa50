"""Which rows of an index permitted documents support: a bitmap over each table.

Everything is computed from the rows that mentions, relations and chunks refer to (`conspectus.storage.joins`), so
no text is read, and a row of a hidden document is never made.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.arrays import Bools, Ints, runs
from conspectus.storage.hashing import entity_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.joins import Codes, joined
from conspectus.storage.records import GRAPH_FILE, Document, Entity, Mention, Origin, Relation
from conspectus.storage.text.nlp import CONCEPT, TITLE
from conspectus.storage.text.normalise import entity_key, title_names

if TYPE_CHECKING:
    import pyarrow as pa

GraphDetails = Mapping[str, Sequence[Mapping[str, str]]]
"""Statements of the files of an imported graph about entities and relations, by id."""


class Bitmaps:
    """The rows that some documents support and, if `graph` is true, those of an imported graph.

    Mentions in chunks of these documents remain, and the entities and relations that they mention. A short form of a
    title ("Apollo" of "Apollo (band)") remains if the document of that title does. A phrase that is not a name, and
    that no statement and no second place uses any more, is left out, as in a build.

    Args:
        index: the whole index.
        document_ids: the permitted documents.
        graph: whether statements found only in an imported graph are permitted.

    Attributes:
        joined: the rows that mentions, relations and chunks refer to.
        documents: the permitted documents, (documents,).
        chunks: their chunks, (chunks,).
    """

    def __init__(self, index: StoredIndex, document_ids: AbstractSet[str], *, graph: bool) -> None:
        self._index = index
        self._counts = index.manifest.rows
        self.graph = graph
        self.joined = joined(index)
        self.documents = is_in(index.arrow(Document, "id").column("id"), document_ids)
        self.chunks = at(self.documents, self.joined.documents)

    @cached_property
    def titled(self) -> frozenset[str]:
        """The ids of the entities with the name of a permitted document."""
        titles = self._index.arrow(Document, "title").column("title").filter(self.documents).to_pylist()
        return frozenset(entity_id(entity_key(title_names(title)[0])) for title in titles if title.strip())

    @cached_property
    def supported(self) -> Bools:
        """The mentions in permitted chunks, (mentions,)."""
        by_title = at(self._is_titled, self.joined.entities)
        found: Bools = at(self.chunks, self.joined.chunks) & ((self.joined.short == 0) | by_title)
        return found

    @cached_property
    def mentions(self) -> Bools:
        """The mentions of the entities and relations that remain, (mentions,)."""
        owned = at(self.entities, self.joined.entities) | at(self.relations, self.joined.relations)
        return self.supported & owned

    @cached_property
    def entities(self) -> Bools:
        """The entities that remain, (entities,)."""
        found = self._named | self._connected
        alone = np.flatnonzero(found & ~self._connected)
        found[alone] = self._stand_alone(alone)
        return found

    @cached_property
    def intact(self) -> Bools:
        """The entities whose rows are unchanged except for the degree: no hidden document mentions them."""
        return self.entities & ~self._touched[0]

    @cached_property
    def relations(self) -> Bools:
        """The relations that remain, (relations,)."""
        return self._stated | self._of_graph

    @cached_property
    def restated(self) -> Bools:
        """The relations that remain, and that a hidden document states too, (relations,)."""
        return self._stated & self._touched[1]

    @cached_property
    def degrees(self) -> Ints:
        """The number of distinct neighbours of each entity among those that remain, (entities,)."""
        sources, targets = (ends[self.relations] for ends in (self.joined.sources, self.joined.targets))
        ends, others = np.append(sources, targets), np.append(targets, sources)
        known = ends >= 0
        return _count_distinct(len(self.entities), ends[known], others[known])

    @cached_property
    def details(self) -> GraphDetails:
        """What the files of an imported graph say, by the id of what it is about."""
        details: dict[str, list[Mapping[str, str]]] = {}
        for origin in self._index.rows(Origin) if self._counts["origins"] else ():
            if GRAPH_FILE in origin.details:
                details.setdefault(origin.item_id, []).append(origin.details)
        return details

    @cached_property
    def _is_titled(self) -> Bools:
        return is_in(self._index.arrow(Entity, "id").column("id"), self.titled)

    @cached_property
    def _named(self) -> Bools:
        """The entities that a permitted mention names."""
        return _marked(self._counts["entities"], self.joined.entities[self.supported])

    @cached_property
    def _touched(self) -> tuple[Bools, Bools]:
        """The entities and the relations that lose a mention or, if the graph is hidden, what it says of them."""
        lost = ~self.supported
        entities = _marked(self._counts["entities"], self.joined.entities[lost])
        relations = _marked(self._counts["relations"], self.joined.relations[lost])
        if not self.graph and self.details:
            entities |= is_in(self._index.arrow(Entity, "id").column("id"), self.details)
            relations |= is_in(self._index.arrow(Relation, "id").column("id"), self.details)
        return entities, relations

    @cached_property
    def _stated(self) -> Bools:
        """The relations that a permitted mention states between entities that permitted mentions name."""
        found = _marked(self._counts["relations"], self.joined.relations[self.supported])
        return found & at(self._named, self.joined.sources) & at(self._named, self.joined.targets)

    @cached_property
    def _of_graph(self) -> Bools:
        """The relations that no document states."""
        from pyarrow import compute

        if not self.graph:
            return np.zeros(self._counts["relations"], np.bool_)
        lengths = compute.list_value_length(self._index.arrow(Relation, "chunk_ids").column("chunk_ids"))
        return np.asarray(lengths.to_numpy() == 0)

    @cached_property
    def _connected(self) -> Bools:
        """The entities that a relation joins, or that only an imported graph contains."""
        ends = (ends[self.relations] for ends in (self.joined.sources, self.joined.targets))
        found = _marked(self._counts["entities"], np.concatenate([*ends]))
        if self.graph:
            found |= self._index.arrow(Entity, "frequency").column("frequency").to_numpy() == 0
        return found

    def _stand_alone(self, rows: Ints) -> Bools:
        """Return which entities without a statement belong in the index: names, and phrases found in several places.

        A name known only as a title needs the document of that title.
        """
        types = self._index.arrow(Entity, "types").column("types").take(rows).to_pylist()
        phrases = np.array([all(kind == CONCEPT for kind in kinds) for kinds in types], np.bool_)
        titles = np.array([set(kinds) == {TITLE} for kinds in types], np.bool_)
        several = self._places(rows[phrases])[rows] > 1
        return np.where(titles, self._is_titled[rows], ~phrases | several)

    def _places(self, entities: Ints) -> Ints:
        """Return the number of places of some entities, (entities of the index,); 0 for others."""
        wanted = _marked(self._counts["entities"], entities)
        mentions = np.flatnonzero(self.supported & at(wanted, self.joined.entities))
        starts = self._index.arrow(Mention, "start").column("start").take(mentions).fill_null(-1).to_numpy()
        documents = self.joined.documents[self.joined.chunks[mentions]]
        return _count_distinct(len(wanted), self.joined.entities[mentions], documents, starts)


def at(mask: Bools, rows: Codes) -> Bools:
    """Return the mask at some rows; False for row -1, which is none.

    >>> at(np.array([False, True]), np.array([1, -1, 0], np.int32)).tolist()
    [True, False, False]
    """
    return np.append(mask, False)[rows]


def is_in(column: "pa.ChunkedArray", values: Iterable[str]) -> Bools:
    """Return which of the texts of a column are among some values."""
    import pyarrow as pa
    from pyarrow import compute

    found = compute.is_in(column, value_set=pa.array(sorted(values), pa.string()))
    return np.asarray(found.to_numpy(), np.bool_)


def _marked(n_rows: int, rows: Codes | Ints) -> Bools:
    """Return which of `n_rows` rows are given; row -1 is none."""
    found = np.zeros(n_rows + 1, np.bool_)
    found[rows] = True
    return found[:-1]


def _count_distinct(n_groups: int, groups: Codes, *members: Codes | Ints) -> Ints:
    """Return the number of distinct members (of several columns) of each group, (n_groups,)."""
    order, starts = runs(groups, *members)
    return np.bincount(groups[order[starts]], minlength=n_groups)
