"""The communities of a hierarchy as sets of nodes."""

from typing import NamedTuple

import numpy as np
from conspectus.storage.arrays import Ints
from conspectus.storage.graph.leiden import Hierarchy


class Group(NamedTuple):
    """A community: its number, the level that it first appears on, the community above it, and its nodes."""

    id: int
    level: int
    parent: int | None
    members: Ints
    oversized: bool


def groups_at(hierarchy: Hierarchy, level: int) -> list[Group]:
    """Return the communities of a level by id; the deepest may be -1."""
    labels = hierarchy.levels[level]
    return [
        Group(
            id_,
            int(hierarchy.first[id_]),
            int(hierarchy.parents[id_]) if hierarchy.first[id_] else None,
            np.flatnonzero(labels == id_),
            bool(hierarchy.oversized[id_]),
        )
        for id_ in np.unique(labels).tolist()
    ]
