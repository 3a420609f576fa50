"""The memo of a writer whose index is in an object store.

What it lacks it fetches from the parts there, and what is new it sends as parts (see `parts`). A part is fetched when
one of its results is needed; its keys are known before. Beside the tables of the memo there are

    parts       the parts whose keys were read, and whether their results are here
    elsewhere   keys that parts hold and this memo does not
    sharing     `sent`: the last row of `results` that was sent, and the purges of the store that are known
    stored      later rows that need not be sent, because a part holds them
    replaced    keys whose value was replaced: parts may still hold the earlier one

A store that fails costs one warning: a build goes on with its own results.
"""

import logging
import sqlite3
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from conspectus.pipelines.remote_index.objects import Gone, at_once
from conspectus.pipelines.remote_index.parts import (
    MOST_BYTES,
    SMALL,
    WHOLE,
    Listing,
    Parts,
    PurgedMeanwhile,
    Result,
    folder_of,
)
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.errors import ConspectusError, IndexCorrupt
from conspectus.storage.memo import Memo, key_blocks

_log = logging.getLogger("conspectus")

STEP = "fetch results"
"""What is reported while many parts are fetched."""
MANY = 32
"""This number of small parts of a kind is merged."""
_MOST_MERGED = 64
_FETCHED_AT_ONCE = 2
"""Large parts that are fetched, and in memory, at the same time."""
_TRIES = 5
"""A part that was merged with others while it was fetched is found in another one."""

_TABLES = """
    CREATE TABLE IF NOT EXISTS parts (number INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, is_here INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS elsewhere (key TEXT NOT NULL, part INTEGER NOT NULL, PRIMARY KEY (key, part))
        WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS sharing (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS stored (row INTEGER PRIMARY KEY);
    CREATE TABLE IF NOT EXISTS replaced (kind TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sources_of_key ON sources (kind, key);
"""
_UNSENT = """
    SELECT results.rowid, kind, key, CASE WHEN stored.row IS NULL AND length(value) <= :most THEN value END
    FROM results LEFT JOIN stored ON stored.row = results.rowid
    WHERE results.rowid > :sent ORDER BY results.rowid
"""
_HELD_BY_A_PART = """
    INSERT OR IGNORE INTO stored SELECT rowid FROM results
    WHERE kind = :kind AND key IN (SELECT key FROM temp.keys) AND rowid > :sent
      AND NOT EXISTS (SELECT 1 FROM replaced WHERE replaced.kind = results.kind AND replaced.key = results.key)
"""
_LACKING = """
    INSERT OR IGNORE INTO elsewhere SELECT key, :part FROM temp.keys
    WHERE NOT EXISTS (SELECT 1 FROM results WHERE results.kind = :kind AND results.key = temp.keys.key)
"""
_NOT_LACKING = """
    DELETE FROM elsewhere WHERE key IN (SELECT key FROM temp.keys)
    AND +part IN (SELECT number FROM parts WHERE name GLOB :names)
"""  # `+`: keys are looked up, not each key with each part


class SharedMemo(Memo):
    """The memo at `path`, and the results in a store. Several threads may use it."""

    def __init__(self, path: Path, parts: Parts, progress: Progress = no_progress) -> None:
        super().__init__(path)
        self._parts, self._progress = parts, progress
        self._listed: Listing | None = None
        self._learned: set[str] = set()
        self._purges: frozenset[str] | None = None
        self._reading, self._sending = threading.RLock(), threading.Lock()
        self._reads = self._sends = True
        with self._connection() as connection:
            connection.executescript(_TABLES)

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the results known for `keys`, here or in the store; unknown keys are left out."""
        wanted = list(dict.fromkeys(keys))
        found = super().get_many(kind, wanted)
        lacking = [key for key in wanted if key not in found]
        return {**found, **super().get_many(kind, lacking)} if self._bring(kind, lacking) else found

    def missing(self, kind: str, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys without a result here or in the store, in the order given."""
        lacking = super().missing(kind, keys)
        return super().missing(kind, lacking) if self._bring(kind, lacking) else lacking

    def replace_many(
        self, kind: str, results: Mapping[str, bytes], sources: Mapping[str, Iterable[str]] | None = None
    ) -> None:
        """Store results, replacing those under the same keys here, and later in the store."""
        super().replace_many(kind, results, sources)
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO replaced VALUES (?, ?)", [(kind, key) for key in results])

    def look_again(self) -> None:
        """Let the next look-up see what other writers have sent."""
        with self._reading:
            self._listed = None

    def send(self) -> None:
        """Send what no part holds. If that fails there is a warning, and it is sent another time."""
        with self._sending:
            try:
                if self._sends and self._has_unsent():
                    self._send()
            except PurgedMeanwhile:
                self._sends = False
                _log.warning("%s was purged meanwhile: results of this build stay on this machine", self._parts.url)
            except ConspectusError as error:
                _log.warning("results stay on this machine until the next build: %s", error)

    def forget_parts(self, purge: str) -> None:
        """Begin anew after a purge of the store: whatever is still here may be sent."""
        with self._connection() as connection:
            for table in ("parts", "elsewhere", "sharing", "stored", "replaced"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608  (one of those)
            connection.execute("INSERT INTO sharing VALUES (?, 0)", (purge,))

    def _bring(self, kind: str, keys: Sequence[str]) -> bool:
        """Fetch parts that hold any of these keys; return whether any may have come."""
        if not keys:
            return False

        def fetch() -> bool:
            came = self._learn(kind)
            while wanted := self._parts_with(kind, keys):  # again if one of them was damaged
                self._take_all(wanted)
                came = True
            return came

        with self._reading:
            try:
                return self._reads and self._settled(fetch)
            except ConspectusError as error:
                self._reads = False
                _log.warning("going on without the results of other writers: %s", error)
                return True

    def _settled(self, work: Callable[[], bool]) -> bool:
        """Return the result of work, which is done again with a new list of parts if one is not there any more."""
        for _ in range(_TRIES):
            with suppress(Gone):
                return work()
            self._listed = None
        return work()

    def _now(self) -> Listing:
        """Return what the store held when it was last asked."""
        with self._reading:
            if self._listed is None:
                self._listed = self._parts.listing()
                self._learned.clear()
            if self._purges is None:
                self._purges = self._listed.purges
                self._heed(self._purges)
            return self._listed

    def _heed(self, purges: frozenset[str]) -> None:
        """After a purge on another machine nothing that was computed before it may be sent."""
        with self._writing() as connection:
            known = {name for (name,) in connection.execute("SELECT name FROM sharing WHERE name != 'sent'")}
            if purges - known:
                _set_sent(connection, _last_row(connection))
                connection.execute("DELETE FROM sharing WHERE name != 'sent'")
                connection.executemany("INSERT INTO sharing VALUES (?, 0)", [(name,) for name in sorted(purges)])

    def _learn(self, kind: str) -> bool:
        """Read the keys of parts that are new; return whether any results came with them."""
        listing = self._now()
        if kind in self._learned:
            return False
        names = listing.of(kind)
        with self._writing() as connection:
            query = "SELECT name, number FROM parts WHERE name GLOB ?"
            known = dict(connection.execute(query, (f"{folder_of(kind)}/*",)))
            gone = [(known[name],) for name in known.keys() - set(names)]
            connection.executemany("DELETE FROM elsewhere WHERE part = ?", gone)
            connection.executemany("DELETE FROM parts WHERE number = ?", gone)
        new = [(name, listing.sizes[name]) for name in names if name not in known]
        at_once(partial(self._read_keys, kind), [part for part in new if part[1] > WHOLE])
        small = [part for part in new if part[1] <= WHOLE]
        at_once(self._take, small)
        self._learned.add(kind)
        return bool(small)

    def _read_keys(self, kind: str, part: tuple[str, int]) -> None:
        try:
            keys = self._parts.keys(*part)
        except IndexCorrupt as error:
            self._ignore(part[0], error)
            return
        with self._writing(keys) as connection:
            number = _add_part(connection, part[0], is_here=False)
            connection.execute(_LACKING, {"kind": kind, "part": number})
            connection.execute(_HELD_BY_A_PART, {"kind": kind, "sent": _sent(connection)})

    def _take_all(self, parts: Sequence[tuple[str, int]]) -> None:
        for start in range(0, len(parts), _FETCHED_AT_ONCE):
            if len(parts) > _FETCHED_AT_ONCE:
                self._progress(STEP, start, len(parts))
            at_once(self._take, parts[start : start + _FETCHED_AT_ONCE])
        if len(parts) > _FETCHED_AT_ONCE:
            self._progress(STEP, len(parts), len(parts))

    def _take(self, part: tuple[str, int]) -> None:
        """Add all results of a part to the memo."""
        try:
            kind, results = self._parts.results(*part)
        except IndexCorrupt as error:
            self._ignore(part[0], error)
            return
        with self._writing(result.key for result in results) as connection:
            is_all_sent = _sent(connection) >= _last_row(connection)
            connection.executemany(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?)", ((kind, each.key, each.value) for each in results)
            )
            connection.executemany(
                "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)",
                ((source, kind, each.key) for each in results for source in each.sources),
            )
            _add_part(connection, part[0], is_here=True)
            connection.execute(_NOT_LACKING, {"names": f"{folder_of(kind)}/*"})
            if is_all_sent:
                _set_sent(connection, _last_row(connection))
            else:
                connection.execute(_HELD_BY_A_PART, {"kind": kind, "sent": _sent(connection)})

    def _ignore(self, name: str, error: IndexCorrupt) -> None:
        _log.warning("%s; it is ignored", error)
        with self._writing() as connection:
            number = _add_part(connection, name, is_here=True)
            connection.execute("DELETE FROM elsewhere WHERE part = ?", (number,))

    def _parts_with(self, kind: str, keys: Sequence[str]) -> list[tuple[str, int]]:
        """Return parts, with their bytes, that together hold all of these keys that any part holds."""
        listing = self._now()
        chosen: set[str] = set()
        for _, names in self._holders(kind, keys):
            if chosen.isdisjoint(names):
                chosen.add(names[0])
        return [(name, listing.sizes[name]) for name in sorted(chosen)]

    def _holders(self, kind: str, keys: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
        """Yield each of these keys that parts hold which are not yet here, with the names of those parts."""
        with self._connection() as connection:
            for block in key_blocks(keys):
                marks = ",".join("?" * len(block))
                query = (
                    "SELECT key, name FROM elsewhere JOIN parts ON number = part "  # noqa: S608  (marks are ?)
                    f"WHERE key IN ({marks}) AND NOT is_here AND name GLOB ? ORDER BY key, name"
                )
                rows = connection.execute(query, (*block, f"{folder_of(kind)}/*"))
                for key, group in groupby(rows, key=itemgetter(0)):
                    yield key, [name for _, name in group]

    def _has_unsent(self) -> bool:
        with self._connection() as connection:
            replaced = connection.execute("SELECT 1 FROM replaced LIMIT 1").fetchone()
            return bool(replaced) or _sent(connection) < _last_row(connection)

    def _kinds_unsent(self) -> list[str]:
        with self._connection() as connection:
            query = "SELECT DISTINCT kind FROM results WHERE rowid > ? ORDER BY kind"
            return [kind for (kind,) in connection.execute(query, (_sent(connection),))]

    def _send(self) -> None:
        self._now()
        purges = self._purges or frozenset()
        for kind in self._kinds_unsent():
            with self._reading:
                self._settled(partial(self._learn, kind))  # what another writer sent meanwhile need not be sent
        self._drop_replaced(purges)
        for last, results in self._unsent():
            names: list[str] = []
            if results:
                written = [(kind, block) for kind, rows in results.items() for block in _blocks(rows)]
                names, now = self._parts.write(written, purges)
                with self._reading:
                    self._listed = now
                    self._learned.clear()
            with self._writing() as connection:
                _set_sent(connection, last)
                for name in names:
                    _add_part(connection, name, is_here=True)
        self._merge(purges)

    def _unsent(self) -> Iterator[tuple[int, dict[str, list[Result]]]]:
        """Yield what is to be sent, by kind, in blocks of `MOST_BYTES`, and the last row of each block."""
        is_more = True
        while is_more:
            size, last, found = 0, 0, defaultdict(list)
            with self._connection() as connection:
                rows = connection.execute(_UNSENT, {"sent": _sent(connection), "most": MOST_BYTES})
                is_more = False
                for row, kind, key, value in rows:
                    if value is not None:
                        size += len(value) + len(key)
                        if size > MOST_BYTES:
                            is_more = True
                            break
                        found[kind].append((key, value))
                    last = row
                results = {kind: list(_with_sources(connection, kind, pairs)) for kind, pairs in found.items()}
            if last:
                yield last, results

    def _drop_replaced(self, purges: frozenset[str]) -> None:
        """Rewrite the parts that hold earlier values of results that were replaced."""
        with self._connection() as connection:
            replaced = connection.execute("SELECT kind, key FROM replaced").fetchall()
        for kind in sorted({kind for kind, _ in replaced}):
            listing = self._now()
            old = {key for of, key in replaced if of == kind}
            for name in listing.of(kind):
                with suppress(IndexCorrupt, Gone):
                    if old.isdisjoint(self._parts.keys(name, listing.sizes[name])):
                        continue
                    _, results = self._parts.results(name, listing.sizes[name])
                    rest = [result for result in results if result.key not in old]
                    self._parts.write([(kind, rest)] if rest else [], purges, [name])
        with self._writing() as connection:
            connection.executemany("DELETE FROM replaced WHERE kind = ? AND key = ?", replaced)

    def _merge(self, purges: frozenset[str]) -> None:
        """Merge small parts of a kind, if there are many."""
        listing = self._now()
        small: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(listing.sizes):
            if listing.sizes[name] < SMALL:
                small[name.partition("/")[0]].append(name)
        for names in small.values():
            if len(names) < MANY:
                continue
            merged: dict[str, Result] = {}
            kind, read = "", []
            for name in names[:_MOST_MERGED]:
                with suppress(IndexCorrupt, Gone):
                    kind, results = self._parts.results(name, listing.sizes[name])
                    merged.update({result.key: result for result in results})
                    read.append(name)
            self._parts.write([(kind, block) for block in _blocks(merged.values())], purges, read)

    @contextmanager
    def _writing(self, keys: Iterable[str] = ()) -> Iterator[sqlite3.Connection]:
        """Open a transaction in which no other connection writes, with a table of keys."""
        with self._connection() as connection:
            connection.execute("PRAGMA temp_store=MEMORY")
            connection.execute("CREATE TEMP TABLE keys (key TEXT PRIMARY KEY) WITHOUT ROWID")
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany("INSERT OR IGNORE INTO temp.keys VALUES (?)", ((key,) for key in keys))
            yield connection


class SharedMemoReader(SharedMemo):
    """The same for an estimate: keys that the store holds are not missing, and are fetched only if they are read."""

    def missing(self, kind: str, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys without a result here or in the store, in the order given."""
        wanted = list(keys)
        self._bring(kind, [""])  # learns what is there
        lacking = Memo.missing(self, kind, wanted)
        held = {key for key, _ in self._holders(kind, lacking)}
        return [key for key in lacking if key not in held]


def _add_part(connection: sqlite3.Connection, name: str, *, is_here: bool) -> int:
    connection.execute(
        "INSERT INTO parts (name, is_here) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET is_here = excluded.is_here",
        (name, is_here),
    )
    (number,) = connection.execute("SELECT number FROM parts WHERE name = ?", (name,)).fetchone()
    return int(number)


def _sent(connection: sqlite3.Connection) -> int:
    row = connection.execute("SELECT value FROM sharing WHERE name = 'sent'").fetchone()
    return int(row[0]) if row else 0


def _set_sent(connection: sqlite3.Connection, row: int) -> None:
    connection.execute("INSERT OR REPLACE INTO sharing VALUES ('sent', ?)", (row,))
    connection.execute("DELETE FROM stored WHERE row <= ?", (row,))


def _last_row(connection: sqlite3.Connection) -> int:
    return int(connection.execute("SELECT coalesce(max(rowid), 0) FROM results").fetchone()[0])


def _with_sources(connection: sqlite3.Connection, kind: str, pairs: Sequence[tuple[str, bytes]]) -> Iterator[Result]:
    sources: defaultdict[str, list[str]] = defaultdict(list)
    for block in key_blocks([key for key, _ in pairs]):
        marks = ",".join("?" * len(block))
        query = f"SELECT key, source FROM sources WHERE kind = ? AND key IN ({marks})"  # noqa: S608  (marks are ?)
        for key, source in connection.execute(query, (kind, *block)):
            sources[key].append(source)
    return (Result(key, value, tuple(sorted(sources[key]))) for key, value in pairs)


def _blocks(results: Iterable[Result]) -> Iterator[list[Result]]:
    """Divide results into blocks of `MOST_BYTES`; a result that has more by itself is left out."""
    block: list[Result] = []
    room = MOST_BYTES
    for result in results:
        size = len(result.value) + sum(map(len, (result.key, *result.sources)))
        if size > MOST_BYTES:
            continue
        if size > room:
            yield block
            block, room = [], MOST_BYTES
        block.append(result)
        room -= size
    if block:
        yield block
