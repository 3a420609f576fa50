"""Read Excel workbooks (.xlsx): tables of texts row by row, all other sheets as the text of their cells."""

import datetime
import operator
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain, dropwhile, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.guards import ZIP_ERRORS, open_zip
from conspectus.pipelines.readers.rows import (
    Lost,
    Record,
    RecordText,
    Row,
    as_title,
    labelled,
    refuse_doubles,
    rows_with_text,
    strings,
)
from conspectus.storage.records import Place
from conspectus.storage.settings import InputSettings

if TYPE_CHECKING:
    from openpyxl.workbook.workbook import Workbook

MAX_BYTES = 500_000_000
"""Maximum unpacked bytes of a workbook, which stores every text once; larger ones contain hardly any text."""

MAX_PART = 16_000_000
"""Maximum bytes of a part that is read into memory: all but sheets, their strings, and unused parts."""

MAX_CELLS = 10_000_000
"""Maximum cells of all sheets, including empty ones to the left of a filled one."""

_MAX_ROWS = 1_048_576
_LETTER = re.compile(r"[^\W\d_]")
_LONGEST_NAME = 60
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_ERRORS = (
    *ZIP_ERRORS,
    LookupError,
    TypeError,
    AttributeError,
    SyntaxError,  # the base class of XML's ParseError
)
"""The exceptions of openpyxl for damaged workbooks."""

_SHEET = re.compile(r"xl/worksheets/[^/]+\.xml$", re.I)
_MERGE = re.compile(rb"<(?:\w+:)?mergeCell\s[^<>]{0,40}?ref=[\"']([A-Z]{1,3})(\d{1,7}):[A-Z]{1,3}(\d{1,7})[\"']")
_MOST_MERGED, _LONGEST_MERGE, _BLOCK = 100_000, 120, 1 << 20
_READ_WHOLE = re.compile(
    r"^(?!/?xl/(?:worksheets/[^/]+|sharedstrings|(?:pivotcache|drawings|charts|externallinks)/[^/]+)\.xml$).*\.(?:xml|rels)$",
    re.I | re.S,
)
_Cells = tuple[object, ...]


def read_workbook(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of each sheet whose first row names the text column, then one text of all other sheets.

    Rows are numbered like those of CSV, `within` their sheet if the workbook has several. In the text each sheet is a
    place and each row a paragraph. The first row names the columns if it is text and no shorter than the next: "Name:
    Maria; Role: Engineer"; without names the cells are separated by " | ". For formulas the stored results are read.
    Raises Unreadable for encrypted and damaged workbooks.
    """
    from openpyxl import load_workbook

    with path.open("rb") as stream:
        head = stream.read(len(_OLE))
        if head == _OLE:
            if _ENCRYPTED in head + stream.read():
                raise Unreadable("encrypted", "the workbook has a password")
            raise Unreadable("unsupported format .xls", "an older workbook under the name .xlsx: save it as .xlsx")
        stream.seek(0)
        with open_zip(stream, MAX_BYTES) as archive:
            _refuse_large_parts(archive)
            merged = {member.filename: _merged(archive, member) for member in archive.infolist()}
        stream.seek(0)
        try:
            book = load_workbook(stream, read_only=True, data_only=True, keep_links=False)
            parts: list[Any] = [getattr(sheet, "_worksheet_path", sheet) for sheet in book.worksheets]
            if len(set(parts)) < len(parts):
                raise Unreadable("damaged workbook", "two sheets are one part of the file")
            yield from _rows(book, merged, settings)
        except _ERRORS as error:
            # openpyxl's messages may contain the path, which changes between runs for a member of an archive.
            why = str(error.__cause__ or error) or type(error).__name__
            raise Unreadable("damaged workbook", why.splitlines()[0]) from error


def _refuse_large_parts(archive: zipfile.ZipFile) -> None:
    for member in archive.infolist():
        if member.file_size > MAX_PART and _READ_WHOLE.search(member.filename):
            detail = f"{member.filename}: {member.file_size} bytes; the limit is {MAX_PART}"
            raise Unreadable("workbook part too large", detail)


_Merged = Sequence[tuple[int, int, int]]
"""Cells that are merged downwards: the first and the last row, and the column, from 0."""


def _merged(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> _Merged:
    """Return the cells of a sheet that are merged over several rows, by their first row."""
    found: list[tuple[int, int, int]] = []
    kept = b""
    if not _SHEET.search(member.filename):
        return found
    try:
        with archive.open(member) as stream:
            while (block := stream.read(_BLOCK)) and len(found) < _MOST_MERGED:
                kept = kept[-_LONGEST_MERGE:] + block
                for one in _MERGE.finditer(kept):
                    column = reduce(lambda number, letter: 26 * number + letter - 64, one[1], 0) - 1
                    found.append((int(one[2]), int(one[3]), column))
    except ZIP_ERRORS:
        return []  # openpyxl says what is damaged
    return sorted({each for each in found if each[0] < each[1]})


def _rows(book: "Workbook", merged: Mapping[str, _Merged], settings: InputSettings) -> Iterator[Row | Lost]:
    tables = 0
    text = _Text(settings)
    cells = _Counter()
    for sheet in book.worksheets:
        rows = _filled(sheet, merged.get(getattr(sheet, "_worksheet_path", "").lstrip("/"), ()), cells)
        first = next(rows, None)
        if first is None:
            continue
        columns = ["" if cell is None else str(cell).strip() for cell in first]
        if settings.text_column not in columns:
            text.add(sheet.title, chain([first], rows))
            continue
        tables += 1
        within = clean(sheet.title) if len(book.worksheets) > 1 else ""
        try:
            refuse_doubles(columns)
            for row in rows_with_text(_records(columns, rows), settings):
                yield replace(row, within=within)
        except Unreadable as error:
            if not within:
                raise
            yield Lost(None, error.reason, error.detail, within)
    if text.found:
        title = as_title(book.properties.title)
        yield Row(None, None, title, text.found.text(), {}, tuple(text.places))
    elif not tables:
        raise Unreadable("empty", "no cell of the workbook has content")


class _Counter:
    """Counts the cells that were read."""

    def __init__(self) -> None:
        self._number = 0

    def add(self, number: int) -> None:
        self._number += number
        if self._number > MAX_CELLS:
            raise Unreadable(f"more than {MAX_CELLS} cells", "the rest was not read")


def _filled(sheet: Any, merged: _Merged, cells: _Counter) -> Iterator[_Cells]:  # noqa: ANN401  (no type)
    """Yield the rows that are not empty, without the empty cells at their ends; cells merged downwards are filled."""
    waiting = list(reversed(merged))
    filled: dict[int, tuple[int, object]] = {}
    sheet.reset_dimensions()  # a sheet's stated size may be wrong, and cost memory
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > _MAX_ROWS:
            raise Unreadable("damaged workbook", f"more than {_MAX_ROWS} rows in a sheet")
        cells.add(max(1, len(row) + len(filled)))
        if waiting or filled:
            row, filled = _with_merged(number, row, waiting, filled)
        width = len(row)
        while width and (row[width - 1] is None or row[width - 1] == ""):
            width -= 1
        if width:
            yield tuple(map(_value, row[:width]))


def _with_merged(
    number: int, row: _Cells, waiting: list[tuple[int, int, int]], filled: dict[int, tuple[int, object]]
) -> tuple[_Cells, dict[int, tuple[int, object]]]:
    """Return a row with the cells that are merged with those above it, and what holds for the rows below, by column."""
    filled = {column: (last, value) for column, (last, value) in filled.items() if last >= number}
    while waiting and waiting[-1][0] <= number:
        _, last, column = waiting.pop()
        if column < len(row) and row[column] is not None:
            filled[column] = (last, row[column])
    if filled and any(cell is not None for cell in row):
        row = tuple(filled[at][1] if cell is None and at in filled else cell for at, cell in enumerate(row))
    return row, filled


def _value(cell: object) -> object:
    """Return a date for a date and time at midnight."""
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        return cell.date()
    return str(cell) if isinstance(cell, datetime.timedelta) else cell


def _records(columns: Sequence[str], rows: Iterator[_Cells]) -> Iterator[tuple[int, Record]]:
    for number, row in enumerate(rows, start=1):
        cells = chain(row, repeat(None))
        yield number, {column: cell for column, cell in zip(columns, cells, strict=False) if column}


class _Text:
    """Collects the text of sheets, and the place where every sheet begins."""

    def __init__(self, settings: InputSettings) -> None:
        self.found = RecordText(settings)
        self.places: list[Place] = []

    def add(self, name: str, rows: Iterator[_Cells]) -> None:
        """Add a sheet; raises Unreadable if the text becomes too long."""
        start: int | None = None
        lines = map(_cells, rows)
        first, second = next(lines, []), next(lines, [])
        while sum(map(bool, first)) == 1 and len(second) > 1:  # a title above the table
            at = self.found.add_text(" ".join(first).strip())
            start = at if start is None else start
            first, second = second, next(lines, [])
        names = first if _names_columns(first, second) else []
        for row in chain([] if names else [first], [second], lines):
            if names:
                at = self.found.add_text(labelled(_by_column(names, row)))
            else:
                at = self.found.add_text(" | ".join(dropwhile(operator.not_, row)))
            if start is None and any(row):
                start = at
        if start is not None:
            self.places.append(Place(start, "sheet", as_title(name) or "", 0))


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
