"""Export the tables of an index as CSV (RFC 4180), one file for each table.

The columns are those of the tables; lists and objects are JSON. Relations and mentions have further columns with the
names of their entities. None and an empty text are both an empty cell.
"""

import csv
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from conspectus.pipelines.exchange.export_result import ExportResult
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Mention, Relation
from conspectus.storage.tables import TABLES

FILES = tuple(f"{name}.csv" for name in TABLES)
"""The files of an export."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""Beginnings of a cell that a spreadsheet program interprets as a formula, or skips before one."""
_BOM = "\ufeff"


def write_csv(index: StoredIndex, to: Path) -> ExportResult:
    """Write each table as a file of the folder `to`, which must not exist; values are exactly those of the index."""
    return _write(index, to, "", lambda text: text)


def write_spreadsheet_csv(index: StoredIndex, to: Path) -> ExportResult:
    """Write the tables for spreadsheet programs, so that no text of a document is run as a formula.

    A text that begins like a formula is preceded by an apostrophe. The files begin with a byte order mark, from which
    Excel recognises UTF-8.
    """
    done = _write(index, to, _BOM, _harmless)
    note = "a text that a spreadsheet would run as a formula has an apostrophe before it"
    return ExportResult(done.files, done.rows, (*done.notes, note))


def _write(index: StoredIndex, to: Path, mark: str, text: Callable[[str], str]) -> ExportResult:
    to.mkdir()
    names = {entity.id: entity.name for entity in index.rows(Entity)}
    rows: dict[str, int] = {}
    for table, record in TABLES.items():
        columns = [field.name for field in fields(record)]
        added = _ADDED.get(record, {})
        with (to / f"{table}.csv").open("w", encoding="utf-8", newline="") as stream:
            stream.write(mark)
            written = csv.writer(stream)  # its line ends are those of RFC 4180
            written.writerow([*columns, *added])
            made: list[Any] = index.rows(record)
            for row in made:
                cells = [_cell(getattr(row, column), text) for column in columns]
                written.writerow([*cells, *(text(names.get(getattr(row, id_) or "", "")) for id_ in added.values())])
        rows[table] = len(made)
    return ExportResult(tuple(to / name for name in FILES), rows)


_ADDED: Mapping[type, Mapping[str, str]] = {
    Relation: {"source": "source_id", "target": "target_id"},
    Mention: {"entity": "entity_id"},
}
"""Further columns with names, and the columns of the ids that they are looked up by."""


def _cell(value: Any, text: Callable[[str], str]) -> str | float | None:  # noqa: ANN401  (a cell of any column)
    if isinstance(value, str):
        return text(value)
    if value is None or (isinstance(value, int | float) and not isinstance(value, bool)):
        return value
    return json.dumps(value, ensure_ascii=False, default=asdict)


def _harmless(text: str) -> str:
    return f"'{text}" if text.lstrip(" \ufeff\u00a0").startswith(_FORMULA) else text
