"""In-memory index: functions instead of files provide each part. The base of filtered views."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from conspectus.storage import tables
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from conspectus.storage.text.bm25 import Bm25
    from conspectus.storage.text.name_table import HasNames
    from conspectus.storage.vectors.windowed import WindowedIndex

Record = TypeVar("Record")
Rows = Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Parts:
    """Functions that make each part of an index; each is called once, when the part is first needed.

    `rows` gives every table, `vectors` those of chunks, entities, relations, predicates and reports, and of
    descriptions if there are any. `entity_names` gives the names of the entities that are more than
    noun phrases by their words, by row; None if a dictionary is to be made of them.
    """

    rows: Mapping[type, Rows]
    vectors: Mapping[str, "Callable[[], WindowedIndex]"]
    graph: Callable[[], Adjacency]
    lexical: "Callable[[], Bm25]"
    entity_names: "Callable[[], HasNames] | None" = None


class MemoryIndex(StoredIndex):
    """An index made of parts. It has no folder, so nothing can be read from one.

    `root` is the location of the cached replies; the manifest is that of the index on disk, without its
    files and with this index's row counts.
    """

    def __init__(self, root: "Path", manifest: Manifest, parts: Parts) -> None:
        # Unlike the base class: without a folder, nothing of an index on disk is reachable from here.
        self.root = root
        self._parts = parts
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.RLock()
        self.manifest = replace(manifest, files={}, rows=_Counts(self))

    def rows(self, record: type[Record]) -> list[Record]:
        """Return a table's rows as records, in table order. Treat the list as read-only."""
        return self.once((StoredIndex.rows, record), lambda: list(self.each(record)))

    def arrow(self, record: type, *columns: str) -> "pa.Table":
        """Return some columns of a table as Arrow (all if none are named)."""
        return tables.arrow_of(record, self.each(record), columns or None)

    def is_mapped(self, record: type) -> bool:  # noqa: ARG002  (that of the base class)
        """Return False: nothing here is a file."""
        return False

    def each(self, record: type[Record]) -> Sequence[Record]:
        """Return a table's rows as records."""
        return self.once((StoredIndex.each, record), lambda: cast(Sequence[Record], self._parts.rows[record]()))

    def count(self, record: type) -> int:
        """Return the number of rows of a table."""
        return len(self.each(record))

    def vectors(self, name: str) -> "WindowedIndex":
        """Return the vector index of a table, of the "predicates" or of the "descriptions"."""
        return self.once((StoredIndex.vectors, name), self._parts.vectors[name])

    def has_vectors(self, name: str) -> bool:
        """Return whether the index has vectors of that name."""
        return name in self._parts.vectors

    def graph(self) -> Adjacency:
        """Return the PageRank graph: its first nodes are the chunks, then the entities, in table order."""
        return self.once(StoredIndex.graph, self._parts.graph)

    def lexical(self) -> "Bm25":
        """Return the lexical index of the chunks, each under its document's title."""
        return self.once(StoredIndex.lexical, self._parts.lexical)

    def entity_names(self) -> "HasNames | None":
        """Return the names of the entities by their words; None if a dictionary is to be made of them."""
        make = self._parts.entity_names
        return None if make is None else self.once(MemoryIndex.entity_names, make)


class _Counts(Mapping[str, int]):
    """The row count of each table, counted on demand."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index

    def __getitem__(self, name: str) -> int:
        return self._index.count(tables.TABLES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(tables.TABLES)

    def __len__(self) -> int:
        return len(tables.TABLES)
