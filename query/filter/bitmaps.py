"""Which rows of an index permitted documents support: a bitmap over each table.

Everything is computed from the rows that mentions, relations and chunks refer to (`conspectus.storage.joins`), so
no text is read, and a row of a hidden document is never made.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

import numpy as np
import pyarrow as pa
from conspectus.storage.arrays import Bools, Ints, Rows, SmallInts
from conspectus.storage.index import StoredIndex
from conspectus.storage.joins import (
    entities_of_titles,
    joined,
    mentions_of_chunks,
    mentions_of_entities,
    mentions_of_relations,
)
from conspectus.storage.records import GRAPH_FILE, Document, Entity, Origin, Relation
from conspectus.storage.tables import taken
from conspectus.storage.text.nlp import TITLE
from pyarrow import compute

GraphDetails = Mapping[str, Sequence[Mapping[str, str]]]
"""Statements of the files of an imported graph about entities and relations, by id."""


class Bitmaps:
    """The rows that some documents support and, if `graph` is true, those of an imported graph.

    Mentions in chunks of these documents remain, and the entities and relations that they mention. A short form of a
    title ("Apollo" of "Apollo (band)") remains if the document of that title does, and so does a name that is known
    only as a title.

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
    def titled(self) -> Bools:
        """The entities with the name of a permitted document, (entities,)."""
        return _marked(self._counts["entities"], entities_of_titles(self._index)[self.documents])

    @cached_property
    def supported(self) -> Rows:
        """The rows of the mentions in permitted chunks, ascending (s,)."""
        rows = np.sort(mentions_of_chunks(self._index).of_each(np.flatnonzero(self.chunks))[1])
        by_title = at(self.titled, self.joined.entities[rows])
        found: Rows = rows[(self.joined.short[rows] == 0) | by_title]
        return found

    @cached_property
    def mentions(self) -> Rows:
        """The rows of the mentions of the entities and relations that remain, ascending (m,)."""
        rows = self.supported
        found: Rows = rows[at(self.entities, self._entities) | at(self.relations, self._relations)]
        return found

    @cached_property
    def entities(self) -> Bools:
        """The entities that remain, (entities,)."""
        found = self._named | self._connected
        alone = np.flatnonzero(found & ~self._connected & ~self.titled)
        types = taken(self._index.arrow(Entity, "types"), alone)["types"].to_pylist()
        found[alone] = [set(kinds) != {TITLE} for kinds in types]
        return found

    @cached_property
    def intact(self) -> Bools:
        """The entities that no hidden document mentions."""
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
    def details(self) -> GraphDetails:
        """What the files of an imported graph say, by the id of what it is about."""
        details: dict[str, list[Mapping[str, str]]] = {}
        for origin in self._index.rows(Origin) if self._counts["origins"] else ():
            if GRAPH_FILE in origin.details:
                details.setdefault(origin.item_id, []).append(origin.details)
        return details

    @cached_property
    def _entities(self) -> SmallInts:
        """The entities of the permitted mentions, (s,)."""
        return self.joined.entities[self.supported]

    @cached_property
    def _relations(self) -> SmallInts:
        """The relations of the permitted mentions, (s,)."""
        return self.joined.relations[self.supported]

    @cached_property
    def _named(self) -> Bools:
        """The entities that a permitted mention names."""
        return _marked(self._counts["entities"], self._entities)

    @cached_property
    def _touched(self) -> tuple[Bools, Bools]:
        """The entities and the relations that lose a mention or, if the graph is hidden, what it says of them."""
        entities = _fewer(self._entities, mentions_of_entities(self._index).starts)
        relations = _fewer(self._relations, mentions_of_relations(self._index).starts)
        if not self.graph and self.details:
            entities |= is_in(self._index.arrow(Entity, "id").column("id"), self.details)
            relations |= is_in(self._index.arrow(Relation, "id").column("id"), self.details)
        return entities, relations

    @cached_property
    def _stated(self) -> Bools:
        """The relations that a permitted mention states between entities that permitted mentions name."""
        found = _marked(self._counts["relations"], self._relations)
        return found & at(self._named, self.joined.sources) & at(self._named, self.joined.targets)

    @cached_property
    def _of_graph(self) -> Bools:
        """The relations that no document states."""
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


def at(mask: Bools, rows: SmallInts) -> Bools:
    """Return the mask at some rows; False for row -1, which is none.

    >>> at(np.array([False, True]), np.array([1, -1, 0], np.int32)).tolist()
    [True, False, False]
    """
    return np.append(mask, False)[rows]


def is_in(column: pa.ChunkedArray, values: Iterable[str]) -> Bools:
    """Return which of the texts of a column are among some values."""
    found = compute.is_in(column, value_set=pa.array(sorted(values), pa.string()))
    return np.asarray(found.to_numpy(), np.bool_)


def restricted(table: pa.Table, name: str, ids: pa.ChunkedArray) -> pa.Table:
    """Return a table with only some ids in the lists of a column."""
    lists = table.column(name)
    listed = compute.list_flatten(lists)
    found = compute.is_in(listed, value_set=ids)
    owners = np.repeat(np.arange(len(lists)), compute.list_value_length(lists).to_numpy())[found.to_numpy()]
    starts = np.searchsorted(owners, np.arange(len(lists) + 1)).astype(np.int32)
    return with_column(table, name, pa.ListArray.from_arrays(starts, listed.filter(found).combine_chunks()))


def with_column(table: pa.Table, name: str, column: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Return a table with other values in a column."""
    place = table.schema.get_field_index(name)
    return table.set_column(place, table.schema.field(place), column.cast(table.schema.field(place).type))


def _marked(n_rows: int, rows: SmallInts | Ints) -> Bools:
    """Return which of `n_rows` rows are given; row -1 is none."""
    found = np.zeros(n_rows + 1, np.bool_)
    found[rows] = True
    return found[:-1]


def _fewer(rows: SmallInts, starts: Ints) -> Bools:
    """Return which groups have fewer members among `rows` (-1 is none) than from one of `starts` to the next."""
    counts = np.bincount(rows[rows >= 0], minlength=len(starts) - 1)
    found: Bools = counts < np.diff(starts)
    return found
