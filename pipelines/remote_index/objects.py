"""An index in an object store (s3://, gs://, az://, file://), through obstore.

    URL/versions/<version>-<random>/    the files of a version, its manifest.json last; no name is ever used twice
    URL/published/<n>                   which of them is the n-th version: the highest n is the current one

Nothing is overwritten, and `published/<n>` is *created*: by a condition (If-None-Match for S3) the store takes one of
several writers. A store that ignores the condition is refused. Records are never deleted, so a writer that fell behind
can never take a number that was used before.

What is read from a store is untrusted: a record and a manifest are checked before any of it becomes part of a path, and
every file is compared with its checksum. Credentials come from the environment, as the store's library reads them;
messages hold neither those nor a library's own words.
"""

import json
import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.object_store import blocks_of, library_errors, list_objects, open_store, server, shown
from conspectus.storage.errors import (
    IndexBusy,
    IndexCorrupt,
    IndexUnusable,
    InputError,
    UsageError,
    is_out_of_space,
    no_space,
)
from conspectus.storage.manifest import MANIFEST, Manifest

Item = TypeVar("Item")
Result = TypeVar("Result")

_RECORD = re.compile(r"[0-9]{8}")
_FOLDER = re.compile(r"[0-9a-f]{12}-[0-9a-f]{16}")
_VERSION = re.compile(r"[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_LARGEST_RECORD = 1_000
_LARGEST_MANIFEST = 64_000_000
AT_ONCE = 8
"""Files that are sent or fetched at the same time."""


class Unreachable(IndexUnusable):
    """The store gave no answer."""


class Gone(IndexUnusable):
    """The store answers that an object does not exist."""


@dataclass(frozen=True, slots=True)
class Record:
    """A published version: its number, its folder in the store, its name, and the sha256 of its manifest."""

    number: int
    folder: str
    version: str
    manifest: str
    writer: str
    """A random name, by which a writer knows a record as its own."""

    @property
    def content(self) -> bytes:
        """The bytes of the object."""
        fields = asdict(self)
        del fields["number"]
        return json.dumps(fields, sort_keys=True).encode()


class Store:
    """The objects of one index."""

    def __init__(self, url: str) -> None:
        """Connect to nothing yet.

        Raises:
            UsageError: The URL contains credentials, or has a protocol at which no index can be.
            MissingPart: The library for the protocol is not installed.
        """
        self.url = shown(url).rstrip("/")
        if self.url != url.rstrip("/"):
            raise UsageError(f"{self.url}: leave credentials and parameters out of the URL; the environment holds them")
        if not url.partition("://")[2].partition("/")[2].strip("/"):
            raise UsageError(f"{self.url}: name a folder of the bucket too, as in {self.url}/docs.index")
        try:
            self._store, self._root = open_store(url)
        except InputError as error:
            raise UsageError(f"{error}; an index can be in a folder or an object store") from error

    @property
    def place(self) -> str:
        """The URL and the server behind it: what tells one index from another."""
        return f"{self.url} {server()}"

    def current(self) -> Record | None:
        """Return the record of the current version; None if nothing was published."""
        numbers = self._numbers()
        return self.record(numbers[-1]) if numbers else None

    def latest(self, versions: int) -> list[Record]:
        """Return the records of the current version and those before it, each version once, the current one first."""
        found: dict[str, Record] = {}
        for number in reversed(self._numbers()):
            record = self.record(number)
            found.setdefault(record.folder, record)
            if len(found) == versions:
                break
        return list(found.values())

    def record(self, number: int) -> Record:
        """Return a record. Raises IndexCorrupt if the object is none."""
        name = f"published/{number:08d}"
        data = self.read(name, _LARGEST_RECORD)
        try:
            found = Record(number, **json.loads(data))
            parts = (_FOLDER, found.folder), (_VERSION, found.version), (_SHA256, found.manifest)
            if not all(pattern.fullmatch(text) for pattern, text in parts):
                raise ValueError
        except (ValueError, TypeError) as error:
            raise IndexCorrupt(f"{self.url}/{name} is not the record of a version") from error
        return found

    def manifest(self, record: Record) -> bytes:
        """Return the manifest of a version as it is stored, compared with the record."""
        name = f"versions/{record.folder}/{MANIFEST}"
        data = self.read(name, _LARGEST_MANIFEST)
        if sha256(data).hexdigest() != record.manifest:
            raise IndexCorrupt(f"{self.url}/{name} is not what its checksum says")
        return data

    def fetch(self, record: Record, files: Mapping[str, Mapping[str, Any]], pool: Path) -> None:
        """Fetch files of a version into `pool`, each under its checksum; a file that is there is not fetched again.

        Raises:
            IndexCorrupt: An object has another size or checksum than the manifest says; it is not kept.
            Gone: An object is missing.
            Unreachable: The store gives no answer.
        """
        sizes = self.sizes(f"versions/{record.folder}")

        def fetch_one(name: str) -> None:
            facts, path = files[name], pool / files[name]["sha256"]
            where = f"{self.url}/versions/{record.folder}/{name}"
            if path.is_file() and path.stat().st_size == facts["bytes"]:
                return
            if name not in sizes:
                raise Gone(f"{where} is missing; see: conspectus verify --index {self.url}")
            part = path.with_suffix(f".{secrets.token_hex(4)}")
            try:
                with part.open("wb") as into:  # of another size it is not even fetched: it might be of any
                    is_right = sizes[name] == facts["bytes"] and self._digest(record, name, into) == facts["sha256"]
                if not is_right:
                    raise IndexCorrupt(f"{where} is not what its checksum says; nothing of it was kept")
                part.replace(path)
            finally:
                part.unlink(missing_ok=True)

        at_once(fetch_one, {facts["sha256"]: name for name, facts in sorted(files.items())}.values())

    def damaged(self, record: Record, files: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return the files of a version whose objects are missing or differ from the manifest. All are read whole."""
        sizes = self.sizes(f"versions/{record.folder}")

        def is_damaged(name: str) -> bool:
            facts = files[name]
            return sizes.get(name) != int(facts["bytes"]) or self._digest(record, name) != str(facts["sha256"])

        names = sorted(files)
        return [name for name, damaged in zip(names, at_once(is_damaged, names), strict=True) if damaged]

    def _digest(self, record: Record, name: str, into: BinaryIO | None = None) -> str:
        """Return the sha256 of a file of a version, and write it to a file if one is given."""
        whole = sha256()
        with self._asking():
            for block in blocks_of(self._store, f"{self._root}/versions/{record.folder}/{name}"):
                whole.update(block)
                if into:
                    into.write(block)
        return whole.hexdigest()

    def probe(self) -> None:
        """Raise IndexUnusable unless the store keeps the condition that publishing rests on."""
        name = f"probes/{secrets.token_hex(8)}"
        self.create(name, b"1")
        is_ignored = self.create(name, b"2")
        self.delete_objects([name])
        if is_ignored:
            raise IndexUnusable(
                f"{self.url}: this store ignores the condition If-None-Match, so that two writers could replace each "
                "other's versions; nothing was written. Stores that keep it: docs/remote.md"
            )

    def upload(self, folder: Path, manifest: Manifest, after: Record | None) -> Record:
        """Send a version and publish it as the next one after `after`.

        Args:
            folder: The folder of the version on disk.
            manifest: Its manifest.
            after: The record of the version from which it was made, None if there was none.

        Raises:
            IndexBusy: Another writer published in the meantime; nothing of this version is visible.
            IndexUnusable: The store refuses, or gives no answer.
        """
        data = (folder / MANIFEST).read_bytes()
        place = f"{manifest.version}-{secrets.token_hex(8)}"
        at_once(lambda name: self._put(f"versions/{place}/{name}", folder / name), sorted(manifest.files))
        self._put(f"versions/{place}/{MANIFEST}", data)
        return self._publish(place, manifest.version, sha256(data).hexdigest(), after)

    def republish(self, current: Record) -> Record:
        """Publish the current version once more: a writer that began before this cannot publish any more.

        Raises IndexBusy if another writer was faster.
        """
        return self._publish(current.folder, current.version, current.manifest, current)

    def folders(self) -> dict[str, int]:
        """Return all folders of versions, published or left by a writer that was killed, with their bytes."""
        found: dict[str, int] = {}
        for name, size in self.sizes("versions").items():
            folder = name.partition("/")[0]
            found[folder] = found.get(folder, 0) + size
        return found

    def delete(self, folders: Iterable[str]) -> None:
        """Delete folders of versions."""
        for folder in folders:
            self.delete_objects([f"versions/{folder}/{name}" for name in self.sizes(f"versions/{folder}")])

    def delete_objects(self, names: Iterable[str]) -> None:
        """Delete objects; one that is not there is none to delete."""
        import obstore

        def delete(name: str) -> None:
            with self._asking(), suppress(FileNotFoundError):
                obstore.delete(self._store, f"{self._root}/{name}")

        at_once(delete, names)

    def _publish(self, folder: str, version: str, manifest: str, after: Record | None) -> Record:
        number = after.number + 1 if after else 1
        record = Record(number, folder, version, manifest, secrets.token_hex(8))
        name = f"published/{number:08d}"
        try:
            made = self.create(name, record.content)
        except IndexUnusable:
            if number not in self._numbers():
                raise
            made = False
        # An answer may be lost, and a request sent again: then the object tells whether it was made.
        if not made and self.read(name, _LARGEST_RECORD) != record.content:
            raise IndexBusy(
                f"another writer published version {number} of {self.url} first, and nothing of this one is visible; "
                "run the same command again: what was computed and paid for is kept"
            )
        return record

    def create(self, name: str, data: bytes) -> bool:
        """Create an object, whole or not at all; return False if there is one of this name."""
        from obstore.exceptions import AlreadyExistsError

        try:
            self._put(name, data, mode="create", use_multipart=False)
        except AlreadyExistsError:
            return False
        return True

    def _put(self, name: str, data: bytes | Path, **options: Any) -> None:  # noqa: ANN401  (those of the library)
        import obstore

        with self._asking():
            obstore.put(self._store, f"{self._root}/{name}", data, max_concurrency=1, **options)

    def _numbers(self) -> list[int]:
        return sorted(int(name) for name in self.sizes("published") if _RECORD.fullmatch(name))

    def sizes(self, place: str) -> dict[str, int]:
        """Return the sizes of all objects below a place, by their names below it."""
        folder = f"{self._root}/{place}"
        with self._asking():
            found = list_objects(self._store, folder)
        return {name.removeprefix(f"{folder}/"): size for name, size in found.items()}

    def read(self, name: str, most: int) -> bytes:
        """Return the bytes of an object. Raises IndexCorrupt if it has more than `most`, Gone if there is none."""
        import obstore

        with self._asking():
            found = obstore.get(self._store, f"{self._root}/{name}")
            if found.meta["size"] > most:
                raise IndexCorrupt(f"{self.url}/{name} has more than {most:,} bytes")
            return bytes(found.bytes())

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn the errors of the library into ours."""
        try:
            with library_errors():
                yield
        except Unreadable as error:
            kind = {"cannot be reached": Unreachable, "not found": Gone}.get(error.reason, IndexUnusable)
            raise kind(f"{self.url}: {error}") from error
        except OSError as error:
            if is_out_of_space(error):
                raise no_space(Path(error.filename or "the cache")) from error
            raise


def at_once(work: Callable[[Item], Result], items: Iterable[Item], limit: int = AT_ONCE) -> list[Result]:
    """Return the results of several transfers at a time; after the first error no further one begins."""
    pool = ThreadPoolExecutor(limit, thread_name_prefix="store")
    try:
        return list(pool.map(work, items))
    finally:
        pool.shutdown(cancel_futures=True)
