"""Results in the store of an index: immutable Parquet files of one kind of result, named by the hash of their bytes.

    URL/memo/<hash of the kind>/<sha256>.parquet    columns value, sources and key, sorted by key
    URL/memo/purged/<random>                        a purge began: what was computed before must not be sent any more

Writers need no coordination: nobody changes a part, and two writers of the same results write the same object. What is
read is untrusted: nothing is unpickled, and a part counts only if its bytes have the hash that names it.
"""

import io
import re
import secrets
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from conspectus.pipelines.remote_index.objects import Store
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import digest

if TYPE_CHECKING:
    import pyarrow as pa

MOST_BYTES = 8_000_000
"""Bytes of the results of a part, before they are compressed. A larger result stays on its machine."""
SMALL = 300_000
"""Bytes of an object below which it is merged with others."""

_PART = re.compile(r"[0-9a-f]{16}/[0-9a-f]{64}\.parquet")
_PURGE = re.compile(r"purged/[0-9a-f]{16}")
_MOST_READ = 4 * MOST_BYTES
_MOST_UNPACKED = 8 * MOST_BYTES


class Result(NamedTuple):
    """A result, and the hashes of the texts that it was derived from."""

    key: str
    value: bytes
    sources: tuple[str, ...]

    @property
    def size(self) -> int:
        """Its bytes in a part."""
        return len(self.value) + sum(map(len, (self.key, *self.sources)))


class PurgedMeanwhile(Exception):
    """Another program purged the store; what was just written is deleted again."""


class Parts:
    """The parts in a store. Errors of all methods are those of `Store`."""

    def __init__(self, store: Store) -> None:
        self.url = f"{store.url}/memo"
        self._store = store

    def sizes(self) -> dict[str, int]:
        """Return the bytes of all objects that are there now."""
        return self._store.sizes("memo")

    def read(self, name: str) -> tuple[str, list[Result]]:
        """Return the kind and the results of a part.

        Raises IndexCorrupt if its bytes do not have the hash in its name, or it is no part; Gone if there is none.
        """
        import pyarrow as pa
        from pyarrow import parquet

        data = self._store.read(f"memo/{name}", _MOST_READ)
        if sha256(data).hexdigest() != name[-72:-8]:
            raise IndexCorrupt(f"{self.url}/{name} is not what its checksum says")
        try:
            file = parquet.ParquetFile(io.BytesIO(data))
            kind = (file.schema_arrow.metadata or {}).get(b"kind", b"").decode()
            groups = [file.metadata.row_group(number).total_byte_size for number in range(file.num_row_groups)]
            if (
                not file.schema_arrow.remove_metadata().equals(_schema())
                or not name.startswith(folder_of(kind))
                or sum(groups) > _MOST_UNPACKED
            ):
                raise ValueError
            rows = file.read().to_pylist()
        except (pa.ArrowException, ValueError, LookupError, OSError, MemoryError) as error:
            raise IndexCorrupt(f"{self.url}/{name} holds no results that this program can read") from error
        return kind, [Result(row["key"], row["value"], tuple(row["sources"])) for row in rows]

    def write(self, kind: str, results: Iterable[Result], purges: frozenset[str], *, anew: bool = False) -> list[str]:
        """Write results of a kind in parts of at most `MOST_BYTES`, and return their names.

        Args:
            kind: The kind.
            results: The results.
            purges: The purges that had begun before the results were made or read.
            anew: Whether the parts get names that they alone have, as they must if others are deleted for them: of two
                writers that turn the same results into each other's parts, each would delete what the other relies on.

        Raises:
            PurgedMeanwhile: Another purge has begun: it may not have seen these parts, so they are deleted.
        """
        names = []
        for block in _blocks(results):
            data = encoded(kind, block, secrets.token_hex(8) if anew else "")
            names.append(f"{folder_of(kind)}/{sha256(data).hexdigest()}.parquet")
            self._store.create(f"memo/{names[-1]}", data)
        if purges_among(self.sizes()) - purges:
            self.delete(names)
            raise PurgedMeanwhile
        return names

    def begin_purge(self) -> str:
        """Tell all writers that what they have computed until now must not be sent any more; return the name."""
        name = f"purged/{secrets.token_hex(8)}"
        self._store.create(f"memo/{name}", b"")
        return name

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects."""
        self._store.delete_objects([f"memo/{name}" for name in names])


def parts_among(sizes: Iterable[str]) -> list[str]:
    """Return the names of the parts among objects, sorted."""
    return sorted(filter(_PART.fullmatch, sizes))


def purges_among(sizes: Iterable[str]) -> frozenset[str]:
    """Return the names of the marks of purges among objects."""
    return frozenset(filter(_PURGE.fullmatch, sizes))


def folder_of(kind: str) -> str:
    """Return the name of the folder of the parts of a kind."""
    return digest(kind)[:16]


def encoded(kind: str, results: Sequence[Result], nonce: str = "") -> bytes:
    """Return the bytes of a part: the same for the same results in any order."""
    import pyarrow as pa
    from pyarrow import parquet

    rows = sorted(results)
    columns = {
        "value": [row.value for row in rows],
        "sources": [sorted(row.sources) for row in rows],
        "key": [row.key for row in rows],
    }
    table = pa.table(columns, schema=_schema().with_metadata({"kind": kind, "nonce": nonce}))
    sink = io.BytesIO()
    parquet.write_table(table, sink, compression="zstd", use_dictionary=["sources"], write_statistics=False)
    return sink.getvalue()


@cache
def _schema() -> "pa.Schema":
    import pyarrow as pa

    def filled(name: str, kind: "pa.DataType") -> "pa.Field":
        return pa.field(name, kind, nullable=False)

    sources = pa.list_(filled("element", pa.string()))
    return pa.schema([filled("value", pa.binary()), filled("sources", sources), filled("key", pa.string())])


def _blocks(results: Iterable[Result]) -> Iterator[list[Result]]:
    """Divide results into blocks of `MOST_BYTES`; a result that has more by itself is left out."""
    block: list[Result] = []
    room = MOST_BYTES
    for result in results:
        if result.size > MOST_BYTES:
            continue
        if result.size > room:
            yield block
            block, room = [], MOST_BYTES
        block.append(result)
        room -= result.size
    if block:
        yield block
