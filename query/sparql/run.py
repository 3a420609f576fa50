"""Query the graph of an index with SPARQL 1.1, read-only and with limits."""

import json
import threading
from bisect import bisect_left
from dataclasses import replace
from pathlib import Path
from typing import Any

from conspectus.query.context import Context
from conspectus.query.sparql.checks import checked
from conspectus.query.sparql.result import SparqlResult, Term, result_of
from conspectus.query.sparql.store import PREFIXES, open_store
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage import rdf_terms as terms
from conspectus.storage.child_process import ChildProcess
from conspectus.storage.errors import IndexCorrupt, SparqlError, UsageError
from conspectus.storage.index import per_index

ROWS = 1_000
"""Rows that a query gives by default."""
SECONDS = 10.0
"""Time that a query may take by default."""


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


def query(context: Context, text: str, rows: int = ROWS, seconds: float = SECONDS) -> SparqlResult:
    """Return the result of a query; the first one of a version makes its store, which takes longer.

    Args:
        context: The index. A view restricted to some documents has a store of its own.
        text: A SELECT, ASK, CONSTRUCT or DESCRIBE; the prefixes of `PREFIXES` need no declaration.
        rows: The largest number of rows; `SparqlResult.complete` says whether there were more.
        seconds: The longest time.

    Raises:
        SparqlError: The query is wrong, would change something or ask another server, or passed its limits.
        UsageError: A limit is not positive.
    """
    if rows < 1 or seconds <= 0:
        raise UsageError("the limits of rows and seconds must be positive")
    reply = _process(context).run(checked(text), PREFIXES, rows, seconds)
    found = result_of(text, reply, rows)
    graph = open_graph(context)

    def with_name(term: Term | None) -> Term | None:
        row = row_of_entity(graph, term)
        return term if term is None or row is None else replace(term, name=graph.names[row])

    return replace(found, rows=tuple(tuple(map(with_name, row)) for row in found.rows))


@per_index
def _process(context: Context) -> SparqlProcess:
    return SparqlProcess(open_store(context.index))


def row_of_entity(graph: KnowledgeGraph, term: Term | None) -> int | None:
    """Return the row of the entity that a term is, None if it is none of the graph's."""
    if term is None or term.kind != "uri" or not term.value.startswith(terms.ENTITY):
        return None
    id_ = term.value.removeprefix(terms.ENTITY)
    row = bisect_left(graph.entity_ids, id_)  # the table is sorted by id
    return row if row < graph.n_entities and graph.entity_ids[row] == id_ else None
