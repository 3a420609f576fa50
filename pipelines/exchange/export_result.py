"""The result of an export."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export.

    Attributes:
        files: The files.
        rows: The number of rows of each kind.
        notes: Sentences about content that the format has no place for, and anything else the user should know.
    """

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...] = ()
