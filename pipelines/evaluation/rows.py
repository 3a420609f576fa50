"""Files of one JSON value a line."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from storage.errors import InputError


def rows_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (file:line, value) for each line of JSON that is not blank; InputError names the line that is wrong."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                where = f"{path}:{number}"
                try:
                    yield where, json.loads(line.decode("utf-8-sig"))
                except ValueError as error:
                    raise InputError(f"{where}: not JSON: {error}") from error
