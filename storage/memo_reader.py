"""A memo that is only looked into: nothing is made, locked or written, beside it or in it."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from conspectus.storage.errors import IndexUnusable
from conspectus.storage.memo import Memo


class MemoReader(Memo):
    """What the memo at `path` holds by now; nothing where there is none. Writing raises IndexUnusable."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def get_many(self, kind: str, keys: Iterable[str]) -> dict[str, bytes]:
        """Return the results known for `keys`; unknown keys are left out."""
        return super().get_many(kind, keys) if self.path.is_file() else {}

    def missing(self, kind: str, keys: Iterable[str]) -> list[str]:
        """Return the distinct keys without a result, in the order given."""
        return super().missing(kind, keys) if self.path.is_file() else list(dict.fromkeys(keys))

    def made_from(self, source: str) -> list[tuple[str, str]]:
        """Return kind and key of every result that a text of that hash went into, sorted."""
        return super().made_from(source) if self.path.is_file() else []

    def _put(
        self, statement: str, kind: str, results: Mapping[str, bytes], sources: Mapping[str, Iterable[str]] | None
    ) -> None:
        raise IndexUnusable(f"the memo {self.path} is open for reading only")

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Without a log to merge the file is all there is. SQLite then needs no file of its own beside it, which
        # even a connection for reading would make.
        log = self.path.with_name(f"{self.path.name}-wal")
        how = "mode=ro" if log.is_file() and log.stat().st_size else "mode=ro&immutable=1"
        try:
            connection = sqlite3.connect(f"{self.path.resolve().as_uri()}?{how}", uri=True, timeout=60)
        except sqlite3.OperationalError as error:
            raise IndexUnusable(f"cannot open the memo {self.path}: {error}") from error
        try:
            yield connection
        except sqlite3.OperationalError as error:  # locked, or beside a log that may not be looked into
            raise IndexUnusable(f"the memo {self.path} cannot be read now: {error}") from error
        except sqlite3.DatabaseError as error:
            raise IndexUnusable(f"the memo {self.path} is unusable ({error}); delete it to go on") from error
        finally:
            connection.close()
