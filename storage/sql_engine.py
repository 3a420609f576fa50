"""The engine of builds: DuckDB, in memory, which spills to the folder of the index. Questions do not use it.

A result does not depend on the number of threads, which is one, nor on the order of rows, if a query sorts by a total
order. Statements of several lines are in `.sql` files beside the step that runs them.
"""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from conspectus.storage.errors import IndexUnusable
from conspectus.storage.mapped import TableRows
from conspectus.storage.spilled import SPILLED, sorted_rows, spill_folder
from conspectus.storage.tables import ROWS_AT_ONCE, schema

if TYPE_CHECKING:
    import pyarrow as pa

Record = TypeVar("Record")
Result = TypeVar("Result")

NO_EXTENSIONS = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_FIRST_MEMORY, _LEAST_MEMORY, _SHARE = 256 << 20, 512 << 20, 4
"""Memory of the engine in bytes: at first, and at least at most; at most it takes a quarter of the machine's."""
_CGROUP = Path("/sys/fs/cgroup/memory.max")
_INSERTED_AT_ONCE = 1 << 16
_MACROS = Path(__file__).with_suffix(".sql")


def memory() -> int:
    """Return the bytes of memory that the engine takes at most."""
    known = [os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")] if hasattr(os, "sysconf") else []
    limit = _CGROUP.read_text("utf-8").strip() if _CGROUP.exists() else ""
    known += [int(limit)] if limit.isdigit() else []
    return max(_LEAST_MEMORY, min(known, default=0) // _SHARE)


class Engine:
    """A database of one step; what it spilled is gone when it is closed.

    Raises IndexUnusable at its end if memory and disk did not suffice.

    >>> with Engine() as engine:
    ...     engine.run("CREATE TABLE seen (name VARCHAR, chunk INTEGER)")
    ...     engine.insert("seen", [("ferry", 1), ("fern", 1), ("ferry", 2)])
    ...     engine.table("SELECT name, count(*) AS n FROM seen GROUP BY name ORDER BY name").to_pylist()
    [{'name': 'fern', 'n': 1}, {'name': 'ferry', 'n': 2}]
    """

    def __init__(self) -> None:
        import duckdb

        folder = spill_folder()
        self._folder = None if folder is None else TemporaryDirectory(dir=folder, prefix=SPILLED)
        place = "" if self._folder is None else self._folder.name
        self._memory = min(_FIRST_MEMORY, memory())
        limits: dict[str, Any] = {"threads": 1, "memory_limit": f"{self._memory >> 20}MiB", "temp_directory": place}
        self._waiting: defaultdict[str, list[Sequence[object]]] = defaultdict(list)
        self._database = duckdb.connect(":memory:", config={**NO_EXTENSIONS, **limits})
        self.run("SET enable_external_access = false; SET python_enable_replacements = false")
        self.run(_MACROS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        import duckdb

        self._database.close()
        if self._folder:
            self._folder.cleanup()
        if isinstance(error, duckdb.OutOfMemoryException | duckdb.IOException):
            raise IndexUnusable(f"memory or disk do not suffice for the build: {str(error).splitlines()[0]}") from error

    def run(self, statements: str | Path) -> None:
        """Run statements, or those of a file."""
        self._insert_all()
        text = statements if isinstance(statements, str) else statements.read_text("utf-8")
        for statement in self._database.extract_statements(text):
            self._with_memory(partial(self._database.execute, statement))

    def insert(self, table: str, rows: Iterable[Sequence[object]]) -> None:
        """Add rows to a table, in their order."""
        self._waiting[table].extend(rows)
        if len(self._waiting[table]) >= _INSERTED_AT_ONCE:
            self._insert_all()

    def insert_table(self, table: str, rows: "pa.Table") -> None:
        """Add the rows of an Arrow table, which has the columns of a table of the engine in their order."""
        self._with_memory(partial(self._database.from_arrow(rows).insert_into, table))

    def _with_memory(self, work: Callable[[], Result]) -> Result:
        """Do some work; if memory does not suffice, again with twice as much.

        DuckDB spills beyond its limit, but for the values of one group that an aggregate holds. So a low limit that
        rises only where it must keeps builds small.
        """
        import duckdb

        while True:
            try:
                return work()
            except duckdb.OutOfMemoryException:
                if self._memory >= memory():
                    raise
                self._memory = min(2 * self._memory, memory())
                self._database.execute(f"SET memory_limit = '{self._memory >> 20}MiB'")

    def _insert_all(self) -> None:
        import pyarrow as pa

        for table, rows in self._waiting.items():
            if rows:
                shape = self._database.table(table).limit(0).to_arrow_table().schema
                columns = zip(*rows, strict=True)
                arrays = [pa.array(column, field.type) for column, field in zip(columns, shape, strict=True)]
                self.insert_table(table, pa.Table.from_arrays(arrays, schema=shape))
                rows.clear()

    def show(self, name: str, table: "pa.Table") -> None:
        """Let statements read an Arrow table under a name; it is not copied."""
        self._database.register(name, table)

    def add_function(self, name: str, function: Callable[[str], str]) -> None:
        """Let statements call a function of a text."""
        self._database.create_function(name, function, ["VARCHAR"], "VARCHAR")

    def table(self, query: str) -> "pa.Table":
        """Return the rows of a query, in memory."""
        self._insert_all()
        return self._with_memory(lambda: self._database.sql(query).to_arrow_table())

    def rows(self, record: type[Record], query: str) -> TableRows[Record]:
        """Return the rows of a query, which has the columns of a record in their order, as a table sorted by id.

        They are not sorted by the engine, which would hold all of them in memory, up to its limit.
        """
        return self._with_memory(lambda: sorted_rows(record, self._tables(schema(record), query)))

    def _tables(self, shape: "pa.Schema", query: str) -> "Iterator[pa.Table]":
        import pyarrow as pa

        self._insert_all()
        for batch in self._database.sql(query).to_arrow_reader(ROWS_AT_ONCE):
            arrays = [column.cast(field.type) for column, field in zip(batch.columns, shape, strict=True)]
            yield pa.Table.from_arrays(arrays, schema=shape)
