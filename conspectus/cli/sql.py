"""`conspectus sql`: SQL over the tables of an index."""

import csv
import sys
from typing import Annotated

import typer
from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    JsonOption,
    SetOption,
    SettingsOption,
    WhereOption,
    app,
    examples,
    open_filtered,
    print_json,
    query_text,
)


@app.command(
    short_help="Query the tables with SQL.",
    epilog=examples(
        "conspectus sql --schema",
        "conspectus sql 'SELECT type, count(*) FROM entities GROUP BY type' --index films.index",
        "conspectus sql 'SELECT id, title FROM documents' --json",
    ),
)
def sql(
    text: Annotated[
        str | None, typer.Argument(help="The query; - reads it from standard input.", metavar="SQL", show_default=False)
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    schema: Annotated[bool, typer.Option("--schema", help="Show the tables and their columns.")] = False,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Maximum number of rows.", metavar="N")] = 1_000,
    seconds: Annotated[float, typer.Option("--seconds", min=0.1, help="Time limit.", metavar="S")] = 30.0,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the tables of an index with one SELECT in DuckDB's SQL. The rows are printed as CSV.

    Nothing can be changed, and only the tables can be read: no files, URLs or extensions.
    """
    from conspectus.pipelines.readers.filenames import visible
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
    found = select(open_filtered(index, settings, overrides, where, access).context, asked, rows, seconds)
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
