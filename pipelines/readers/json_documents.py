"""Read JSON files: one object with a text, a list of such objects, or an object that contains one such list."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.api_descriptions import read_api
from conspectus.pipelines.readers.chats import read_chat
from conspectus.pipelines.readers.encodings import Unreadable, open_text
from conspectus.pipelines.readers.plain import read_plain
from conspectus.pipelines.readers.rows import Lost, Row, listed, numbered_record, row_of, rows_with_text, too_long
from conspectus.storage.settings import InputSettings


def read_json(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the object with the text column, or the objects of a list, numbered from 1.

    The export of a chat is one text (`chats`), and so is the description of a web interface. A list may be the top
    level or the value of a key (`{"data": [...]}`), if no other list there has texts. Other JSON is read as written.
    Raises Unreadable for invalid JSON, and for a file that is larger than a text of `max_characters` could make it:
    unlike JSON Lines, the file is read whole.
    """
    value = _value(path, settings)
    if isinstance(value, dict) and settings.text_column in value:
        yield row_of(None, value, settings)
        return
    if not isinstance(value, dict | list):
        raise Unreadable("no JSON object", f"it is a {type(value).__name__}")
    if not value:
        raise Unreadable("empty")
    if (known := read_chat(path, value, settings) or read_api(value, settings)) is not None:
        yield from known
        return
    records = value if isinstance(value, list) else _records(value, settings)
    if records and _has_texts(records, settings):
        numbered = (numbered_record(number, value, "value") for number, value in enumerate(records, start=1))
        yield from rows_with_text(numbered, settings)
    else:
        yield from read_plain(path, settings)


def _value(path: Path, settings: InputSettings) -> Any:  # noqa: ANN401  (any JSON)
    limit = 6 * settings.max_characters + (1 << 20)  # a character takes up to six bytes; the rest is for other keys
    with open_text(path) as stream:
        text = stream.read(limit + 1)
    if len(text) > limit:
        raise Unreadable(too_long(settings).reason, "as .jsonl, one object a line, it can have any length")
    if not text.strip():
        raise Unreadable("empty")
    try:
        return json.loads(text)
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    except ValueError as error:
        raise Unreadable("not JSON", str(error)) from error


def _records(value: dict[str, Any], settings: InputSettings) -> list[Any] | None:
    """Return the only list of an object that contains records with a text; None if there is none."""
    lists = {key: item for key, item in value.items() if isinstance(item, list) and _has_texts(item, settings)}
    if len(lists) > 1:
        raise Unreadable("several lists of texts", f"under the keys {listed(lists)}")
    return next(iter(lists.values()), None)


def _has_texts(values: list[Any], settings: InputSettings) -> bool:
    return any(isinstance(value, dict) and settings.text_column in value for value in values)
