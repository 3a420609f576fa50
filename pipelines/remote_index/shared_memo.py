"""The memo of a writer whose index is in an object store.

If it lacks a result of some kind, it fetches the parts of this kind that it has not read (see `parts`). What is new is
sent as parts every minute and at the end. Beside the tables of the memo there are

    parts       the names of the parts whose results are here
    unsent      the rows of `results` that are in no part
    replaced    keys whose value was replaced: parts may still hold the earlier one
    purges      the purges of the store that are known

A store that fails costs one warning: a build goes on with its own results.
"""

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from conspectus.pipelines.remote_index.objects import Gone, Store, at_once
from conspectus.pipelines.remote_index.parts import (
    MOST_BYTES,
    SMALL,
    Parts,
    PurgedMeanwhile,
    Result,
    folder_of,
    parts_among,
    purges_among,
)
from conspectus.pipelines.runner import Progress, no_progress
from conspectus.storage.errors import ConspectusError, IndexBusy, IndexCorrupt
from conspectus.storage.memo import Memo, MemoReader

_log = logging.getLogger("conspectus")

STEP = "fetch results"
"""What is reported while many parts are fetched."""
SECONDS = 60.0
"""Results are sent so often while a build runs: a machine that is lost loses no more of what was paid for."""
MANY = 32
"""This number of small parts of a kind is merged."""
_MOST_MERGED = 64
_FETCHED_AT_ONCE = 2
"""Parts that are fetched, and in memory, at the same time."""
_TRIES = 5
"""A part that was merged with others while it was fetched is found in another one."""

_TABLES = """
    CREATE TABLE IF NOT EXISTS parts (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS replaced (kind TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS purges (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS sources_of_key ON sources (kind, key);
"""
_UNSENT = """
    BEGIN;
    CREATE TABLE unsent (row INTEGER PRIMARY KEY);
    CREATE TRIGGER new_result AFTER INSERT ON results BEGIN INSERT OR IGNORE INTO unsent VALUES (new.rowid); END;
    INSERT INTO unsent SELECT rowid FROM results;
    COMMIT;
"""
_UNSENT_OF_KIND = """
    SELECT row, key, value, (SELECT json_group_array(source) FROM sources
                             WHERE sources.kind = results.kind AND sources.key = results.key)
    FROM unsent JOIN results ON results.rowid = row
    WHERE kind = ? AND row > ? AND length(value) <= ? ORDER BY row
"""
_IN_A_PART = """
    DELETE FROM unsent WHERE row = (SELECT rowid FROM results WHERE kind = :kind AND key = :key)
    AND NOT EXISTS (SELECT 1 FROM replaced WHERE kind = :kind AND key = :key)
"""


class SharedMemo(Memo):
    """The memo at `path`, and the results in a store. Several threads may use it."""

    def __init__(self, path: Path, parts: Parts, progress: Progress = no_progress) -> None:
        super().__init__(path)
        self._parts, self._progress = parts, progress
        self._listed: dict[str, int] | None = None
        self._fetched: set[str] = set()
        self._purges: frozenset[str] | None = None
        self._reading, self._sending = threading.RLock(), threading.Lock()
        self._reads = self._sends = True
        with self._connection() as connection:
            connection.executescript(_TABLES)
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'unsent'").fetchone():
                connection.executescript(_UNSENT)

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the results known for `keys`, here or in the store; unknown keys are left out."""
        wanted = list(dict.fromkeys(keys))
        found = super().get_many(kind, wanted)
        lacking = [key for key in wanted if key not in found]
        return {**found, **super().get_many(kind, lacking)} if lacking and self._fetch(kind) else found

    def missing(self, kind: str, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys without a result here or in the store, in the order given."""
        lacking = super().missing(kind, keys)
        return super().missing(kind, lacking) if lacking and self._fetch(kind) else lacking

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
                if self._sends:
                    self._send()
            except PurgedMeanwhile:
                self._sends = False
                _log.warning("%s was purged meanwhile: results of this build stay on this machine", self._parts.url)
            except ConspectusError as error:
                _log.warning("results stay on this machine until the next build: %s", error)

    def purge(self, purge_here: Callable[[], dict[str, int]]) -> dict[str, int]:
        """Purge the store too: fetch all parts, purge this memo, send what is left, and delete everything else.

        Args:
            purge_here: Purges this memo and returns the number of deleted results by kind, which is returned.

        Raises:
            IndexBusy: Another machine began to purge the store at the same time.
            IndexUnusable: The store refuses, or gives no answer.
        """
        mark = self._parts.begin_purge()
        old = self._listed = self._parts.sizes()
        self._purges = purges_among(old)
        for name in parts_among(old):
            with suppress(Gone):  # merged by another writer, into a part that is listed too
                self._take(name)
        forgotten = purge_here()
        with self._connection() as connection:
            connection.executescript("DELETE FROM parts; DELETE FROM purges; DELETE FROM unsent")
            connection.execute("INSERT INTO purges VALUES (?)", (mark,))
            connection.execute("INSERT INTO unsent SELECT rowid FROM results")
        try:
            for kind in self.kinds():
                self._send_kind(kind, self._purges, anew=True)
        except PurgedMeanwhile as error:
            raise IndexBusy(
                f"another program purges {self._parts.url} too: run this again when it has ended"
            ) from error
        self._parts.delete(old.keys() - {mark})
        return forgotten

    def _fetch(self, kind: str) -> bool:
        """Fetch parts of a kind that are not here; return whether any may have come."""
        with self._reading:
            try:
                return self._reads and self._fetch_new(folder_of(kind))
            except ConspectusError as error:
                self._reads = False
                _log.warning("going on without the results of other writers: %s", error)
                return True

    def _fetch_new(self, folder: str) -> bool:
        for tried in range(_TRIES):
            names = parts_among(self._now(), folder)
            if folder in self._fetched:
                return False
            here = self._here()
            new = [name for name in names if name not in here]
            try:
                self._take_all(new)
                self._fetched.add(folder)
                return bool(new)
            except Gone:
                if tried + 1 == _TRIES:
                    raise
                self._listed = None
        return False

    def _here(self) -> set[str]:
        with self._connection() as connection:
            return {name for (name,) in connection.execute("SELECT name FROM parts")}

    def _now(self) -> dict[str, int]:
        """Return what the store held when it was last asked."""
        with self._reading:
            if self._listed is None:
                self._listed = self._parts.sizes()
                self._fetched.clear()
            if self._purges is None:
                self._purges = purges_among(self._listed)
                self._heed(self._purges)
            return self._listed

    def _heed(self, purges: frozenset[str]) -> None:
        """After a purge on another machine nothing that was computed before it may be sent."""
        with self._connection() as connection:
            if purges - {name for (name,) in connection.execute("SELECT name FROM purges")}:
                connection.executescript("DELETE FROM unsent; DELETE FROM purges")
                connection.executemany("INSERT INTO purges VALUES (?)", [(name,) for name in purges])

    def _take_all(self, names: list[str]) -> None:
        for start in range(0, len(names), _FETCHED_AT_ONCE):
            self._progress(STEP, start, len(names))
            at_once(self._take, names[start : start + _FETCHED_AT_ONCE])
        if names:
            self._progress(STEP, len(names), len(names))

    def _take(self, name: str) -> None:
        """Add all results of a part to the memo; one that is damaged has none."""
        try:
            kind, results = self._parts.read(name)
        except IndexCorrupt as error:
            _log.warning("%s; it is ignored", error)
            kind, results = "", []
        with self._connection() as connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(
                "INSERT OR IGNORE INTO results VALUES (?, ?, ?)", ((kind, each.key, each.value) for each in results)
            )
            connection.executemany(
                "INSERT OR IGNORE INTO sources VALUES (?, ?, ?)",
                ((source, kind, each.key) for each in results for source in each.sources),
            )
            connection.executemany(_IN_A_PART, ({"kind": kind, "key": each.key} for each in results))
            connection.execute("INSERT OR IGNORE INTO parts VALUES (?)", (name,))

    def _send(self) -> None:
        with self._connection() as connection:
            replaced = connection.execute("SELECT kind, key FROM replaced").fetchall()
            unsent = connection.execute(
                "SELECT DISTINCT kind FROM unsent JOIN results ON results.rowid = row"
            ).fetchall()
        if not replaced and not unsent:
            return
        self._now()
        purges = self._purges or frozenset()
        for (kind,) in unsent:
            self._fetch(kind)  # what another writer sent meanwhile need not be sent
        self._drop_replaced(replaced, purges)
        for (kind,) in unsent:
            self._send_kind(kind, purges)
        self._merge(purges)

    def _send_kind(self, kind: str, purges: frozenset[str], *, anew: bool = False) -> None:
        for rows, results in self._unsent(kind):
            self._add_parts(self._parts.write(kind, results, purges, anew=anew))
            with self._connection() as connection:
                connection.executemany("DELETE FROM unsent WHERE row = ?", [(row,) for row in rows])

    def _add_parts(self, names: list[str]) -> None:
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO parts VALUES (?)", [(name,) for name in names])

    def _unsent(self, kind: str) -> Iterator[tuple[list[int], list[Result]]]:
        """Yield the rows and the results of a kind that are to be sent, about `MOST_BYTES` at a time."""
        rows = [0]
        while rows:
            last, rows, results, size = rows[-1], [], [], 0
            with self._connection() as connection:
                for row, key, value, sources in connection.execute(_UNSENT_OF_KIND, (kind, last, MOST_BYTES)):
                    size += len(value)
                    if results and size > MOST_BYTES:
                        break
                    rows.append(row)
                    results.append(Result(key, value, tuple(json.loads(sources))))
            if rows:
                yield rows, results

    def _drop_replaced(self, replaced: list[tuple[str, str]], purges: frozenset[str]) -> None:
        """Rewrite the parts that hold earlier values of results that were replaced."""
        old = set(replaced)
        for kind in sorted({kind for kind, _ in replaced}):
            for name in parts_among(self._now(), folder_of(kind)):
                with suppress(IndexCorrupt, Gone):
                    if any((kind, result.key) in old for result in self._parts.read(name)[1]):
                        self._parts.rewrite([name], purges, lambda result, kind=kind: (kind, result.key) not in old)
        with self._connection() as connection:
            connection.executemany("DELETE FROM replaced WHERE kind = ? AND key = ?", replaced)

    def _merge(self, purges: frozenset[str]) -> None:
        """Merge small parts of a kind, if there are many."""
        self.look_again()
        sizes = self._now()
        small: defaultdict[str, list[str]] = defaultdict(list)
        for name in parts_among(sizes):
            if sizes[name] < SMALL:
                small[name.partition("/")[0]].append(name)
        for names in small.values():
            if len(names) >= MANY:
                merged = names[:_MOST_MERGED]
                written = self._parts.rewrite(merged, purges)
                if self._here().issuperset(merged):
                    self._add_parts(written)


_shared: "dict[Path, _Sharing]" = {}


def open_memo(path: Path, *, shares: bool, progress: Progress = no_progress) -> Memo:
    """Open the memo of a build.

    Args:
        path: Its file.
        shares: Whether it is shared with other writers, if its index is in an object store.
        progress: Called while many results are fetched.
    """
    sharing = _shared.get(path.absolute()) if shares else None
    return sharing.begin(progress) if sharing else Memo(path)


def open_memo_reader(path: Path, *, shares: bool) -> Memo:
    """Open the memo of a build to look at: nothing is sent. Arguments are those of `open_memo`."""
    sharing = _shared.get(path.absolute()) if shares else None
    return sharing.memo() if sharing else MemoReader(path)


@contextmanager
def shared_memo(store: Store, path: Path) -> Iterator[None]:
    """Share the memo at `path` while the block runs, and send its new results at the end, also after an error.

    After an interruption (Ctrl-C) nothing is sent: that may take long, and the next build does it.
    """
    sharing = _Sharing(store, path)
    _shared[path.absolute()] = sharing
    try:
        try:
            yield
        except Exception:
            sharing.finish()
            raise
        sharing.finish()
    finally:
        sharing.ended.set()
        del _shared[path.absolute()]


class _Sharing:
    def __init__(self, store: Store, path: Path) -> None:
        self._parts, self._path = Parts(store), path
        self.ended = threading.Event()
        self._memo: SharedMemo | None = None
        self._thread = threading.Thread(target=self._keep_sending, name="send results", daemon=True)

    def memo(self, progress: Progress = no_progress) -> SharedMemo:
        return SharedMemo(self._path, self._parts, progress)

    def begin(self, progress: Progress) -> SharedMemo:
        if self._memo is None:
            self._memo = self.memo(progress)
            self._thread.start()
        return self._memo

    def finish(self) -> None:
        self.ended.set()
        if self._memo:
            self._thread.join()
            self._memo.send()

    def _keep_sending(self) -> None:
        while self._memo and not self.ended.wait(SECONDS):
            self._memo.look_again()
            self._memo.send()
