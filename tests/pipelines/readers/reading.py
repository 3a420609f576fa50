"""Reading one file, for the tests of single formats."""

import io
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

from conspectus.pipelines.readers.encodings import Unreadable
from conspectus.pipelines.readers.formats import read_rows
from conspectus.pipelines.readers.process import file_reader
from conspectus.pipelines.readers.rows import Lost, Row
from conspectus.storage.settings import InputSettings

ReadFormat = Callable[[Path, InputSettings], Iterator[Row | Lost]]
SETTINGS = InputSettings()


def name_of(row: Row | Lost) -> str:
    return row.within if row.number is None else f"{row.within}#{row.number}"


def read(path: Path, settings: InputSettings = SETTINGS) -> tuple[dict[str, Row], dict[str, str]]:
    """Rows, and reasons of losses, by name; the reason why the rest of the file cannot be read under "!"."""
    rows: dict[str, Row] = {}
    lost: dict[str, str] = {}
    try:
        for each in read_rows(path, settings):
            assert name_of(each) not in rows or isinstance(each, Lost)
            if isinstance(each, Row):
                rows[name_of(each)] = each
            else:
                lost[name_of(each)] = each.reason
    except Unreadable as error:
        lost["!"] = error.reason
    return rows, lost


def read_apart(path: Path, seconds: float = 3.0) -> list[Row | Lost]:
    """Read a hostile file as builds do, in a process with limits."""
    with file_reader(InputSettings(max_seconds=seconds)) as read_files:
        return list(read_files([path]))


def texts(rows: dict[str, Row]) -> dict[str, str]:
    return {name: row.text for name, row in rows.items()}


def row_of(path: Path, text: str) -> Row:
    """Return the only row of a file with this text."""
    path.write_text(text, "utf-8")
    return read(path)[0][""]


def archive_of(members: dict[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return made.getvalue()


def only_row(read_format: ReadFormat, path: Path, settings: InputSettings | None = None) -> Row:
    (found,) = read_format(path, settings or InputSettings())
    assert isinstance(found, Row)
    return found


def refusal(read_format: ReadFormat, path: Path, settings: InputSettings | None = None) -> Unreadable:
    """Return why a file is refused."""
    try:
        found = list(read_format(path, settings or InputSettings()))
    except Unreadable as error:
        return error
    raise AssertionError(f"it was read: {found}")


def headings(row: Row) -> list[tuple[str, int]]:
    """Return the headings, each checked to stand where it says."""
    for place in row.places:
        if place.kind == "heading":
            assert " ".join(row.text[place.start :].split()).startswith(place.label)
    return [(place.label, place.level) for place in row.places if place.kind == "heading"]
