"""Query the graph of an index with SPARQL 1.1, read-only and with limits."""

from bisect import bisect_left
from dataclasses import replace

from conspectus.query.context import Context
from conspectus.query.sparql.checks import checked
from conspectus.query.sparql.process import SparqlProcess
from conspectus.query.sparql.result import SparqlResult, Term, result_of
from conspectus.query.sparql.store import PREFIXES, open_store
from conspectus.query.walk.graph import KnowledgeGraph, open_graph
from conspectus.storage import rdf_terms as terms
from conspectus.storage.errors import UsageError
from conspectus.storage.index import per_index

ROWS = 1_000
"""Rows that a query gives by default."""
SECONDS = 10.0
"""Time that a query may take by default."""


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
