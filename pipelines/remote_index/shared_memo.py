"""Share the memo of a writer, whose index is in an object store, with other writers.

When a build begins, all parts in the store that are not here are added to the memo (see `parts`). Every minute and at
its end what is new here is sent, after what is new there was fetched. Beside the tables of the memo there are

    unsent      the rows of `results` that are in no part
    replaced    keys whose value was replaced: parts may still hold the earlier one
    parts       the names of the parts whose results are here
    purges      the purges of the store that are known

A store that fails costs a warning: a build goes on with its own results.
"""

import json
import logging
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Set
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
"""What is reported while parts are fetched."""
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
    BEGIN;
    CREATE TABLE unsent (row INTEGER PRIMARY KEY);
    INSERT INTO unsent SELECT rowid FROM results;
    CREATE TABLE replaced (kind TEXT NOT NULL, key TEXT NOT NULL, PRIMARY KEY (kind, key)) WITHOUT ROWID;
    CREATE TABLE parts (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE TABLE purges (name TEXT PRIMARY KEY) WITHOUT ROWID;
    CREATE INDEX sources_of_key ON sources (kind, key);
    CREATE TRIGGER new_result AFTER INSERT ON results BEGIN
        INSERT OR IGNORE INTO unsent VALUES (new.rowid);
    END;
    CREATE TRIGGER replaced_result AFTER UPDATE ON results BEGIN
        INSERT OR IGNORE INTO unsent VALUES (new.rowid);
        INSERT OR IGNORE INTO replaced VALUES (new.kind, new.key);
    END;
    COMMIT;
"""
_UNSENT = """
    SELECT row, key, value, (SELECT json_group_array(source) FROM sources
                             WHERE sources.kind = results.kind AND sources.key = results.key)
    FROM unsent CROSS JOIN results ON results.rowid = row
    WHERE kind = ? AND row > ? AND length(value) <= ? ORDER BY row
"""  # CROSS: in the order of rows; SQLite would sort all results of the kind
_IN_A_PART = """
    DELETE FROM unsent WHERE row = (SELECT rowid FROM results WHERE kind = :kind AND key = :key)
    AND NOT EXISTS (SELECT 1 FROM replaced WHERE kind = :kind AND key = :key)
"""


class SharedMemo(Memo):
    """The memo at `path`, and its exchange with the parts in a store. Several threads may use it."""

    def __init__(self, path: Path, parts: Parts) -> None:
        super().__init__(path)
        self._parts = parts
        self._purges: frozenset[str] | None = None
        self._exchanging = threading.Lock()
        self._sends = True
        self.ended = threading.Event()
        self._sender: threading.Thread | None = None
        with self._connection() as connection:
            if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'unsent'").fetchone():
                connection.executescript(_TABLES)

    def begin(self, progress: Progress) -> None:
        """Fetch what is new, and send new results from now on, until the end."""
        self.fetch(progress)
        if self._sender is None:
            self._sender = threading.Thread(target=self._keep_sending, name="send results", daemon=True)
            self._sender.start()

    def _keep_sending(self) -> None:
        while not self.ended.wait(SECONDS):
            self.send()

    def finish(self) -> None:
        """Send the last results, if a build began."""
        self.ended.set()
        if self._sender:
            self._sender.join()
            self.send()

    def fetch(self, progress: Progress = no_progress) -> None:
        """Add the parts in the store that are not here. If that fails there is a warning."""
        with self._exchanging:
            try:
                self._fetch(progress)
            except ConspectusError as error:
                _log.warning("going on without the results of other writers: %s", error)

    def send(self) -> None:
        """Fetch what is new, and send what no part holds. If that fails there is a warning, and it is sent later."""
        with self._exchanging:
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
        old = self._fetch()
        forgotten = purge_here()
        with self._connection() as connection:
            connection.executescript("DELETE FROM parts; DELETE FROM purges; DELETE FROM unsent")
            connection.execute("INSERT INTO purges VALUES (?)", (mark,))
            connection.execute("INSERT INTO unsent SELECT rowid FROM results")
        try:
            for kind in self.kinds():
                self._send_kind(kind, purges_among(old), anew=True)
        except PurgedMeanwhile as error:
            raise IndexBusy(
                f"another program purges {self._parts.url} too: run this again when it has ended"
            ) from error
        self._parts.delete(old.keys() - {mark})
        return forgotten

    def _fetch(self, progress: Progress = no_progress) -> dict[str, int]:
        """Add the parts that are not here, and return what is in the store."""
        for _ in range(_TRIES):
            sizes = self._parts.sizes()
            if self._purges is None:
                self._purges = purges_among(sizes)
                self._heed(self._purges)
            here = self._here()
            new = [name for name in parts_among(sizes) if name not in here]
            with suppress(Gone):
                for start in range(0, len(new), _FETCHED_AT_ONCE):
                    progress(STEP, start, len(new))
                    at_once(self._take, new[start : start + _FETCHED_AT_ONCE])
                break
        if new:
            progress(STEP, len(new), len(new))
        return sizes

    def _heed(self, purges: frozenset[str]) -> None:
        """After a purge on another machine nothing that was computed before it may be sent."""
        with self._connection() as connection:
            if purges - {name for (name,) in connection.execute("SELECT name FROM purges")}:
                connection.executescript("DELETE FROM unsent; DELETE FROM purges")
                connection.executemany("INSERT INTO purges VALUES (?)", [(name,) for name in purges])

    def _here(self) -> set[str]:
        with self._connection() as connection:
            return {name for (name,) in connection.execute("SELECT name FROM parts")}

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
            replaced = set(connection.execute("SELECT kind, key FROM replaced"))
            query = "SELECT DISTINCT kind FROM unsent CROSS JOIN results ON results.rowid = row"
            unsent = [kind for (kind,) in connection.execute(query)]
        if not replaced and not unsent:
            return
        sizes = self._fetch()  # what another writer sent meanwhile need not be sent
        purges = self._purges or frozenset()
        self._drop_replaced(replaced, parts_among(sizes), purges)
        for kind in unsent:
            self._send_kind(kind, purges)
        self._merge(purges)

    def _send_kind(self, kind: str, purges: frozenset[str], *, anew: bool = False) -> None:
        last = 0
        while unsent := self._unsent(kind, last):
            last = unsent[-1][0]
            self._add_parts(self._parts.write(kind, (result for _, result in unsent), purges, anew=anew))
            with self._connection() as connection:
                connection.executemany("DELETE FROM unsent WHERE row = ?", [(row,) for row, _ in unsent])

    def _add_parts(self, names: list[str]) -> None:
        with self._connection() as connection:
            connection.executemany("INSERT OR IGNORE INTO parts VALUES (?)", [(name,) for name in names])

    def _unsent(self, kind: str, after: int) -> list[tuple[int, Result]]:
        """Return what is to be sent of a kind after a row, about `MOST_BYTES`, each result with its row."""
        found: list[tuple[int, Result]] = []
        size = 0
        with self._connection() as connection:
            for row, key, value, sources in connection.execute(_UNSENT, (kind, after, MOST_BYTES)):
                result = Result(key, value, tuple(json.loads(sources)))
                size += result.size
                if found and size > MOST_BYTES:
                    break
                found.append((row, result))
        return found

    def _drop_replaced(self, replaced: set[tuple[str, str]], names: Iterable[str], purges: frozenset[str]) -> None:
        """Rewrite the parts that hold earlier values of results that were replaced."""
        folders = tuple({folder_of(kind) for kind, _ in replaced})
        for name in names:
            if name.startswith(folders):
                self._rewrite([name], purges, replaced)
        with self._connection() as connection:
            connection.executemany("DELETE FROM replaced WHERE kind = ? AND key = ?", replaced)

    def _merge(self, purges: frozenset[str]) -> None:
        """Merge small parts of a kind, if there are many."""
        sizes = self._fetch()
        small: defaultdict[str, list[str]] = defaultdict(list)
        for name in parts_among(sizes):
            if sizes[name] < SMALL:
                small[name.partition("/")[0]].append(name)
        for names in small.values():
            if len(names) >= MANY:
                self._rewrite(names[:_MOST_MERGED], purges)

    def _rewrite(self, names: list[str], purges: frozenset[str], dropped: Set[tuple[str, str]] = frozenset()) -> None:
        """Write the results of parts of a kind as one part, and delete them; one part only if any of it is dropped."""
        rest: dict[str, Result] = {}
        kind, total = "", 0
        for name in names:
            with suppress(IndexCorrupt, Gone):
                kind, results = self._parts.read(name)
                rest.update({result.key: result for result in results if (kind, result.key) not in dropped})
                total += len(results)
        if len(names) > 1 or len(rest) < total:
            self._add_parts(self._parts.write(kind, rest.values(), purges, anew=True))
            self._parts.delete(names)


_shared: dict[Path, SharedMemo] = {}


def open_memo(path: Path, *, shares: bool, progress: Progress = no_progress) -> Memo:
    """Open the memo of a build.

    Args:
        path: Its file.
        shares: Whether it is shared with other writers, if its index is in an object store.
        progress: Called while results are fetched.
    """
    memo = _shared.get(path.absolute()) if shares else None
    if memo:
        memo.begin(progress)
    return memo or Memo(path)


def open_memo_reader(path: Path, *, shares: bool) -> Memo:
    """Open the memo of a build to look at: nothing is sent. Arguments are those of `open_memo`."""
    memo = _shared.get(path.absolute()) if shares else None
    if memo:
        memo.fetch()
    return memo or MemoReader(path)


@contextmanager
def shared_memo(store: Store, path: Path) -> Iterator[None]:
    """Let builds in the block share the memo at `path`, and send its new results at the end, also after an error.

    After an interruption (Ctrl-C) nothing is sent: that may take long, and the next build does it.
    """
    memo = _shared[path.absolute()] = SharedMemo(path, Parts(store))
    try:
        yield
    except Exception:
        memo.finish()
        raise
    else:
        memo.finish()
    finally:
        memo.ended.set()
        del _shared[path.absolute()]
