"""Read texts from tables: CSV, TSV, JSON Lines and Parquet, row by row.

Rows are numbered from 1, JSON Lines by line, so that a number identifies the place.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from conspectus.pipelines.readers.encodings import Unreadable, open_text
from conspectus.pipelines.readers.rows import (
    Draft,
    Lost,
    Record,
    Row,
    labelled,
    named_apart,
    no_column,
    numbered_record,
    rows_with_text,
    strings,
)
from conspectus.storage.settings import InputSettings

_ROWS_AT_ONCE = 8
"""Rows of a Parquet file in memory: a text stored once for a thousand rows is copied for every row."""

_DELIMITERS = ",;\t|"
_DELIMITERS_OF_TSV = "\t,;|"


def read_csv(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a CSV or TSV file. The delimiter is the one of , ; tab | with which the text column exists.

    For .tsv files the tab is tried first. A table without that column becomes one text, a paragraph a row, with the
    column names; its delimiter is the one that yields the most columns.
    """
    delimiters = _DELIMITERS_OF_TSV if path.suffix.lower() == ".tsv" else _DELIMITERS
    with open_text(path, newline="") as stream:
        # A field may be as long as a text; the limit is the module's, so it is restored.
        usual = csv.field_size_limit()
        csv.field_size_limit(min(max(settings.max_characters, usual), 2**31 - 1))
        try:
            records = _csv_records(stream, delimiters, settings)
            columns = next(records)
            assert isinstance(columns, list)
            rows = (record for record in records if not isinstance(record, list))
            yield from (rows_with_text if settings.text_column in columns else _one_text)(rows, settings)
        except csv.Error as error:
            raise Unreadable("not CSV", str(error)) from error
        finally:
            csv.field_size_limit(usual)


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


def _csv_records(
    stream: IO[str], delimiters: str, settings: InputSettings
) -> Iterator[list[str] | tuple[int, Record] | Lost]:
    """Yield the names of the columns, then the numbered records."""
    header = next((line for line in stream if line.strip()), "")
    if not header:
        raise Unreadable("empty")
    columns, delimiter = _csv_columns(header, delimiters, settings.text_column)
    columns = named_apart(columns)
    yield columns
    reader = csv.reader(stream, delimiter=delimiter, strict=True)
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
            record = zip(columns, values, strict=False)
            yield number, {column: value for column, value in record if column}


def _csv_columns(header: str, delimiters: str, text_column: str) -> tuple[list[str], str]:
    """Return the columns and the delimiter: the first with which the text column exists, or that yields the most."""
    found = []
    for delimiter in delimiters:
        columns = [name.strip() for name in next(csv.reader([header], delimiter=delimiter), [])]
        if text_column in columns:
            return columns, delimiter
        found.append((columns, delimiter))
    return max(found, key=lambda each: len(each[0]))


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
