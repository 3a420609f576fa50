"""`conspectus sql`: SQL over the tables of an index."""

import csv
import sys
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import (
    print_json,
    query_text,
)
from conspectus.cli.command import Source, command


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
    from conspectus.storage.text.visible import visible

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
