"""Merges that were taken back, as the rows of an index keep them for later builds."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from conspectus.storage.index import Index
from conspectus.storage.manifest import Manifest, damaged_files
from conspectus.storage.records import Merge

TABLE = "merges"


@dataclass(frozen=True, slots=True)
class Mark:
    """Two names that stay apart, by what their ids would be as entities of their own, with the row that said so."""

    alias_id: str
    entity_id: str
    row: Merge


Marks = tuple[Mark, ...]
"""All that was taken back, sorted by the ids of their rows."""

Deciding = Callable[[Sequence[Merge]], Marks]
"""Takes the merges of the version in force and gives what is taken back from now on."""


def kept_marks(merges: Iterable[Merge]) -> Marks:
    """Return what a version has taken back."""
    rows = sorted((each for each in merges if each.undone), key=lambda each: each.id)
    return tuple(Mark(each.alias_id, each.entity_id, each) for each in rows)


def merges_of(root: Path, current: Manifest | None) -> list[Merge]:
    """Return the merges of the version in force; none where there is none, or where its table is damaged."""
    if current is None or f"{TABLE}.parquet" in damaged_files(root, current):
        return []
    return Index(root, current).rows(Merge)


def fingerprinted(marks: Marks) -> list[list[str]]:
    """Return marks as a build's fingerprint takes them in."""
    return [[each.alias_id, each.entity_id] for each in marks]


def split(group: Collection[str], marks: Marks) -> set[str]:
    """Return the members of a group that are taken out of it: of two that stay apart the one that was the alias."""
    return {each.alias_id for each in marks if each.alias_id in group and each.entity_id in group}
