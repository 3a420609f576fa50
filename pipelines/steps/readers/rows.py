"""What every format is read into: texts with what is told about them, before they are documents."""

import datetime
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.steps.readers.encodings import Unreadable, clean
from storage.records import Place
from storage.settings import InputSettings

Record = Mapping[str, object]
"""Columns and their values, as a format holds them."""

_LONGEST_TITLE = 300


@dataclass(frozen=True, slots=True)
class Row:
    """A text. `number` counts from 1, and is None where the file is the text.

    `within` is the path of the text inside its file (a member of an archive, an attachment), "" for none.
    """

    number: int | None
    id: str | None
    title: str | None
    text: str
    metadata: Mapping[str, str]
    places: tuple[Place, ...] = ()
    within: str = ""


@dataclass(frozen=True, slots=True)
class Lost:
    """A row, or a part of a file, that cannot be read, and why. `number` and `within` as for a row."""

    number: int | None
    reason: str
    detail: str = ""
    within: str = ""


def row_of(number: int, record: Record, settings: InputSettings) -> Row | Lost:
    """Return the row that a record with a text column is, or why it is none."""
    text = record[settings.text_column]
    if text is None or text == "":
        return Lost(number, "empty")
    if not isinstance(text, str):
        return Lost(number, "the text is not a string", f"it is a {type(text).__name__}")
    if len(text) > settings.max_characters:
        return Lost(number, *too_long(settings).why)
    text = clean(text)
    if not text.strip():
        return Lost(number, "empty")
    named = strings({key: record.get(key) for key in (settings.id_column, settings.title_column)})
    used = (settings.text_column, settings.id_column, settings.title_column)
    return Row(
        number,
        named.get(settings.id_column, "").strip() or None,
        as_title(named.get(settings.title_column)),
        text,
        strings({name: value for name, value in record.items() if name not in used}),
    )


def as_title(text: str | None) -> str | None:
    """Return a text as a title: on one line and of bounded length; None where nothing is left."""
    return " ".join(clean(text).split())[:_LONGEST_TITLE].strip() or None if text else None


def strings(record: Record) -> dict[str, str]:
    """Return the values as strings (lists and mappings as JSON), without those that are missing."""
    values = {clean(str(name)): _string(value) for name, value in record.items()}
    return {name: clean(value) for name, value in values.items() if value is not None}


def too_long(settings: InputSettings) -> Unreadable:
    """Return the error that a text past the limit is."""
    return Unreadable(f"longer than input.max_characters ({settings.max_characters})")


def _string(value: Any) -> str | None:  # noqa: ANN401  (whatever a format can hold)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, Mapping | Sequence | set) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, default=_plain)
    return str(value)


def _plain(value: object) -> object:
    return sorted(map(str, value)) if isinstance(value, set) else str(value)
