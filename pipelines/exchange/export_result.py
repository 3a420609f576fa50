"""The result of an export."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportResult:
    """What an export has written.

    Attributes:
        files: The files.
        rows: The number of rows of each kind.
        notes: Sentences about what the format has no place for, and whatever else the user should know.
    """

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...] = ()
