"""`conspectus query` and `sql`: SPARQL over the graph of an index, SQL over its tables."""

import csv
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import print_json, query_text
from conspectus.cli.command import Source, command
from conspectus.storage.errors import UsageError
from conspectus.storage.text.visible import visible

if TYPE_CHECKING:
    from conspectus.query.sparql.result import SparqlResult


@command(
    "Query the graph with SPARQL.",
    "conspectus query --schema --index films.index",
    "conspectus query 'SELECT ?film ?year { ?film v:release_year ?year } ORDER BY ?year' --index films.index",
)
def query(
    source: Source,
    text: Annotated[str | None, typer.Argument(metavar="SPARQL", show_default=False)] = None,
    schema: bool = False,
    endpoint: str | None = None,
    rows: Annotated[int, Ge(1)] = 1_000,
    seconds: Annotated[float, Ge(0.1)] = 10.0,
    as_json: bool = False,
) -> None:
    """Query the graph of an index with SPARQL 1.1: SELECT, ASK, CONSTRUCT, DESCRIBE.

    Nothing can be changed and no other server is called. The first query of a version creates the store for
    queries. Names of entities replace their IRIs; --json has both, in the form of SPARQL 1.1 Query Results JSON.

    Args:
        text: The query; - reads it from standard input.
        schema: Show the prefixes and predicates for queries.
        endpoint: Query this SPARQL endpoint instead of an index.
        rows: Maximum number of rows.
        seconds: Time limit.
    """
    asked = query_text(text, schema=schema)
    if endpoint is not None:
        from conspectus.query.sparql.endpoint import query_endpoint

        if schema or source.narrowed:
            raise UsageError("--endpoint takes a query; --schema and filters are for an index")
        found = query_endpoint(endpoint, asked, rows, seconds)
        print_json(found.as_json()) if as_json else typer.echo(_table(found))
        return
    opened = source.open()
    if schema:
        from conspectus.query.sparql import schema as schemas
        from conspectus.query.sparql.store import PREFIXES

        every = schemas.predicates(opened.context)
        if as_json:
            print_json({"prefixes": PREFIXES, "predicates": schemas.as_json(every)})
        else:
            prefixes = "\n".join(f"PREFIX {name}: <{iri}>" for name, iri in PREFIXES.items())
            typer.echo(f"{prefixes}\n\n{schemas.text(every)}")
        return
    result = opened.query(asked, rows, seconds)
    print_json(result.as_json()) if as_json else typer.echo(_table(result))


def _table(result: "SparqlResult") -> str:
    """Return a result as columns of text; --json is for results longer than a screen."""
    if result.boolean is not None:
        return "yes" if result.boolean else "no"
    cells = [list(result.variables)]
    cells += [[visible(str(term)) if term is not None else "" for term in row] for row in result.rows]
    widths = [min(_WIDEST, max(len(row[column]) for row in cells)) for column in range(len(result.variables))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    count = f"{len(result.rows):,} row{'s' if len(result.rows) != 1 else ''}"
    more = "" if result.complete else ", and there are more (--rows)"
    return "\n".join([*lines, f"({count}{more})"])


_WIDEST = 60
"""Maximum width of a column in characters; longer cells shift the rest of their line."""


@command(
    "Query the tables with SQL.",
    "conspectus sql --schema",
    "conspectus sql 'SELECT type, count(*) FROM entities GROUP BY type' --index films.index",
    "conspectus sql 'SELECT id, title FROM documents' --json",
)
def sql(
    source: Source,
    text: Annotated[str | None, typer.Argument(metavar="SQL", show_default=False)] = None,
    schema: bool = False,
    rows: Annotated[int, Ge(1)] = 1_000,
    seconds: Annotated[float, Ge(0.1)] = 30.0,
    as_json: bool = False,
) -> None:
    """Query the tables of an index with one SELECT in DuckDB's SQL. The rows are printed as CSV.

    Nothing can be changed, and only the tables can be read: no files, URLs or extensions.

    Args:
        text: The query; - reads it from standard input.
        schema: Show the tables and their columns.
        rows: Maximum number of rows.
        seconds: Time limit.
    """
    from conspectus.query.sql import columns_of_tables, select

    asked = query_text(text, schema=schema)
    if schema:
        tables = columns_of_tables()
        if as_json:
            print_json({name: dict(columns) for name, columns in tables.items()})
            return
        for name, columns in tables.items():
            typer.echo(f"{name}({', '.join(f'{column} {kind}' for column, kind in columns)})")
        return
    found = select(source.open().context, asked, rows, seconds)
    if as_json:
        cells = [[_plain(cell) for cell in row] for row in found.rows]
        print_json({"columns": list(found.columns), "rows": cells, "complete": found.complete})
        return
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([visible(name) for name in found.columns])
    writer.writerows([["" if cell is None else visible(str(cell)) for cell in row] for row in found.rows])
    if not found.complete:
        typer.echo(f"conspectus: the first {rows:,} rows; there are more (--rows)", err=True)


def _plain(cell: object) -> object:
    """Return a value that JSON can represent; other values as text."""
    if isinstance(cell, dict):
        return {str(key): _plain(value) for key, value in cell.items()}
    if isinstance(cell, list | tuple):
        return [_plain(value) for value in cell]
    return cell if cell is None or isinstance(cell, bool | int | float | str) else str(cell)
