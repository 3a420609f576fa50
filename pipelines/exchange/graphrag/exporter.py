"""An index written as the tables that Microsoft GraphRAG 3.x itself writes, loads and queries."""

import json
import typing
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.exchange.export_result import Exported
from conspectus.pipelines.exchange.graphrag.export_rows import rows_of
from conspectus.pipelines.exchange.graphrag.ids import Contents
from conspectus.pipelines.exchange.graphrag.roundtrip import own_origins, titles_of
from conspectus.pipelines.exchange.graphrag.schema import MAKER, OURS, TABLES, FindingRow
from conspectus.pipelines.exchange.graphrag.vectors import write_vectors
from conspectus.storage.index import Index
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Origin, Relation, Report

if TYPE_CHECKING:
    import pyarrow as pa

FILES = (*(f"{name}.parquet" for name in TABLES), "embeddings.*.parquet")
"""Patterns of what an export holds."""


def write_graphrag(index: Index, to: Path) -> Exported:
    """Write the index as GraphRAG's tables into the folder `to`, which is made, and return what was written.

    What was imported from GraphRAG is given back as it was: ids, numbers, texts, columns that we have no place for.
    Otherwise ids are ours, numbers those of the rows, titles the names as they are written; covariates.parquet is there
    where there are claims. The vectors go into embeddings.<name>.parquet. IndexCorrupt where the index cannot be read.
    """
    contents = Contents(
        index.rows(Document),
        index.rows(Chunk),
        index.rows(Entity),
        index.rows(Mention),
        index.rows(Relation),
        index.rows(Claim),
        index.rows(Community),
        index.rows(Report),
    )
    origins = imported_origins(index)
    notes: tuple[str, ...] = ()
    if origins:
        row_of = rows_of(contents, origins)
    else:
        origins, notes = own_origins(contents), _notes(contents)
        row_of = rows_of(contents, origins, titles_of(contents.entities, contents.mentions))
    to.mkdir()
    files: list[Path] = []
    rows: dict[str, int] = {}
    for name, record in TABLES.items():
        own = sorted((each for each in origins if each.table == OURS[name]), key=lambda each: (each.ordinal, each.id))
        if own or name != "covariates":
            files.append(to / f"{name}.parquet")
            _write(files[-1], record, [row_of[each.id] for each in own])
            rows[name] = len(own)
    vectors = write_vectors(index, origins, to)
    return Exported((*files, *vectors.files), {**rows, **vectors.rows}, (*notes, *vectors.notes))


def imported_origins(index: Index) -> list[Origin]:
    """Return where the rows came from, nothing where GraphRAG did not make them."""
    made_by = index.manifest.settings.get("imported", {})
    return index.rows(Origin) if isinstance(made_by, dict) and made_by.get("from") == MAKER else []


def _notes(contents: Contents) -> tuple[str, ...]:
    """Say what the format has no place for, of what there is."""
    losses = [
        (sum(bool(each.predicate) for each in contents.relations), "relations have a predicate"),
        (sum(len(each.types) > 1 for each in contents.entities), "entities have more than one type"),
        (sum(bool(each.places) for each in contents.documents), "documents have pages or headings"),
    ]
    return tuple(f"{count:,} {what}, which GraphRAG has no column for" for count, what in losses if count)


def _write(path: Path, record: type, rows: Sequence[Any]) -> None:
    import pyarrow.parquet as pq

    pq.write_table(arrow_of(record, rows), path)


def arrow_of(record: type, rows: Sequence[Any]) -> "pa.Table":
    """Return rows as Arrow, in the columns and types that GraphRAG's own tables have."""
    import pyarrow as pa

    hints = typing.get_type_hints(record)
    columns = []
    for field in fields(record):
        values = [_plain(getattr(row, field.name)) for row in rows]
        kind = _type_of(hints[field.name])
        columns.append(_structs(values) if kind is None else pa.array(values, kind))
    return pa.Table.from_arrays(columns, [field.name for field in fields(record)])


def _plain(value: Any) -> Any:  # noqa: ANN401  (a cell of any column)
    if isinstance(value, tuple):
        return [asdict(each) if isinstance(each, FindingRow) else each for each in value]
    return dict(value) or None if isinstance(value, Mapping) else value


def _type_of(hint: Any) -> "pa.DataType | None":  # noqa: ANN401  (annotations are of no one type)
    """Return the Arrow type of a column, None where it follows from what is in it."""
    import pyarrow as pa

    def several(of: "pa.DataType") -> "pa.DataType":
        return pa.list_(pa.field("element", of))

    finding = pa.struct([("explanation", pa.string()), ("summary", pa.string())])
    kinds: list[tuple[Any, pa.DataType]] = [
        (str | None, pa.string()),
        (int | None, pa.int64()),
        (float | None, pa.float64()),
        (tuple[str, ...] | None, several(pa.string())),
        (tuple[int, ...] | None, several(pa.int64())),
        (tuple[FindingRow, ...] | None, several(finding)),
    ]
    return next((kind for wanted, kind in kinds if wanted == hint), None)


def _structs(values: Sequence[Mapping[str, Any] | None]) -> "pa.Array":
    """Return objects as structs of all their keys; where a key has values of several types, they are texts."""
    import pyarrow as pa

    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return pa.array([each and {key: _as_text(value) for key, value in each.items()} for each in values])


def _as_text(value: Any) -> str | None:  # noqa: ANN401  (any JSON)
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
