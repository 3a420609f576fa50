"""Read workbooks (.xlsx, .xlsm, .xlsb, .xls, .ods): tables of texts row by row, all other sheets as text.

python-calamine reads the cells: the stored results of formulas, dates as such, and which cells are merged.
"""

import datetime
import io
import operator
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, dropwhile, repeat
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import Unreadable, clean
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
    rows_with_text,
    strings,
)
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from python_calamine import CalamineSheet

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
        rows = _filled(sheet)
        first = next(rows, None)
        if first is None:
            continue
        columns = named_apart(["" if cell is None else str(cell).strip() for cell in first])
        if settings.text_column not in columns:
            _add_sheet(draft, name, chain([first], rows))
            continue
        tables += 1
        within = clean(name) if len(sheets) > 1 else ""
        for row in rows_with_text(_records(columns, rows), settings):
            yield replace(row, within=within)
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


def _records(columns: Sequence[str], rows: Iterator[_Cells]) -> Iterator[tuple[int, Record]]:
    for number, row in enumerate(rows, start=1):
        cells = chain(row, repeat(None))
        yield number, {column: cell for column, cell in zip(columns, cells, strict=False) if column}


def _add_sheet(draft: Draft, name: str, rows: Iterator[_Cells]) -> None:
    """Add the text of a sheet, which begins a place."""
    draft.begin("sheet", as_title(name) or "")
    lines = map(_cells, rows)
    first, second = next(lines, []), next(lines, [])
    while sum(map(bool, first)) == 1 and len(second) > 1:  # a title above the table
        draft.add(" ".join(first).translate(NO_MARKS))
        first, second = second, next(lines, [])
    names = first if _names_columns(first, second) else []
    for row in chain([] if names else [first], [second], lines):
        text = labelled(_by_column(names, row)) if names else " | ".join(dropwhile(operator.not_, row))
        draft.add(text.translate(NO_MARKS))


def _cells(row: _Cells) -> list[str]:
    values = strings({str(at): cell for at, cell in enumerate(row)})
    return [" ".join(values.get(str(at), "").split()) for at in range(len(row))]


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
