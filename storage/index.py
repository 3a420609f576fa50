"""An index on disk: immutable versions, one pointer to the current one.

    INDEX/CURRENT                       name of the current version, replaced atomically
    INDEX/versions/<version>/           manifest.json, *.parquet, vectors/, graph/
    INDEX/cache/memo.sqlite             results by content hash, never needed to read an index

A version is written beside the current one, checksummed, renamed into place, and only then named by CURRENT.
A reader that has a version open keeps it; a build that dies leaves the old version in force.
"""

import importlib.metadata
import json
import os
import re
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from storage import tables
from storage.errors import IndexBusy, IndexCorrupt, IndexNotFound, IndexTooNew, IndexUnusable, UsageError
from storage.graph.adjacency import Adjacency
from storage.hashing import digest, file_digest

if TYPE_CHECKING:
    import pyarrow as pa

    from storage.vectors.windowed import WindowedIndex

FORMAT_VERSION = 3
"""Raised when an older reader could misread what a newer writer makes."""

SPARSE_VECTORS = frozenset({"entities", "relations"})
"""Tables of which not every row needs a vector."""

MANIFEST = "manifest.json"

Record = TypeVar("Record")
Value = TypeVar("Value")

_VERSION_NAME = re.compile(r"[0-9a-f]{12}")
_STAGING_PREFIX = ".staging-"
_LOCK = ".lock"
_MEMO = Path("cache", "memo.sqlite")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a version says of itself. `files` maps each path inside the version to its sha256 and size."""

    format_version: int
    version: str
    settings: Mapping[str, Any]
    fingerprint: str
    rows: Mapping[str, int]
    models: Mapping[str, str]
    tools: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]


class Index:
    """One version of an index, open for reading. Tables, vectors and graph load on first use and are kept."""

    def __init__(self, root: Path, manifest: Manifest) -> None:
        self.root = root
        self.manifest = manifest
        self.folder = root / "versions" / manifest.version
        self._kept: dict[str, Any] = {}
        self._lock = threading.RLock()

    @classmethod
    def open(cls, root: Path | str) -> "Index":
        """Open the current version; IndexNotFound or IndexCorrupt say what is wrong with the folder."""
        root = Path(root)
        return cls(root, read_manifest(root, current_version(root)))

    def rows(self, record: type[Record]) -> list[Record]:
        """Return a table's rows as records, in table order. Treat the list as read-only."""
        name = self.table_name(record)
        return self.keep(f"rows {name}", lambda: tables.read_table(self._table(name), record))

    def arrow(self, record: type, *columns: str) -> "pa.Table":
        """Return some columns of a table as Arrow (all where none are named)."""
        return tables.read_arrow(self._table(self.table_name(record)), record, columns or None)

    def vectors(self, name: str) -> "WindowedIndex":
        """Return the vector index of a table: entities, relations, chunks or reports; or of the "predicates".

        The predicates are the distinct ones of the relations, sorted. Of entities and relations that a graph brought
        along only some have vectors.
        """
        from storage.vectors.windowed import open_windowed

        def load() -> "WindowedIndex":
            return open_windowed(
                self.folder / "vectors" / f"{name}.faiss",
                n_rows=self.manifest.rows[name],
                dimension=int(self.manifest.models["dimension"]),
                probes=int(self.manifest.settings["vectors"]["probes"]),
                every_row=name not in SPARSE_VECTORS,
            )

        return self.keep(f"vectors {name}", load)

    def graph(self) -> Adjacency:
        """Return the graph that PageRank runs on: its first nodes are the chunks, then the entities, in table order."""
        return self.keep("graph", lambda: Adjacency.load(self.folder / "graph"))

    def keep(self, key: str, make: Callable[[], Value]) -> Value:
        """Return what `make` returned the first time for `key`: whatever is derived from this version alone."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = make()
            return cast(Value, self._kept[key])

    @staticmethod
    def table_name(record: type) -> str:
        """Return the name of the table whose rows are of this type."""
        return next(name for name, kind in tables.TABLES.items() if kind is record)

    def _table(self, name: str) -> Path:
        return self.folder / f"{name}.parquet"


def current_version(root: Path) -> str:
    """Return the name of the version in force; IndexNotFound where the folder is no index."""
    pointer = root / "CURRENT"
    if not root.is_dir():
        raise IndexNotFound(f"no index at {root}: there is no such folder; build one with: conspectus index INPUT")
    if not pointer.is_file():
        raise IndexNotFound(f"{root} is no index: it has no CURRENT file; build one with: conspectus index INPUT")
    name = _head(pointer)
    if not _VERSION_NAME.fullmatch(name):
        raise IndexCorrupt(f"{pointer} does not name a version: {name!r}")
    return name


def is_index(folder: Path) -> bool:
    """Tell whether a folder is an index, published or begun."""
    pointer = folder / "CURRENT"
    published = pointer.is_file() and _VERSION_NAME.fullmatch(_head(pointer))
    return bool(published) or (folder / _MEMO).is_file() or any(folder.glob("versions/*/manifest.json"))


def _head(pointer: Path) -> str:
    with pointer.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(40).strip()


def current_manifest(root: Path) -> Manifest | None:
    """Return the manifest in force, or None where there is no readable one (a build then makes it anew).

    Raises IndexTooNew where a newer program made it: it must not be replaced by what this one makes.
    """
    try:
        return read_manifest(root, current_version(root))
    except (IndexNotFound, IndexCorrupt):
        return None


def read_manifest(root: Path, version: str) -> Manifest:
    """Return the manifest of a version; IndexCorrupt where it is missing or damaged, IndexTooNew if it is newer."""
    path = root / "versions" / version / MANIFEST
    try:
        found = json.loads(path.read_text("utf-8"))
        _refuse_other_formats(root, found["format_version"], found)
        manifest = Manifest(**found)
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing; build the index again with: conspectus index INPUT") from error
    except (ValueError, TypeError, KeyError) as error:
        raise IndexCorrupt(f"{path} is not a manifest: {error}") from error
    if manifest.version != version:
        raise IndexCorrupt(f"{path} calls itself version {manifest.version!r}")
    return manifest


def _refuse_other_formats(root: Path, format_version: int, found: Mapping[str, Any]) -> None:
    if format_version > FORMAT_VERSION:
        maker = found.get("tools", {}).get("conspectus", "a newer version")
        raise IndexTooNew(
            f"{root} has index format {format_version}, made by conspectus {maker}; this is conspectus "
            f"{importlib.metadata.version('conspectus')}, which reads format {FORMAT_VERSION}: "
            f"upgrade it, or name another folder with --index"
        )
    if format_version < FORMAT_VERSION:
        raise IndexCorrupt(
            f"{root} has index format {format_version}; this program reads format {FORMAT_VERSION}: "
            f"build it again with: conspectus index INPUT"
        )


def damaged_files(root: Path, manifest: Manifest) -> list[str]:
    """Return the files of a version that are missing or differ from their checksum (all, if it is not there)."""
    folder = root / "versions" / manifest.version
    return [
        name
        for name, facts in sorted(manifest.files.items())
        if not (folder / name).is_file() or file_digest(folder / name) != facts["sha256"]
    ]


@contextmanager
def build_lock(root: Path) -> Iterator[None]:
    """Hold the index for one build, in a folder that is made if missing. Readers are not blocked.

    Raises IndexBusy at once if another process holds it; IndexNotFound where the folder holds something else, so
    that no file is put among strangers; IndexTooNew where a newer program made the index; UsageError for a name
    that is no UTF-8, under which Arrow writes nothing; IndexUnusable where nothing can be written.
    """
    from filelock import FileLock, Timeout

    if any("\udc80" <= sign <= "\udcff" for sign in str(root)):
        raise UsageError(f"the name of the index folder is no UTF-8: {str(root)!r}; name another with --index")
    if root.exists() and not root.is_dir():
        raise IndexNotFound(f"{root} is a file; name a folder with --index")
    if root.exists() and not is_index(root) and not _is_empty(root):
        raise IndexNotFound(f"{root} holds other things than an index; name a new or an empty folder with --index")
    current_manifest(root)
    lock = FileLock(root / _LOCK, timeout=0)
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout as error:
        raise IndexBusy(f"another build holds {root}; wait for it to end and run the command again") from error
    except OSError as error:
        raise IndexUnusable(f"cannot write in {root}: {error.strerror}; name another folder with --index") from error
    try:
        yield
    finally:
        lock.release()


def _is_empty(root: Path) -> bool:
    """Tell whether a folder holds nothing but what a build makes first."""
    begun = {_LOCK} if any((root / _MEMO.parent).glob("*")) else {_LOCK, _MEMO.parent.name}
    return all(each.name in begun for each in root.iterdir())


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """Give an empty folder to write a version into; it is removed unless `publish` took it."""
    versions = root / "versions"
    versions.mkdir(parents=True, exist_ok=True)
    for left_over in versions.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(left_over)  # a build that died; the lock says nobody is writing it
    folder = versions / f"{_STAGING_PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def version_name(settings: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the first 12 hex digits of the sha256 of settings and file checksums.

    So the same content has the same name, whenever and wherever it was built.
    """
    return digest(_json(settings), _json(files))[:12]


def publish(
    root: Path,
    folder: Path,
    *,
    settings: Mapping[str, Any],
    fingerprint: str,
    rows: Mapping[str, int],
    models: Mapping[str, str],
    tools: Mapping[str, str],
) -> Manifest:
    """Make the staged folder the current version (see `version_name`) and return its manifest."""
    files = {
        path.relative_to(folder).as_posix(): {"sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    version = version_name(settings, files)
    manifest = Manifest(FORMAT_VERSION, version, settings, fingerprint, rows, models, tools, files)
    _write_durably(folder / MANIFEST, _json(asdict(manifest), indent=2) + "\n")
    for name in files:
        _flush(folder / name)
    target = root / "versions" / version
    if damaged_files(root, manifest):
        if target.exists():
            target.rename(folder.with_name(f"{folder.name}-damaged"))
        folder.rename(target)
        _flush(target.parent)
    else:
        # The same tables, made anew: what the manifest says besides (input, packages) may have changed.
        (folder / MANIFEST).replace(target / MANIFEST)
        _flush(target)
    pointer = root / "CURRENT.new"
    _write_durably(pointer, version + "\n")
    pointer.replace(root / "CURRENT")
    _flush(root)
    return manifest


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent)


def _write_durably(path: Path, text: str) -> None:
    path.write_text(text, "utf-8")
    _flush(path)


def _flush(path: Path) -> None:
    """Ask the disk to have it before anything points at it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
