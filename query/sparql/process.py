"""Run SPARQL in a process of its own, with a limit of time and memory."""

import json
import threading
from pathlib import Path
from typing import Any

from conspectus.storage.child_process import ChildProcess
from conspectus.storage.errors import IndexCorrupt, SparqlError

_WORKER = Path(__file__).with_name("worker.py")
_MEMORY = 4 << 30
"""Bytes of address space that the process may have. The store itself is read through the page cache."""
_SIGNS = 20_000_000
"""Characters of a result: beyond it is cut off, as beyond the limit of its rows."""
_START = 20.0
"""Further seconds for the first query, which waits until the process has started and opened the store."""


class SparqlProcess:
    """A process that answers queries to one store, started on first use and again after it was stopped.

    Safe to share between threads: one query runs at a time.
    """

    def __init__(self, store: Path) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._process = ChildProcess([str(_WORKER), str(store)], _MEMORY)

    def run(self, query: str, prefixes: dict[str, str], rows: int, seconds: float) -> dict[str, Any]:
        """Return the result of a query as SPARQL 1.1 Query Results JSON, with `complete` false if rows were cut off.

        Raises:
            SparqlError: The query is wrong, took longer than `seconds`, or ended the process.
            IndexCorrupt: The store cannot be opened.
        """
        request = {"query": query, "prefixes": prefixes, "rows": rows, "signs": _SIGNS}
        with self._lock:
            try:
                started = self._process.send(json.dumps(request).encode() + b"\n")
                line = self._process.line(seconds + (_START if started else 0.0))
            except BrokenPipeError:
                line = b""
            if not line:
                self._process.stop()
        if line is None:
            raise SparqlError(f"the query was stopped after {seconds:g} s; narrow it, or allow it longer")
        if not line:
            raise SparqlError("the query needs more memory or depth than it may have, and was stopped")
        reply: dict[str, Any] = json.loads(line)
        if "damaged" in reply:
            self._process.stop()
            raise IndexCorrupt(f"{self._store} cannot be read: {reply['damaged']}; delete it, and it is made again")
        if "error" in reply:
            raise SparqlError(f"not a SPARQL 1.1 query: {reply['error']}")
        return reply
