"""What every export uses: its result, the columns of a record, and the communities of an entity."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community

OF_NODES = ("name", "type", "types", "description", "frequency", "degree")
OF_EDGES = ("predicate", "description", "weight", "strength", "chunk_ids")
"""The columns of entities and of relations in a graph."""


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


def communities_of(index: StoredIndex) -> dict[str, dict[str, str]]:
    """Return the id of each entity's community on every level, by the entity's id: {"c0": ..., "c1": ...}."""
    found: dict[str, dict[str, str]] = {}
    for community in sorted(index.rows(Community), key=lambda each: each.level):
        for id_ in community.entity_ids:
            found.setdefault(id_, {})[f"c{community.level}"] = community.id
    return found
