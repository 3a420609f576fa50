"""Results in the store of an index: immutable Parquet files of one kind of result, named by the hash of their bytes.

    URL/memo/<hash of the kind>/<sha256>.parquet    columns value, sources and key, sorted by key
    URL/memo/purged/<random>                        a purge began: what was computed before must not be sent any more

Writers need no coordination: nobody changes a part, and two writers of the same results write the same object. What is
read is untrusted: nothing is unpickled, and a part counts only if its bytes have the hash that names it.
"""

import io
import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple

from conspectus.pipelines.remote_index.objects import Store
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import digest

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile

MOST_BYTES = 8_000_000
"""Bytes of the results of a part, before they are compressed. A larger result stays on its machine."""
SMALL = 300_000
"""Bytes of an object below which it is merged with others."""
WHOLE = 1 << 16
"""An object of at most so many bytes is read whole, not its keys first."""

_NAME = re.compile(r"[0-9a-f]{16}/[0-9a-f]{64}\.parquet")
_PURGE = re.compile(r"purged/[0-9a-f]{16}")
_MOST_READ = 4 * MOST_BYTES
_MOST_UNPACKED = 8 * MOST_BYTES
_KIND = b"kind"
_SHARE_OF_KEYS = 32
"""The keys, which stand last, are expected in this fraction of a part: they are 2 % of a part of vectors."""


class Result(NamedTuple):
    """A result, and the hashes of the texts that it was derived from."""

    key: str
    value: bytes
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """What is in a store.

    Attributes:
        sizes: The bytes of each part, by name.
        purges: The marks of purges.
        others: Objects that are neither.
    """

    sizes: Mapping[str, int]
    purges: frozenset[str]
    others: frozenset[str]

    def of(self, kind: str) -> list[str]:
        """Return the names of the parts of a kind, sorted."""
        return sorted(name for name in self.sizes if name.startswith(f"{folder_of(kind)}/"))


class PurgedMeanwhile(Exception):
    """Another program purged the store; what was just written is deleted again."""


class Parts:
    """The parts in a store. Errors of all methods are those of `Store`."""

    def __init__(self, store: Store) -> None:
        self.url = f"{store.url}/memo"
        self._store = store

    def listing(self) -> Listing:
        """Return what is there now."""
        found = self._store.sizes("memo")
        sizes = {name: size for name, size in found.items() if _NAME.fullmatch(name) and size <= _MOST_READ}
        purges = frozenset(name for name in found if _PURGE.fullmatch(name))
        return Listing(sizes, purges, frozenset(found.keys() - sizes.keys() - purges))

    def keys(self, name: str, size: int) -> list[str]:
        """Return the keys of a part without its values. They are a hint: the hash is not checked.

        Raises IndexCorrupt if it is no part, Gone if there is none.
        """
        from pyarrow import parquet

        with _as_corrupt(f"{self.url}/{name}"):
            file = parquet.ParquetFile(_Tail(self._store, f"memo/{name}", size))
            _check(file, name)
            return _column(file, "key")

    def results(self, name: str, size: int) -> tuple[str, list[Result]]:
        """Return the kind and the results of a part.

        Raises IndexCorrupt if its bytes do not have the hash in its name, or it is no part; Gone if there is none.
        """
        from pyarrow import parquet

        where = f"{self.url}/{name}"
        data = self._store.read_range(f"memo/{name}", 0, size) if size else b""
        with _as_corrupt(where):
            if sha256(data).hexdigest() != name[-72:-8]:
                raise IndexCorrupt(f"{where} is not what its checksum says")
            file = parquet.ParquetFile(io.BytesIO(data))
            kind = _check(file, name)
            columns = (_column(file, name) for name in ("key", "value", "sources"))
            return kind, [Result(key, value, tuple(sources)) for key, value, sources in zip(*columns, strict=True)]

    def write(
        self,
        results: Sequence[tuple[str, Sequence[Result]]],
        known_purges: frozenset[str],
        instead_of: Sequence[str] = (),
    ) -> tuple[list[str], Listing]:
        """Write parts, then delete those from which they were made.

        Args:
            results: The kind and the results of each part to write, at most `MOST_BYTES` each.
            known_purges: The purges that had begun before the results were made or read.
            instead_of: Parts that are deleted, because what is to remain of them is among the results.

        Returns:
            The names of the parts written, and what is in the store now.

        Raises:
            PurgedMeanwhile: Another purge has begun: it may not have seen these parts, so they are deleted.
        """
        names = []
        for kind, rows in results:
            data = encoded(kind, rows, secrets.token_hex(8) if instead_of else "")
            names.append(f"{folder_of(kind)}/{sha256(data).hexdigest()}.parquet")
            self._store.create(f"memo/{names[-1]}", data)
        now = self.listing()
        if now.purges - known_purges:
            self.delete(names)
            raise PurgedMeanwhile
        self.delete(instead_of)
        return names, now

    def begin_purge(self) -> str:
        """Tell all writers that what they have computed until now must not be sent any more; return the name."""
        name = f"purged/{secrets.token_hex(8)}"
        self._store.create(f"memo/{name}", b"")
        return name

    def delete(self, names: Sequence[str]) -> None:
        """Delete parts, or the marks of purges."""
        self._store.delete_objects([f"memo/{name}" for name in names])


def encoded(kind: str, results: Sequence[Result], nonce: str = "") -> bytes:
    """Return the bytes of a part: the same for the same results in any order.

    A part made of others has a random `nonce`, and so a name that no other writer can be about to delete: of two
    writers that turn the same results into each other's parts, each would delete what the other one relies on.
    """
    import pyarrow as pa
    from pyarrow import parquet

    rows = sorted(results)
    table = pa.table(
        {
            "value": [row.value for row in rows],
            "sources": [sorted(row.sources) for row in rows],
            "key": [row.key for row in rows],
        },
        schema=_schema(),
    )
    sink = io.BytesIO()
    parquet.write_table(
        table.replace_schema_metadata({_KIND: kind.encode(), "nonce": nonce}),
        sink,
        row_group_size=max(len(rows), 1),
        compression="zstd",
        use_dictionary=["sources"],
        write_statistics=False,
    )
    return sink.getvalue()


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    def filled(name: str, kind: "pa.DataType") -> "pa.Field":
        return pa.field(name, kind, nullable=False)

    sources = pa.list_(filled("element", pa.string()))
    return pa.schema([filled("value", pa.binary()), filled("sources", sources), filled("key", pa.string())])


def folder_of(kind: str) -> str:
    """Return the name of the folder of the parts of a kind."""
    return digest(kind)[:16]


def _check(file: "ParquetFile", name: str) -> str:
    """Return the kind of a part; raise ValueError if it is none, or unpacks to more than any part does."""
    kind = (file.schema_arrow.metadata or {}).get(_KIND, b"").decode()
    groups = [file.metadata.row_group(number).total_byte_size for number in range(file.metadata.num_row_groups)]
    if (
        not file.schema_arrow.remove_metadata().equals(_schema())
        or not name.startswith(folder_of(kind))
        or sum(groups) > _MOST_UNPACKED
    ):
        raise ValueError
    return str(kind)


def _column(file: "ParquetFile", name: str) -> list[Any]:
    return list(file.read(columns=[name])[name].to_pylist())


@contextmanager
def _as_corrupt(where: str) -> Iterator[None]:
    """Turn what Arrow raises about an object that is no part into IndexCorrupt."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, ValueError, LookupError, OSError, MemoryError) as error:
        raise IndexCorrupt(f"{where} holds no results that this program can read") from error


class _Tail(io.RawIOBase):
    """The end of an object as a file; an earlier byte is fetched with all between it and the end."""

    def __init__(self, store: Store, name: str, size: int) -> None:
        self._store, self._name, self._size = store, name, size
        self._start = self._position = size
        self._data = b""
        self._extend(size - max(WHOLE, size // _SHARE_OF_KEYS))

    def _extend(self, start: int) -> None:
        start = max(0, start)
        self._data = self._store.read_range(self._name, start, self._start) + self._data
        self._start = start

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        return self._position

    def readinto(self, buffer: Any) -> int:  # noqa: ANN401  (a buffer has no type before Python 3.12)
        if self._position < self._start:
            self._extend(self._position)
        data = self._data[self._position - self._start :][: len(buffer)]
        buffer[: len(data)] = data
        self._position += len(data)
        return len(data)
