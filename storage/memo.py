"""Content-addressed cache of results: extractions, vectors and model replies.

One SQLite file stores every kind of result. A value depends only on the content hashed into its key, so a memo may be
shared, copied or deleted at any time: it saves work and never changes results. Values are bytes that their owner
encodes and decodes; nothing is unpickled. A result may list its sources, the hashes of the texts that it was derived
from, so that all results derived from a text can be found.
"""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from conspectus.storage.errors import IndexUnusable, is_full, no_space
from filelock import FileLock

_PAGE_BYTES = 16_384
"""Page size of a new file: ten vectors of 384 numbers fill one to 97 %, two fill SQLite's default page to 80 %."""

_LONGEST_LOG = 64 << 20
"""Bytes of the write-ahead log beyond which a writer empties it: readers beside keep SQLite from doing so by itself."""

# Rows in order of insertion fill the pages: in a table WITHOUT ROWID each vector takes a whole page (101 MB for 34 MB).
_TABLES = """
    CREATE TABLE IF NOT EXISTS results
        (kind TEXT NOT NULL, key TEXT NOT NULL, value BLOB NOT NULL, PRIMARY KEY (kind, key));
    CREATE TABLE IF NOT EXISTS sources
        (source TEXT NOT NULL, kind TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (source, kind, key)) WITHOUT ROWID;
"""
_INSERT = "INSERT INTO results VALUES (?, ?, ?)"
_WITH_KEYS = "FROM results WHERE kind = ? AND key IN (SELECT value FROM json_each(?))"
_OTHERS = "key NOT IN (SELECT value FROM json_each(:held))"
_MADE_FROM_OTHERS = """
    key NOT IN (SELECT key FROM sources WHERE kind = :kind AND source IN (SELECT value FROM json_each(:held)))
    OR key IN (SELECT key FROM sources WHERE kind = :kind AND source NOT IN
               (SELECT value FROM json_each(:held) UNION SELECT value FROM json_each(:marks)))
    OR :marks != '[]' AND key NOT IN
       (SELECT key FROM sources WHERE kind = :kind AND source IN (SELECT value FROM json_each(:marks)))
"""


class Memo:
    """The memo at `path`, created if missing. Several processes and threads may open it concurrently."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        # Two processes that create the file simultaneously would find it locked: SQLite does not wait here.
        with FileLock(f"{path}.lock"), self._connection() as connection:
            connection.execute(f"PRAGMA page_size={_PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_TABLES)

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the results known for `keys`; unknown keys are left out."""
        wanted = json.dumps(list(keys))
        with self._connection() as connection:
            return dict(connection.execute(f"SELECT key, value {_WITH_KEYS}", (kind, wanted)))

    def missing(self, kind: str, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys without a result, in the order given."""
        wanted = list(dict.fromkeys(keys))
        with self._connection() as connection:
            rows = connection.execute(f"SELECT key {_WITH_KEYS}", (kind, json.dumps(wanted)))
            known = {key for (key,) in rows}
        return [key for key in wanted if key not in known]

    def put_many(
        self, kind: str, results: Mapping[str, bytes], sources: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Store results, and by key their sources, in one transaction.

        An existing key keeps its first value.
        """
        self._put(f"{_INSERT} ON CONFLICT DO NOTHING", kind, results, sources)

    def replace_many(
        self, kind: str, results: Mapping[str, bytes], sources: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Store results, replacing those under the same keys, in one transaction."""
        self._put(f"{_INSERT} ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value", kind, results, sources)

    def _put(
        self, statement: str, kind: str, results: Mapping[str, bytes], sources: Mapping[str, Iterable[str]] | None
    ) -> None:
        with self._connection() as connection:
            connection.executemany(statement, [(kind, key, value) for key, value in results.items()])
            connection.executemany(
                "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)",
                [(source, kind, key) for key, item in (sources or {}).items() for source in item],
            )
            connection.commit()
            if self._bytes_of_log() > _LONGEST_LOG:
                connection.execute("PRAGMA busy_timeout=1000")  # if a reader holds it longer, a later writer empties it
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _bytes_of_log(self) -> int:
        log = self.path.with_name(f"{self.path.name}-wal")
        return log.stat().st_size if log.is_file() else 0

    def add_all_of(self, path: Path) -> None:
        """Add all results of another memo, of which no process is writing; an existing key keeps its first value."""
        with self._connection() as connection:
            connection.execute("ATTACH DATABASE ? AS other", (str(path),))
            connection.execute("INSERT OR IGNORE INTO results SELECT kind, key, value FROM other.results")
            connection.execute("INSERT OR IGNORE INTO sources SELECT source, kind, key FROM other.sources")
            connection.commit()
            connection.execute("DETACH DATABASE other")

    def made_from(self, source: str) -> list[tuple[str, str]]:
        """Return kind and key of every result derived from a text with this hash, sorted."""
        with self._connection() as connection:
            query = "SELECT kind, key FROM sources WHERE source = ? ORDER BY kind, key"
            return list(connection.execute(query, (source,)))

    def kinds(self) -> list[str]:
        """Return the kinds of the results, sorted."""
        with self._connection() as connection:
            return [kind for (kind,) in connection.execute("SELECT DISTINCT kind FROM results ORDER BY kind")]

    def forget_all_but(self, kind: str, keys: Iterable[str]) -> int:
        """Delete the results of a kind except those of `keys`, and return how many."""
        return self._forget(kind, keys, _OTHERS)

    def forget_made_from_others(self, kind: str, held: Iterable[str], marks: Iterable[str] = ()) -> int:
        """Delete the results of a kind derived from any text outside the hashes `held`, and return how many.

        Results without a known source are deleted too, and if `marks` is given, those with none of them as a source.
        """
        return self._forget(kind, held, _MADE_FROM_OTHERS, marks)

    def _forget(self, kind: str, held: Iterable[str], which: str, marks: Iterable[str] = ()) -> int:
        given = {"kind": kind, "held": json.dumps(list(held)), "marks": json.dumps(list(marks))}
        with self._connection() as connection:
            query = f"DELETE FROM results WHERE kind = :kind AND ({which})"  # noqa: S608  (one of those above)
            forgotten = connection.execute(query, given).rowcount
            connection.execute(
                "DELETE FROM sources WHERE kind = :kind AND key NOT IN (SELECT key FROM results WHERE kind = :kind)",
                {"kind": kind},
            )
        return forgotten

    def compact(self) -> None:
        """Rewrite the file so that no byte of deleted results remains; IndexUnusable if it is in use."""
        with self._connection() as connection:
            connection.execute("VACUUM")
            busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        if busy:
            raise IndexUnusable(f"the memo {self.path} is in use and could not be rewritten; run the command again")

    @contextmanager
    def open(self) -> Iterator[None]:
        """Keep the file open inside the block: whenever nobody has it open, SQLite writes its log into it and waits.

        A result is then stored in .5 ms instead of 13.
        """
        with closing(self._opened()) as connection:
            connection.execute("SELECT 1 FROM results LIMIT 1").fetchall()
            yield

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # One connection per call: cheap compared with the cached work, and safe with threads and forks.
        try:
            with closing(self._opened()) as connection, connection:
                yield connection
        except sqlite3.OperationalError as error:  # locked for a minute, or the disk is full
            if is_full(self.path.parent):
                raise no_space(self.path.parent) from error
            raise IndexUnusable(f"the memo {self.path} cannot be used now: {error}") from error
        except sqlite3.DatabaseError as error:
            raise IndexUnusable(f"the memo {self.path} is unusable ({error}); delete it to continue") from error

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=60)
        # With a write-ahead log a killed process loses nothing, and a power failure at most the last results.
        connection.execute("PRAGMA synchronous=NORMAL")
        return connection


class MemoReader(Memo):
    """Read-only access to the memo at `path`; empty if there is none. Writing raises IndexUnusable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def _put(self, *_: object) -> None:
        raise IndexUnusable(f"the memo {self.path} is opened read-only")

    def _opened(self) -> sqlite3.Connection:
        if not self.path.is_file():
            empty = sqlite3.connect(":memory:")
            empty.executescript(_TABLES)
            return empty
        # Without a log the file is complete, and `immutable` keeps SQLite from creating files in the folder, which
        # even a read-only connection would do.
        how = "mode=ro" if self._bytes_of_log() else "mode=ro&immutable=1"
        return sqlite3.connect(f"{self.path.resolve().as_uri()}?{how}", uri=True, timeout=60)
