"""Record types to Parquet files and back, with the schema checked on reading."""

import dataclasses
import types
import typing
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.records import (
    Chunk,
    Claim,
    Community,
    Correction,
    DatedFact,
    Document,
    Entity,
    Failure,
    Link,
    Mention,
    Merge,
    Name,
    Origin,
    Relation,
    Report,
    Synonym,
)

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from conspectus.storage.arrays import Ints, Rows
    from numpy.typing import NDArray

Record = TypeVar("Record")

TABLES: dict[str, type] = {
    "documents": Document,
    "chunks": Chunk,
    "links": Link,
    "entities": Entity,
    "mentions": Mention,
    "relations": Relation,
    "names": Name,
    "claims": Claim,
    "dated_facts": DatedFact,
    "synonyms": Synonym,
    "merges": Merge,
    "corrections": Correction,
    "communities": Community,
    "reports": Report,
    "origins": Origin,
    "failures": Failure,
}
"""Every table of an index and the type of its rows."""


def schema(record: type) -> "pa.Schema":
    """Return the Arrow schema that follows from a record type's annotations."""
    import pyarrow as pa

    return pa.schema([_arrow_field(name, hint) for name, hint in _hints(record).items()])


ROWS_AT_ONCE = 8192
"""Rows of a batch."""


def write_table(path: Path, record: type[Record], rows: Sequence[Record]) -> None:
    """Write rows as one Parquet file; the same rows give the same bytes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    # The ends of pages depend on the batches that a table consists of, so these are of equal size.
    table = arrow_of(record, rows)
    batches = [table.slice(start, ROWS_AT_ONCE).combine_chunks() for start in range(0, len(table), ROWS_AT_ONCE)]
    pq.write_table(pa.concat_tables(batches) if batches else table, path, compression="zstd")


def arrow_of(record: type, rows: Sequence[object], names: Sequence[str] | None = None) -> "pa.Table":
    """Return rows (or some of their columns) as Arrow; rows that have a `table` are in that form already."""
    import pyarrow as pa

    if table := getattr(rows, "table", None):
        return table if names is None else table.select(names)
    shape = schema(record)
    shape = shape if names is None else pa.schema([shape.field(name) for name in names])
    makers = _plainers(typing.cast(Hashable, record))
    columns = [pa.array(_column(rows, item.name, makers[item.name]), type=item.type) for item in shape]
    return pa.Table.from_arrays(columns, schema=shape)


def read_arrow(path: Path, record: type, columns: Sequence[str] | None = None) -> "pa.Table":
    """Return a table (or some of its columns) as Arrow; IndexCorrupt if the file is not such a table."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        # ParquetFile and not read_table, whose import of pyarrow.dataset takes longer than reading most tables.
        file = pq.ParquetFile(path)
        found = file.schema_arrow
        wanted = schema(record)
        if not found.equals(wanted):
            raise IndexCorrupt(f"{path} has columns {found.names}, not those of {record.__name__}: {wanted.names}")
        names = wanted.names if columns is None else list(columns)
        table = file.read(names)
        table.validate(full=True)  # texts are UTF-8 and list offsets are valid: not checked later
        return table.select(names)
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing") from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:  # column names may be invalid UTF-8
        raise IndexCorrupt(f"{path} cannot be read: {str(error).splitlines()[0]}") from error


def read_table(path: Path, record: type[Record]) -> list[Record]:
    """Return the rows of a table, in file order."""
    return records_of(read_arrow(path, record), record)


def records_of(table: "pa.Table", record: type[Record]) -> list[Record]:
    """Return the rows of an Arrow table that has all columns of a record, in its order."""
    build = builders(record)
    columns = [
        [make(value) for value in table.column(name).to_pylist()] if make else table.column(name).to_pylist()
        for name, make in build.items()
    ]
    return [record(*values) for values in zip(*columns, strict=True)]


@cache
def _hints(record: Hashable) -> dict[str, Any]:
    return typing.get_type_hints(typing.cast(type, record))


def _arrow_field(name: str, hint: object) -> "pa.Field":
    import pyarrow as pa

    inner = _without_none(hint)
    return pa.field(name, _arrow_type(inner), nullable=inner is not hint)


def _arrow_type(hint: Any) -> "pa.DataType":  # noqa: ANN401  (annotations are of no one type)
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    if hint in plain:
        return plain[hint]
    if dataclasses.is_dataclass(hint):
        return pa.struct([_arrow_field(name, inner) for name, inner in _hints(typing.cast(type, hint)).items()])
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return pa.list_(pa.field("item", _arrow_type(arguments[0]), nullable=False))
    if origin is Mapping or (isinstance(origin, type) and issubclass(origin, Mapping)):
        return pa.map_(pa.string(), pa.string())
    raise TypeError(f"no Arrow type for {hint!r}")


def _without_none(hint: Any) -> Any:  # noqa: ANN401
    if typing.get_origin(hint) in (types.UnionType, typing.Union):
        return next(part for part in typing.get_args(hint) if part is not type(None))
    return hint


def _column(rows: Sequence[object], name: str, make: Any) -> list[Any]:  # noqa: ANN401
    values = [getattr(row, name) for row in rows]
    return [None if item is None else make(item) for item in values] if make else values


@cache
def _plainers(record: Hashable) -> dict[str, Any]:
    """Return, by column, the function that converts a value for Arrow, or None if no conversion is needed."""
    return {name: _plainer(_without_none(hint)) for name, hint in _hints(record).items()}


def _plainer(hint: Any) -> Any:  # noqa: ANN401
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        inner = _plainers(hint)
        return lambda value: {
            name: make(getattr(value, name)) if make and getattr(value, name) is not None else getattr(value, name)
            for name, make in inner.items()
        }
    origin = typing.get_origin(hint)
    if origin is tuple:
        make = _plainer(typing.get_args(hint)[0])
        return (lambda value: [make(item) for item in value]) if make else list
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return lambda value: sorted(value.items())
    return None


def builders(record: type) -> dict[str, Any]:
    """Return, by column, the function that converts Arrow's value back to ours, or None if they are equal."""
    return _builders(typing.cast(Hashable, record))


@cache
def _builders(record: Hashable) -> dict[str, Any]:
    return {name: _builder(_without_none(hint)) for name, hint in _hints(record).items()}


def _builder(hint: Any) -> Any:  # noqa: ANN401
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        inner = _builders(hint)
        return lambda value: hint(*(make(value[key]) if make else value[key] for key, make in inner.items()))
    origin = typing.get_origin(hint)
    if origin is tuple:
        make = _builder(typing.get_args(hint)[0])
        return (lambda value: tuple(make(item) for item in value)) if make else tuple
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        return dict
    return None


def codes_of(column: "pa.ChunkedArray") -> "tuple[Ints, list[Any]]":
    """Return a column's distinct values, and the number of each row's value among them, -1 for null.

    >>> import pyarrow as pa
    >>> codes_of(pa.chunked_array([["b", None], ["a", "b"]]))
    (array([ 0, -1,  1,  0]), ['b', 'a'])
    """
    import numpy as np

    encoded = column.dictionary_encode()  # all chunks have one dictionary: with the last, the values of all
    codes = [chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False) for chunk in encoded.chunks]
    values = encoded.chunk(encoded.num_chunks - 1).dictionary.to_pylist() if encoded.num_chunks else []
    return np.concatenate([np.zeros(0, np.int64), *codes]), values


def rows_among(ids: "pa.ChunkedArray | pa.Array", known: "pa.ChunkedArray | pa.Array") -> "NDArray[np.int32]":
    """Return the row of each id among the known ones, -1 for null and for an unknown id."""
    import numpy as np
    from pyarrow import compute

    rows = compute.index_in(ids, value_set=known)
    return np.asarray(compute.fill_null(rows, -1).to_numpy(), np.int32)


def rows_of_ids(found: "pa.ChunkedArray", ids: "pa.ChunkedArray | pa.Array") -> "Ints":
    """Return the table row of each id; IndexCorrupt for an unknown id."""
    import numpy as np

    rows = rows_among(found, ids).astype(np.int64)
    if unknown := np.count_nonzero(rows < 0):
        raise IndexCorrupt(f"{unknown} ids point to rows that are not there; build the index again")
    return rows


def rows_of_ends(relations: "pa.Table | pa.RecordBatch", ids: "pa.ChunkedArray | pa.Array") -> "tuple[Ints, Ints]":
    """Return the entity rows of both ends of relations or synonyms; IndexCorrupt for an unknown id."""
    sources, targets = (rows_of_ids(relations.column(name), ids) for name in ("source_id", "target_id"))
    return sources, targets


def by_id(table: "pa.Table", rows: "Rows | None" = None) -> "pa.Table":
    """Return a table, or some of its rows, sorted by id."""
    from pyarrow import compute

    order = compute.sort_indices(table["id"] if rows is None else table["id"].take(rows))
    return table.take(order if rows is None else rows[order.to_numpy()]).combine_chunks()


Batches = tuple["list[pa.RecordBatch]", "Ints"]
"""The batches of a table, and the row that each begins with."""


def batches_of(table: "pa.Table") -> Batches:
    """Return the batches of a table, for callers that take rows of it many times."""
    import numpy as np

    batches = table.to_batches()
    return batches, np.cumsum([0, *map(len, batches[:-1])])


def taken(table: "pa.Table", rows: "Rows", batches: Batches | None = None) -> "pa.Table":
    """Return some rows of a table. Arrow's own `take` first copies all of a table of several batches."""
    import numpy as np
    import pyarrow as pa

    parts, starts = batches or batches_of(table)
    order = np.argsort(rows, kind="stable")
    ascending = rows[order]
    used, firsts = np.unique(np.searchsorted(starts, ascending, side="right") - 1, return_index=True)
    groups = zip(used.tolist(), np.split(ascending, firsts[1:]), strict=False)  # no rows are one empty group
    found = pa.Table.from_batches([parts[part].take(own - starts[part]) for part, own in groups], table.schema)
    return found if np.array_equal(order, np.arange(len(order))) else found.take(np.argsort(order))


def sorted_by_id(rows: Iterable[Record]) -> list[Record]:
    """Return rows in table order: by id, or by their first columns if they have no id."""
    rows = list(rows)
    if rows and hasattr(rows[0], "id"):
        return sorted(rows, key=attrgetter("id"))
    return sorted(rows, key=_order)


def _order(row: Any) -> tuple[str, ...]:  # noqa: ANN401
    if isinstance(row, Synonym):
        return (row.source_id, row.target_id)
    return (row.stage, row.item_id, row.reason, row.detail)
