"""An index on disk: immutable versions, one pointer to the current one.

    INDEX/CURRENT                       name of the current version, replaced atomically
    INDEX/versions/<version>/           manifest.json, *.parquet, vectors/, graph/
    INDEX/cache/memo.sqlite             results by content hash, never needed to read an index

A reader keeps the version that it opened; if a build crashes, the old version stays current (see `publishing`).
No file is parsed before its checksum has been compared with the manifest's (`conspectus.storage.manifest`).
"""

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from conspectus.storage import mapped, tables
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.manifest import (
    Manifest,
    current_version,
    read_manifest,
    verified_file,
    verified_folder,
)
from conspectus.storage.records import Chunk
from conspectus.storage.text.postings import TextColumn

if TYPE_CHECKING:
    import pyarrow as pa
    from conspectus.storage.graph.adjacency import Adjacency
    from conspectus.storage.text.bm25 import Bm25
    from conspectus.storage.vectors.windowed import WindowedIndex

DESCRIPTIONS = "descriptions"
"""The vectors of entities by name and description; those of "entities" use only the names."""
SPARSE_VECTORS = frozenset({"entities", "relations", DESCRIPTIONS})
"""Vectors that not every row of their table needs."""

Record = TypeVar("Record")
Value = TypeVar("Value")


class HasIndex(Protocol):
    """An object that belongs to one open index, such as a query context."""

    @property
    def index(self) -> "StoredIndex":
        """The open index."""


Owner = TypeVar("Owner", bound="HasIndex | StoredIndex")


def per_index(make: Callable[[Owner], Value]) -> Callable[[Owner], Value]:
    """Decorate a function of an index, or of an object with an index, so that it runs once per open index.

    The result is cached with the index under the function itself. It must depend only on the open version.
    """

    @wraps(make)
    def cached(owner: Owner) -> Value:
        index = owner if isinstance(owner, StoredIndex) else owner.index
        return index.once(make, lambda: make(owner))

    return cached


class StoredIndex:
    """One version of an index, open for reading. Tables, vectors and graph load on first use and stay cached."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest
        self.folder = root / "versions" / manifest.version
        self._cache: dict[Hashable, Any] = {}
        self._lock = threading.RLock()

    @classmethod
    def open(cls, root: Path | str) -> "StoredIndex":
        """Open the current version of an index.

        Only the manifest is read. Tables, vectors and graph are verified and loaded on first use.

        Args:
            root: The index folder.

        Returns:
            The version that is current now; later builds do not change it.

        Raises:
            IndexNotFound: The folder contains no published version.
            IndexCorrupt: CURRENT or the manifest is damaged.
        """
        root = Path(root)
        return cls(root, read_manifest(root, current_version(root)))

    def rows(self, record: type[Record]) -> list[Record]:
        """Return a table's rows as records, in table order. Treat the list as read-only."""
        name = self.table_name(record)
        return self.once((StoredIndex.rows, name), lambda: list(self.each(record)))

    def arrow(self, record: type, *columns: str) -> "pa.Table":
        """Return some columns of a table as Arrow (all if none are named); a large table is mapped, not read."""
        if self.is_mapped(record):
            table = self.once((StoredIndex.arrow, record), lambda: self._mapped(record))
            return table.select(columns) if columns else table
        return tables.read_arrow(self._table(self.table_name(record)), record, columns or None)

    def is_mapped(self, record: type) -> bool:
        """Return whether a table is so large that it is mapped (see `mapped`)."""
        return self.manifest.rows.get(self.table_name(record), 0) >= mapped.MAPPED_ROWS

    def each(self, record: type[Record]) -> Sequence[Record]:
        """Return a table's rows as records, each made when it is asked for."""
        return self.once((StoredIndex.each, record), lambda: mapped.TableRows(self.arrow(record), record))

    def ids(self, record: type) -> Mapping[str, int]:
        """Return the row of each id of a table."""
        return self.once((StoredIndex.ids, record), lambda: self._ids(record))

    def by_id(self, record: type, column: str) -> Mapping[str, Any]:
        """Return the values of a column of a table by the ids of the rows."""
        ids = self.ids(record)
        values = self.arrow(record, column).column(column)
        if self.is_mapped(record):
            return mapped.ById(ids, TextColumn(lambda: values))
        return dict(zip(ids, values.to_pylist(), strict=True))

    def _ids(self, record: type) -> Mapping[str, int]:
        ids = TextColumn(lambda: self.arrow(record, "id").column("id"))
        return mapped.IdRows(ids) if self.is_mapped(record) else {id_: row for row, id_ in enumerate(ids[:])}

    def _mapped(self, record: type) -> "pa.Table":
        from conspectus.storage.derived import derived_folder

        name = self.table_name(record)
        folder = derived_folder(
            self, f"table-{name}", mapped.FORM, lambda place: mapped.write_mapped(self._table(name), record, place)
        )
        return mapped.open_mapped(folder, record)

    def vectors(self, name: str) -> "WindowedIndex":
        """Return the vector index of a table (entities, relations, chunks or reports), "predicates" or "descriptions".

        The predicates are those of the relations, distinct and sorted; descriptions are those of the entities, if
        `has_vectors` reports any. In an imported graph only some entities and relations have vectors.
        """
        from conspectus.storage.vectors.windowed import open_windowed

        def load() -> "WindowedIndex":
            self._file(f"vectors/{name}.rows.npy")
            coded = f"vectors/{name}.codes" in self.manifest.files
            if coded:
                self._file(f"vectors/{name}.codes")
            return open_windowed(
                self._file(f"vectors/{name}.faiss"),
                n_rows=self.manifest.rows[name],
                dimension=int(self.manifest.models["dimension"]),
                coded=coded,
                every_row=name not in SPARSE_VECTORS,
            )

        return self.once((StoredIndex.vectors, name), load)

    def has_vectors(self, name: str) -> bool:
        """Return whether the index has vectors of that name: "descriptions" are not made for every index."""
        return f"vectors/{name}.faiss" in self.manifest.files

    def graph(self) -> "Adjacency":
        """Return the PageRank graph: its first nodes are the chunks, then the entities, in table order."""
        from conspectus.storage.graph.adjacency import Adjacency  # `status` needs no NumPy

        return self.once(StoredIndex.graph, lambda: Adjacency.load(self._subfolder("graph")))

    def lexical(self) -> "Bm25":
        """Return the lexical index of the chunks, each under its document's title."""
        return self.once(StoredIndex.lexical, self._lexical)

    def _lexical(self) -> "Bm25":
        from conspectus.storage.derived import derived_folder
        from conspectus.storage.text.bm25 import TERMS_FORM, Bm25, open_terms, write_terms

        folder = self._subfolder("bm25")
        vocabulary = None
        if self.is_mapped(Chunk):
            vocabulary = open_terms(derived_folder(self, "terms", TERMS_FORM, partial(write_terms, folder)))
        return Bm25.open(folder, self.manifest.rows["chunks"], vocabulary)

    def once(self, key: Hashable, make: Callable[[], Value]) -> Value:
        """Return the cached value of `key`, made by the first caller while others wait. See `per_index`."""
        with self._lock:
            if key not in self._cache:
                self._cache[key] = make()
            return cast(Value, self._cache[key])

    @staticmethod
    def table_name(record: type) -> str:
        """Return the name of the table whose rows are of this type."""
        return next(name for name, kind in tables.TABLES.items() if kind is record)

    def _table(self, name: str) -> Path:
        return self._file(f"{name}.parquet")

    def _file(self, name: str) -> Path:
        return verified_file(self._existing_folder(), name, self.manifest.files)

    def _subfolder(self, place: str) -> Path:
        return verified_folder(self._existing_folder(), place, self.manifest.files)

    def _existing_folder(self) -> Path:
        if not self.folder.is_dir():
            raise IndexCorrupt(f"{self.folder} is gone, perhaps pruned since it was opened: open the index again")
        return self.folder
