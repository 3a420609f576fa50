"""Read the output of Microsoft GraphRAG 1, 2 or 3 and return rows of version 3."""

import json
import math
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.schema import (
    TABLES,
    GraphRagFinding,
    Tables,
)
from conspectus.pipelines.readers.encodings import clean
from conspectus.storage.errors import InputError
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.records import Failure
from pydantic import ConfigDict, TypeAdapter

if TYPE_CHECKING:
    import pyarrow as pa

_OPTIONAL = "covariates"
_OUTPUT_FOLDERS = ("", "output", "output/artifacts")

_EARLIER_NAMES = {
    ("documents", "raw_data"): "metadata",
    ("text_units", "document_id"): "document_ids",
}
"""Column names of version 2."""

_REQUIRED_COLUMNS = {
    "documents": ("id",),
    "text_units": ("id", "text", "document_id"),
    "entities": ("id", "title"),
    "relationships": ("id", "source", "target"),
    "communities": ("community", "level"),
    "community_reports": ("community", "title"),
    "covariates": ("subject_id", "text_unit_id"),
}
_REQUIRED_CELLS = {
    **_REQUIRED_COLUMNS,
    "text_units": ("id", "text"),
    "community_reports": ("community",),
    _OPTIONAL: (),
}
"""A row with an empty cell in one of these columns becomes a failure."""

_LONGEST_DETAIL = 200
_LAX = ConfigDict(coerce_numbers_to_str=True, allow_inf_nan=False)
_FINDINGS, _OBJECT = tuple[GraphRagFinding, ...] | None, Mapping[str, object] | None
_KINDS: Mapping[object, str] = {
    str | None: "a text",
    int | None: "a whole number",
    float | None: "a number",
    tuple[str, ...] | None: "a list of texts",
    tuple[int, ...] | None: "a list of whole numbers",
    _FINDINGS: "a list of findings",
    _OBJECT: "an object",
}
"""The types of columns, in words."""


@dataclass(frozen=True, slots=True)
class GraphragOutput:
    """The tables of a folder in the form of GraphRAG 3, what of them is not imported, and a hash of the files."""

    tables: Tables
    failures: list[Failure]
    notes: tuple[str, ...]
    digest: str


def read_graphrag(folder: Path) -> GraphragOutput:
    """Read the tables of a GraphRAG output folder, or of the project folder that contains it.

    A cell of the wrong type is None and listed as a failure; so is a row without an id.

    Raises:
        InputError: A required table or column is missing, cannot be read, or has another type throughout.
    """
    paths = _files(folder)
    failures: list[Failure] = []
    unused: list[str] = []
    rows: dict[str, list[Any]] = {name: [] for name in TABLES}
    for name in [name for name in TABLES if name in paths]:
        columns, other_names = _columns(name, paths[name])
        unused += [f"{name}.{other}" for other in other_names]
        rows[name] = list(_rows(name, columns, paths[name], failures))
    notes = (f"columns that are not imported: {', '.join(unused)}",) if unused else ()
    contents = digest(*(f"{name} {file_digest(path)}" for name, path in sorted(paths.items())))
    return GraphragOutput(Tables(**rows), failures, notes, contents)


def _files(folder: Path) -> dict[str, Path]:
    """Return the path of each table."""
    if not folder.is_dir():
        raise InputError(f"{folder}: there is no such folder; name the output folder of a GraphRAG project")
    for output in (folder / name for name in _OUTPUT_FOLDERS):
        paths = {name: output / f"{name}.parquet" for name in TABLES}
        if not paths["entities"].is_file():
            continue
        missing = [path.name for name, path in paths.items() if name != _OPTIONAL and not path.is_file()]
        if missing:
            raise InputError(f"{output} lacks {', '.join(missing)}, which GraphRAG writes next to entities.parquet")
        return {name: path for name, path in paths.items() if path.is_file()}
    raise InputError(
        f"neither {folder} nor its folder output contains entities.parquet: "
        "name the output folder of a GraphRAG project"
    )


def _columns(name: str, path: Path) -> "tuple[Mapping[str, pa.ChunkedArray], list[str]]":
    """Return the columns of a table by their version 3 names, and the names of unused columns."""
    table = _arrow(path)
    columns: dict[str, pa.ChunkedArray] = {}
    used: set[str] = set()
    for field in fields(TABLES[name]):
        for column in (field.name, _EARLIER_NAMES.get((name, field.name), field.name)):
            if column in table.column_names and field.name not in columns:
                columns[field.name] = table.column(table.column_names.index(column))
                used.add(column)
    for required in _REQUIRED_COLUMNS[name]:
        if required not in columns:
            raise InputError(f"{path} has no column {required}; it has {', '.join(map(clean, table.column_names))}")
    return columns, [clean(column)[:_LONGEST_DETAIL] for column in table.column_names if column not in used]


def _arrow(path: Path) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.ParquetFile(path).read()
        table.validate(full=True)
        return table
    except (pa.ArrowException, OSError, UnicodeDecodeError, MemoryError) as error:
        raise InputError(f"{path} cannot be read: {(str(error) or type(error).__name__).splitlines()[0]}") from error


def _rows(name: str, columns: "Mapping[str, pa.ChunkedArray]", path: Path, failures: list[Failure]) -> Iterator[Any]:
    """Yield the rows of a table; a row without a required cell becomes a failure."""
    record = TABLES[name]
    n_rows = len(next(iter(columns.values())))
    names = [field.name for field in fields(record)]
    values = [
        _cells(name, column, columns[column], path, failures) if column in columns else [None] * n_rows
        for column in names
    ]
    for number, cells in enumerate(zip(*values, strict=True)):
        row = dict(zip(names, cells, strict=True))
        lacking = [column for column in _REQUIRED_CELLS[name] if row[column] is None or row[column] == ""]
        if lacking:
            failures.append(Failure(IMPORT, f"{name}#{number}", f"a row without {lacking[0]}"))
        elif isinstance(row.get("document_id"), tuple):  # before version 3, a text unit had a list of documents
            for document_id in dict.fromkeys(row["document_id"]) or (None,):
                yield record(**{**row, "document_id": document_id})
        else:
            yield record(**row)


def _cells(name: str, column: str, values: "pa.ChunkedArray", path: Path, failures: list[Failure]) -> list[Any]:
    """Return the cells of a column as version 3 has them, None for a cell of the wrong type."""
    hint = typing.get_type_hints(TABLES[name])[column]
    kind = _KINDS[hint]
    of_list, of_one = TypeAdapter(tuple[str, ...], config=_LAX), TypeAdapter[Any](hint, config=_LAX)
    cells: list[Any] = []
    wrong: list[Failure] = []
    n_values = 0
    for number, value in enumerate(_python_values(values, path, column)):
        cell = None
        if not _is_null(value):
            n_values += 1
            several = column == "document_id" and isinstance(value, list)
            try:
                cell = (of_list if several else of_one).validate_python(_plain(value, hint))
            except (TypeError, ValueError, RecursionError):
                detail = clean(str(value))[:_LONGEST_DETAIL]
                wrong.append(Failure(IMPORT, f"{name}#{number}", f"{column} is not {kind}", detail))
        cells.append(cell)
    if wrong and len(wrong) == n_values:
        raise InputError(f"{path}: the column {column} is {clean(str(values.type))[:_LONGEST_DETAIL]}, not {kind}")
    failures += wrong
    return cells


def _plain(value: Any, hint: object) -> Any:  # noqa: ANN401  (a cell of any column)
    """Return a cell without what pydantic would take for something else; raises TypeError or ValueError."""
    if isinstance(value, bool):
        raise TypeError(value)
    if hint == _OBJECT:  # a struct, the pairs of an Arrow map, or JSON
        content = dict(json.loads(value) if isinstance(value, str) else value)
        return json.loads(json.dumps(content, ensure_ascii=False, default=str))
    if isinstance(value, list):
        value = [each for each in value if not _is_null(each)]
        return list(map(_finding, value)) if hint == _FINDINGS else value
    return value


def _finding(value: Any) -> Any:  # noqa: ANN401  (an object, or only its explanation)
    if isinstance(value, dict):
        return {key: value.get(key) or "" for key in ("explanation", "summary")}
    return {"explanation": value, "summary": ""}


def _python_values(values: "pa.ChunkedArray", path: Path, column: str) -> list[Any]:
    import pyarrow as pa

    try:
        return list(values.to_pylist())
    except (pa.ArrowException, ValueError, OverflowError, RecursionError, TypeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(f"{path}: the column {column} cannot be read: {reason}") from error


def _is_null(value: object) -> bool:
    """Return whether a cell is empty; pandas writes NaN for a missing number."""
    return value is None or (isinstance(value, float) and math.isnan(value))
