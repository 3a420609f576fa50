"""Read and write JSON Lines files."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from conspectus.storage.errors import InputError


def rows_of(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield (file:line, value) for each line of JSON that is not blank; InputError names the invalid line."""
    for where, line in lines_of(path):
        try:
            yield where, value_of(line)
        except ValueError as error:
            raise InputError(f"{where}: {error}") from error


def lines_of(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield (file:line, bytes) for each line that is not blank; InputError if the file does not exist."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                yield f"{path}:{number}", line


def value_of(line: bytes) -> Any:  # noqa: ANN401  (any JSON value may appear in a line)
    """Return the JSON value of a line; ValueError if it is invalid or nested too deeply."""
    try:
        return json.loads(line.decode("utf-8-sig"))
    except RecursionError as error:
        raise ValueError("not JSON: it is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from error
