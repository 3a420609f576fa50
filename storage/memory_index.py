"""In-memory index: each part comes from a function instead of a file. The base of filtered views."""

import threading
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from conspectus.storage import tables
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest
from conspectus.storage.records import Entity

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa
    from conspectus.storage.text.bm25 import Bm25
    from conspectus.storage.vectors.windowed import WindowedIndex

Record = TypeVar("Record")
Rows = Callable[[], Sequence[Any]]


@dataclass(frozen=True, slots=True)
class Parts:
    """What makes each part of an index; each is called once, when the part is first needed.

    `rows` gives every table, `vectors` those of chunks, entities, relations, predicates and reports. `undescribed` are
    the entities without their descriptions, for whoever asks for other columns: descriptions may cost more.
    """

    rows: Mapping[type, Rows]
    undescribed: Rows
    vectors: Mapping[str, "Callable[[], WindowedIndex]"]
    graph: Callable[[], Adjacency]
    lexical: "Callable[[], Bm25]"


class MemoryIndex(Index):
    """An index made of parts. It has no folder: what would be read there cannot be.

    `root` is the place of the replies that are remembered; the manifest is that of the index on disk, without its
    files, and counts the rows of this one.
    """

    def __init__(self, root: "Path", manifest: Manifest, parts: Parts) -> None:
        # Not what Index does: without a folder nothing of an index on disk can be reached from here.
        self.root = root
        self._parts = parts
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.RLock()
        self.manifest = replace(manifest, files={}, rows=_Counts(self))

    def rows(self, record: type[Record]) -> list[Record]:
        """Return a table's rows as records, in table order. Treat the list as read-only."""
        name = self.table_name(record)
        return self.once((Index.rows, name), lambda: cast(list[Record], list(self._parts.rows[record]())))

    def arrow(self, record: type, *columns: str) -> "pa.Table":
        """Return some columns of a table as Arrow (all where none are named)."""
        bare = record is Entity and columns and "description" not in columns
        return tables.arrow_of(record, self._undescribed() if bare else self.rows(record), columns or None)

    def count(self, record: type) -> int:
        """Return the number of rows of a table."""
        return len(self._undescribed() if record is Entity else self.rows(record))

    def _undescribed(self) -> Sequence[Any]:
        return self.once(MemoryIndex._undescribed, self._parts.undescribed)

    def vectors(self, name: str) -> "WindowedIndex":
        """Return the vector index of a table, or of the "predicates"."""
        return self.once((Index.vectors, name), self._parts.vectors[name])

    def graph(self) -> Adjacency:
        """Return the graph that PageRank runs on: its first nodes are the chunks, then the entities, in table order."""
        return self.once(Index.graph, self._parts.graph)

    def lexical(self) -> "Bm25":
        """Return the lexical index of the chunks, each under its document's title."""
        return self.once(Index.lexical, self._parts.lexical)


class _Counts(Mapping[str, int]):
    """How many rows each table has, counted when asked for."""

    def __init__(self, index: MemoryIndex) -> None:
        self._index = index

    def __getitem__(self, name: str) -> int:
        return self._index.count(tables.TABLES[name])

    def __iter__(self) -> Iterator[str]:
        return iter(tables.TABLES)

    def __len__(self) -> int:
        return len(tables.TABLES)
