"""What an export has written."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Exported:
    """The files of an export, and how many rows of each kind are in them.

    `notes` say in words what the format has no place for, or what else whoever ordered the export should know.
    """

    files: tuple[Path, ...]
    rows: dict[str, int]
    notes: tuple[str, ...] = ()
