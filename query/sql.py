"""SQL over the tables of an index by DuckDB, read-only and with limits.

The engine gets the tables that the query names as Arrow, in memory. It has no access to files, networks, extensions and
Python variables, and its configuration is locked before the query is read.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Timer
from typing import TYPE_CHECKING, Any

from conspectus.query.context import Context
from conspectus.storage.errors import UsageError
from conspectus.storage.sql_engine import NO_EXTENSIONS
from conspectus.storage.tables import TABLES, schema

if TYPE_CHECKING:
    import duckdb

ROWS = 1_000
"""Default number of rows."""
SECONDS = 30.0
"""Default time limit of a query."""
_CONFIGURATION: dict[str, str | bool | int | float | list[str]] = {
    **NO_EXTENSIONS,
    "memory_limit": "2GB",  # without the tables themselves
    "temp_directory": "",
    "threads": "2",
}
_LOCKS = (
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)


@dataclass(frozen=True, slots=True)
class SqlResult:
    """The result of a query: its columns, its rows, and whether these are all."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    complete: bool

    def dicts(self) -> list[dict[str, Any]]:
        """Return the rows as mappings of columns to values; if several columns have one name, the last counts."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


def select(context: Context, text: str, rows: int = ROWS, seconds: float = SECONDS) -> SqlResult:
    """Return the rows of one SELECT over the tables of an index (`documents`, `chunks`, `entities`, ...).

    Args:
        context: The index, or a view of it: rows hidden by its filter are in no table.
        text: The query, in DuckDB's SQL.
        rows: The largest number of rows; `SqlResult.complete` says whether there were more.
        seconds: The longest time.

    Raises:
        UsageError: The query is wrong, is not a SELECT, accesses anything else, or exceeded its limits.
    """
    if rows < 1 or seconds <= 0:
        raise UsageError("the limits of rows and seconds must be positive")
    import duckdb

    named = {word.casefold() for word in re.findall(r"\w+", text)}
    with duckdb.connect(":memory:", config=_CONFIGURATION) as engine:
        for name, record in TABLES.items():
            if name in named:
                engine.register(name, context.index.arrow(record))
        for lock in _LOCKS:
            engine.execute(lock)
        try:
            statements = engine.extract_statements(text)
            if [each.type for each in statements] != [duckdb.StatementType.SELECT]:
                raise UsageError("a query is one SELECT; nothing can be changed")
            with _limited(engine, seconds):
                engine.execute(statements[0])
                found = engine.fetchmany(rows + 1)
        except duckdb.InterruptException:
            raise UsageError(f"the query took longer than {seconds:g} s") from None
        except duckdb.Error as error:
            raise UsageError(f"the query cannot be run: {' '.join(str(error).split())[:500]}") from None
        columns = tuple(str(column[0]) for column in engine.description or ())
    return SqlResult(columns, tuple(found[:rows]), len(found) <= rows)


def columns_of_tables() -> dict[str, Sequence[tuple[str, str]]]:
    """Return the columns of each table with their Arrow types."""
    return {name: [(each.name, str(each.type)) for each in schema(record)] for name, record in TABLES.items()}


@contextmanager
def _limited(engine: "duckdb.DuckDBPyConnection", seconds: float) -> Iterator[None]:
    timer = Timer(seconds, engine.interrupt)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
