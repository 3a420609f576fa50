"""Read texts from tables: CSV, TSV, JSON Lines, Parquet and workbooks, row by row; all other sheets as text.

Rows are numbered from 1, JSON Lines by line, so that a number identifies the place. python-calamine reads the cells of
workbooks: the stored results of formulas, dates as such, and which cells are merged.
"""

import csv
import datetime
import io
import json
import operator
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, dropwhile, repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable, clean, open_text
from conspectus.pipelines.readers.guards import open_zip
from conspectus.pipelines.readers.rows import (
    NO_MARKS,
    Draft,
    Lost,
    Record,
    Row,
    as_title,
    labelled,
    named_apart,
    no_column,
    numbered_record,
    rows_with_text,
    strings,
)
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from _csv import Reader

    from python_calamine import CalamineSheet

_ROWS_AT_ONCE = 8
"""Rows of a Parquet file in memory: a text stored once for a thousand rows is copied for every row."""

_DELIMITERS = ",;\t|"
_DELIMITERS_OF_TSV = "\t,;|"
_USUAL_FIELD = csv.field_size_limit()


def read_csv(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a CSV or TSV file. The delimiter is the one of , ; tab | with which the text column exists.

    For .tsv files the tab is tried first. A table without that column becomes one text, a paragraph a row, with the
    column names; its delimiter is the one that yields the most columns.
    """
    csv.field_size_limit(min(max(settings.max_characters, _USUAL_FIELD), 2**31 - 1))  # a field may be a whole text
    with open_text(path, newline="") as stream:
        header = next((line for line in stream if line.strip()), "")
        if not header:
            raise Unreadable("empty")
        try:
            delimiters = _DELIMITERS_OF_TSV if path.suffix.lower() == ".tsv" else _DELIMITERS
            columns, delimiter = _csv_columns(header, delimiters, settings.text_column)
            records = _csv_records(csv.reader(stream, delimiter=delimiter, strict=True), named_apart(columns))
            yield from (rows_with_text if settings.text_column in columns else _one_text)(records, settings)
        except csv.Error as error:
            raise Unreadable("not CSV", str(error)) from error


def _one_text(records: Iterator[tuple[int, Record] | Lost], settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the records as one text, and the losses."""
    draft = Draft(settings)
    for record in records:
        if isinstance(record, Lost):
            yield record
        else:
            draft.add(labelled(strings(record[1])))
    if not draft:
        raise Unreadable("empty", "no rows")
    yield draft.row(None, {})


def _csv_records(reader: "Reader", columns: Sequence[str]) -> Iterator[tuple[int, Record] | Lost]:
    number = 0
    while True:
        before = reader.line_num
        try:
            values = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            number += 1
            if reader.line_num - before > 1 and "limit" in str(error):
                # An unclosed quotation mark swallows the following text: the beginning of the next row is unknown.
                raise Unreadable(f"row {number} does not end", str(error)) from error
            yield Lost(number, "not CSV", f"lines {before + 2} to {reader.line_num + 1}: {error}")
            continue
        if not values:
            continue
        number += 1
        if len(values) > len(columns):
            yield Lost(number, "not CSV", f"{len(values)} fields under {len(columns)} columns")
        else:
            yield number, _record(columns, values)


def _record(columns: Sequence[str], values: Iterable[object]) -> Record:
    return {column: value for column, value in zip(columns, values, strict=False) if column}


def _csv_columns(header: str, delimiters: str, text_column: str) -> tuple[list[str], str]:
    """Return the columns and the delimiter: the first with which the text column exists, or that yields the most."""
    found = [([name.strip() for name in next(csv.reader([header], delimiter=each), [])], each) for each in delimiters]
    with_text = (each for each in found if text_column in each[0])
    return next(with_text, None) or max(found, key=lambda each: len(each[0]))


def read_json_lines(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a file with one JSON object per line."""
    with open_text(path) as stream:
        yield from rows_with_text(_json_records(stream), settings)


def _json_records(stream: IO[str]) -> Iterator[tuple[int, Record] | Lost]:
    for number, line in enumerate(stream, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Lost(number, f"line {number} is not JSON", str(error))
            continue
        yield numbered_record(number, record, "line")


def read_parquet(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a Parquet file."""
    yield from rows_with_text(_parquet_records(path, settings), settings)


def _parquet_records(path: Path, settings: InputSettings) -> Iterator[tuple[int, Record] | Lost]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    number = 0
    try:
        with pq.ParquetFile(path) as file:
            columns = named_apart(file.schema_arrow.names)
            if settings.text_column not in columns:
                raise no_column(settings.text_column, columns)
            for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE):
                for at in range(batch.num_rows):
                    number += 1
                    yield number, {name: cell[at].as_py() for name, cell in zip(columns, batch.columns, strict=True)}
    except (pa.ArrowException, ValueError, OverflowError) as error:
        place = f"after row {number}" if number else "not Parquet"
        raise Unreadable(f"cannot be read: {place}", str(error).splitlines()[0]) from error


_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_NAME = 60
_Cells = tuple[object, ...]


def read_workbook(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of each sheet whose first row names the text column, then one text of all other sheets.

    Rows are numbered like those of CSV, `within` their sheet if the workbook has several. In the text each sheet is a
    place and each row a paragraph. The first row names the columns if it is text and no shorter than the next: "Name:
    Maria; Role: Engineer"; without names the cells are separated by " | ".
    Raises Unreadable for encrypted and damaged workbooks.
    """
    from python_calamine import CalamineError, CalamineWorkbook, PasswordError

    content = path.read_bytes()
    if content.startswith(b"PK"):
        with open_zip(path, settings.max_archive_bytes):
            pass
    try:
        with CalamineWorkbook.from_filelike(io.BytesIO(content)) as book:
            yield from _rows({name: book.get_sheet_by_name(name) for name in book.sheet_names}, settings)
    except PasswordError as error:
        raise Unreadable("encrypted", "the workbook has a password") from error
    except (CalamineError, ValueError, OSError) as error:
        raise Unreadable("damaged workbook", " ".join(str(error).split())) from error


def _rows(sheets: "Mapping[str, CalamineSheet]", settings: InputSettings) -> Iterator[Row | Lost]:
    tables = 0
    draft = Draft(settings)
    for name, sheet in sheets.items():
        first, *rows = list(_filled(sheet)) or [()]
        columns = named_apart(["" if cell is None else str(cell).strip() for cell in first])
        if settings.text_column in columns:
            tables += 1
            within = clean(name) if len(sheets) > 1 else ""
            records = ((number, _record(columns, chain(row, repeat(None)))) for number, row in enumerate(rows, start=1))
            yield from (replace(row, within=within) for row in rows_with_text(records, settings))
        elif first:
            _add_sheet(draft, name, map(_cells, (first, *rows)))
    if draft:
        yield draft.row(None, {})
    elif not tables:
        raise Unreadable("empty", "no cell of the workbook has content")


def _filled(sheet: "CalamineSheet") -> Iterator[_Cells]:
    """Yield the rows that are not empty, without the empty cells at their ends; cells merged downwards are filled."""
    rows = [list(map(_value, row)) for row in sheet.to_python()]
    top, left = sheet.start or (0, 0)
    filled = [any(cell is not None for cell in row) for row in rows]
    for (first, column), (last, _) in sheet.merged_cell_ranges or ():
        for at in range(first - top + 1, min(last - top + 1, len(rows))):
            if filled[at] and rows[at][column - left] is None:
                rows[at][column - left] = rows[first - top][column - left]
    for row in rows:
        while row and row[-1] is None:
            row.pop()
        if row:
            yield tuple(row)


def _value(cell: object) -> object:
    """Return None for an empty cell, a date for a date and time at midnight, a whole number without decimals."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date()
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    return str(cell) if isinstance(cell, datetime.timedelta) else None if cell == "" else cell


def _add_sheet(draft: Draft, name: str, lines: Iterator[list[str]]) -> None:
    """Add the text of a sheet, which begins a place."""
    draft.begin("sheet", as_title(name) or "")
    first, second = next(lines, []), next(lines, [])
    while sum(map(bool, first)) == 1 and len(second) > 1:  # a title above the table
        draft.add(" ".join(first).translate(NO_MARKS))
        first, second = second, next(lines, [])
    names = first if _names_columns(first, second) else []
    for row in chain([] if names else [first], [second], lines):
        text = labelled(_by_column(names, row)) if names else " | ".join(dropwhile(operator.not_, row))
        draft.add(text.translate(NO_MARKS))


def _cells(row: _Cells) -> list[str]:
    return [" ".join(strings({"": cell}).get("", "").split()) for cell in row]


def _names_columns(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether the first row of a sheet names its columns: several distinct short texts, one for each cell."""
    named = [cell for cell in first if cell]
    return (
        len(named) > 1
        and len(second) <= len(first)
        and any(second)
        and len(set(named)) == len(named)
        and all(_LETTER.search(cell) and len(cell) <= _LONGEST_NAME for cell in named)
    )


def _by_column(names: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by the names of their columns; cells without a column name are joined."""
    found = {name: cell for name, cell in zip(names, row, strict=False) if name}
    rest = [cell for at, cell in enumerate(row) if cell and not (at < len(names) and names[at])]
    return found | ({"": " | ".join(rest)} if rest else {})
