"""Run SPARQL in a process of its own, with a limit of time and memory."""

import json
import os
import selectors
import subprocess
import sys
import threading
import time
import weakref
from pathlib import Path
from typing import Any

from conspectus.storage.errors import IndexCorrupt, SparqlError
from conspectus.storage.turns import away

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
        self._process: subprocess.Popen[bytes] | None = None
        self._holder: list[subprocess.Popen[bytes] | None] = [None]
        weakref.finalize(self, _end, self._holder)

    def run(self, query: str, prefixes: dict[str, str], rows: int, seconds: float) -> dict[str, Any]:
        """Return the result of a query as SPARQL 1.1 Query Results JSON, with `complete` false if rows were cut off.

        Raises:
            SparqlError: The query is wrong, took longer than `seconds`, or ended the process.
            IndexCorrupt: The store cannot be opened.
        """
        request = {"query": query, "prefixes": prefixes, "rows": rows, "signs": _SIGNS}
        with self._lock:
            process, started = self._running()
            try:
                assert process.stdin
                process.stdin.write(json.dumps(request).encode() + b"\n")
                process.stdin.flush()
                line = _line(process, time.monotonic() + seconds + (_START if started else 0.0))
            except BrokenPipeError:
                line = b""
            if line is None:
                self._stop()
                raise SparqlError(f"the query was stopped after {seconds:g} s; narrow it, or allow it longer")
            if not line:
                self._stop()
                raise SparqlError("the query needs more memory or depth than it may have, and was stopped")
        reply: dict[str, Any] = json.loads(line)
        if "damaged" in reply:
            raise IndexCorrupt(f"{self._store} cannot be read: {reply['damaged']}; delete it, and it is made again")
        if "error" in reply:
            raise SparqlError(f"not a SPARQL 1.1 query: {reply['error']}")
        return reply

    def _running(self) -> tuple["subprocess.Popen[bytes]", bool]:
        if self._process is not None and self._process.poll() is None:
            return self._process, False
        self._stop()
        command = [sys.executable, "-P", str(_WORKER), str(self._store), str(_MEMORY)]
        self._process = subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self._holder[0] = self._process
        return self._process, True

    def _stop(self) -> None:
        _end(self._holder)
        self._process = None


def _end(holder: list["subprocess.Popen[bytes] | None"]) -> None:
    process, holder[0] = holder[0], None
    if process is not None:
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream:
                stream.close()


def _line(process: "subprocess.Popen[bytes]", until: float) -> bytes | None:
    """Return the next line of a process, b"" if it ended, None if there is none in time."""
    assert process.stdout
    found = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while not found.endswith(b"\n"):
            with away():
                ready = selector.select(max(0.0, until - time.monotonic()))
            if not ready:
                return None
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                return b""
            found += block
    return bytes(found)
