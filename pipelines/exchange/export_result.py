"""What every export uses: its result, and the columns of a record."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The files of an export, their number of rows of each kind, and notes for the user.

    Notes are about content that the format has no place for, and the like.
    """

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...] = ()


def columns(record: object, *names: str) -> dict[str, Any]:
    """Return some columns of a record by name; a tuple becomes a list."""
    cells = {name: getattr(record, name) for name in names}
    return {name: list(cell) if isinstance(cell, tuple) else cell for name, cell in cells.items()}
