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
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, dropwhile, islice, repeat
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
_FIRST_LINES = 30
"""Lines of a table, and rows of a sheet, among which the names of the columns are looked for."""


def read_csv(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a CSV or TSV file. The delimiter is the one of , ; tab | with which the text column exists.

    For .tsv files the tab is tried first. A table without that column becomes one text, a paragraph a row, with the
    column names; its delimiter is the one that yields the most columns. Titles above the names are paragraphs, too.
    """
    csv.field_size_limit(min(max(settings.max_characters, 1 << 17), 2**31 - 1))  # a field may be a whole text
    with open_text(path, newline="") as stream:
        first = list(islice(dropwhile(lambda line: not line.strip(), stream), _FIRST_LINES))
        if not first:
            raise Unreadable("empty")
        try:
            delimiters = _DELIMITERS_OF_TSV if path.suffix.lower() == ".tsv" else _DELIMITERS
            titles, columns, n_lines, delimiter = _csv_header(first, delimiters, settings.text_column)
            reader = csv.reader(chain(first[n_lines:], stream), delimiter=delimiter, strict=True)
            records = _csv_records(reader, named_apart(columns), n_lines)
            if settings.text_column in columns:
                yield from rows_with_text(records, settings)
            else:
                yield from _one_text(records, titles)
        except csv.Error as error:
            raise Unreadable("not CSV", str(error)) from error


def _one_text(records: Iterator[tuple[int, Record] | Lost], titles: Iterable[str]) -> Iterator[Row | Lost]:
    """Yield the titles and the records as one text, and the losses."""
    draft = Draft()
    for title in titles:
        draft.add(title.translate(NO_MARKS))
    any_record = False
    for record in records:
        if isinstance(record, Lost):
            yield record
        else:
            any_record |= draft.add(labelled(strings(record[1])))
    if not any_record:
        raise Unreadable("empty", "no rows")
    yield draft.row(None, {})


def _csv_records(reader: "Reader", columns: Sequence[str], n_above: int) -> Iterator[tuple[int, Record] | Lost]:
    """Yield the records below the names of the columns, which end with line `n_above` of the file."""
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
            yield Lost(number, "not CSV", f"lines {before + n_above + 1} to {reader.line_num + n_above}: {error}")
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


def _csv_header(lines: Sequence[str], delimiters: str, text_column: str) -> tuple[list[str], list[str], int, str]:
    """Return the titles above a table, its columns, how many lines these take, and the delimiter.

    The delimiter is one with which the text column exists, if any, and that yields the most columns.
    """
    found = []
    for delimiter in delimiters:
        reader = csv.reader(lines, delimiter=delimiter)
        rows: list[tuple[list[str], int]] = []
        with suppress(csv.Error):  # further down: the records tell where
            rows.extend(([cell.strip() for cell in row], reader.line_num) for row in reader)
        if not rows:
            continue
        n_titles, names, n_rows = _header([row for row, _ in rows])
        titles = [" ".join(filter(None, row)) for row, _ in rows[:n_titles]]
        titles = [title for title in titles if title and not title.startswith("sep=")]  # of Excel
        found.append((titles, names, rows[n_titles + n_rows - 1][1], delimiter))
    if not found:
        raise csv.Error("the first line")
    return max(found, key=lambda each: (text_column in each[1], len(each[1])))


def _header(rows: Sequence[Sequence[str]]) -> tuple[int, list[str], int]:
    """Return how many rows are titles above a table, the names of its columns, and how many rows these take.

    Titles have at most half as many cells as most rows. In two rows of names, the first has one for several columns.

    >>> _header([["Fees"], ["Pier", "Night", ""], ["", "summer", "winter"], ["North", "9", "5"], ["South", "8", "4"]])
    (1, ['Pier', 'Night summer', 'Night winter'], 2)
    """
    sizes = Counter(len(row) for row in rows if row)
    usual = max(sizes, key=lambda size: (sizes[size], size), default=0)
    filled = [sum(map(bool, row)) for row in rows]
    few = [not count or (count == 1 and row[0] and usual > 2) for count, row in zip(filled, rows, strict=True)]
    alone = [len(row) < usual or few[at] for at, row in enumerate(rows)]
    at = next((at for at in range(len(rows)) if 2 * filled[at] > usual or not alone[at]), 0)
    for first in (at - 1, at):
        if first >= 0 and first + 1 < len(rows) and (names := _of_two_rows(rows[first], rows[first + 1])):
            return first, names, 2
    return at, list(rows[at]) if rows else [], 1


def _of_two_rows(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Return the names that two rows make; none if the second names no parts of what the first one spans."""
    if sum(map(bool, above)) < 2:
        return []
    width = max(len(above), len(below))
    own, under = ([*row, *[""] * (width - len(row))] for row in (above, below))
    over = own[:1]
    for cell, part in zip(own[1:], under[1:], strict=True):
        over.append(cell or (over[-1] if part else ""))
    spanned = {over[at] for at in range(1, width) if over[at] and not own[at]}
    pairs = list(zip(over, under, strict=True))
    if (
        not spanned
        or over[0] in spanned
        or not all(part in ("", name) or not name or name in spanned for name, part in pairs)
    ):
        return []
    return [name if part in ("", name) else f"{name} {part}".strip() for name, part in pairs]


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
_YEAR = re.compile(r"(?:19|20)\d\d")
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
    draft = Draft()
    for name, sheet in sheets.items():
        first, *rows = list(_filled(sheet)) or [()]
        columns = named_apart(["" if cell is None else str(cell).strip() for cell in first])
        if settings.text_column in columns:
            tables += 1
            within = clean(name) if len(sheets) > 1 else ""
            records = ((number, _record(columns, chain(row, repeat(None)))) for number, row in enumerate(rows, start=1))
            yield from (replace(row, within=within) for row in rows_with_text(records, settings))
        elif first:
            cells = ([strings({"": cell}).get("", "") for cell in row] for row in (first, *rows))
            _add_sheet(draft, name, [[" ".join(cell.split()) for cell in row] for row in cells])
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


def _add_sheet(draft: Draft, name: str, rows: Sequence[list[str]]) -> None:
    """Add the text of a sheet, which begins a place."""
    draft.begin("sheet", as_title(name) or "")
    n_titles, names, n_names = _header(rows[:_FIRST_LINES])
    for title in rows[:n_titles]:
        draft.add(" ".join(filter(None, title)).translate(NO_MARKS))
    below = rows[n_titles + n_names :]
    named = bool(below) and _names_columns(names, below[0])
    for row in below if named else rows[n_titles:]:
        note = named and len(names) > 2 and sum(map(bool, row)) == 1 and row[0].endswith((".", "!", "。"))
        text = labelled(_by_column(names, row)) if named and not note else " | ".join(dropwhile(operator.not_, row))
        draft.add(text.translate(NO_MARKS))


def _names_columns(names: Sequence[str], row: Sequence[str]) -> bool:
    """Return whether the first row of a sheet names its columns: several distinct short texts, one for each cell.

    Years are names above cells that are none.
    """
    named = [cell for cell in names if cell]
    years = [
        cell for cell, below in zip(names, row, strict=False) if _YEAR.fullmatch(cell) and not _YEAR.fullmatch(below)
    ]
    return (
        len(named) > 1
        and len(row) <= len(names)
        and any(row)
        and len(set(named)) == len(named)
        and all((_LETTER.search(cell) or cell in years) and len(cell) <= _LONGEST_NAME for cell in named)
    )


def _by_column(names: Sequence[str], row: Sequence[str]) -> dict[str, str]:
    """Return the cells of a row by the names of their columns; cells without a column name are joined."""
    found = {name: cell for name, cell in zip(names, row, strict=False) if name}
    rest = [cell for at, cell in enumerate(row) if cell and not (at < len(names) and names[at])]
    return found | ({"": " | ".join(rest)} if rest else {})
