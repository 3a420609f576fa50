"""Which chunks mention an entity, and which mentions state a relation: arrays made from the table of mentions.

Those of a large index are made once, and mapped (see `derived`).
"""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Bools, Ints
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Entity, Mention, Relation

if TYPE_CHECKING:
    import pyarrow as pa

FORM = 1
"""Raised when the content of the files changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Ascending members (m,) of groups: those of group i are `members[starts[i]:starts[i + 1]]`."""

    starts: Ints
    members: Ints

    @classmethod
    def of(cls, groups: Ints, members: Ints, n_groups: int) -> "Groups":
        """Return the distinct pairs of a group and a member.

        >>> Groups.of(np.array([1, 0, 1]), np.array([5, 4, 5]), 2)[1].tolist()
        [5]
        """
        order = np.lexsort((members, groups))
        groups, members = groups[order], members[order]
        new = np.ones(len(groups), np.bool_)
        new[1:] = (np.diff(groups) != 0) | (np.diff(members) != 0)
        starts = np.zeros(n_groups + 1, np.int64)
        np.cumsum(np.bincount(groups[new], minlength=n_groups), out=starts[1:])
        return cls(starts, members[new])

    def __getitem__(self, group: int) -> Ints:
        """Return the members of a group, ascending."""
        members: Ints = self.members[self.starts[group] : self.starts[group + 1]]
        return members


@per_index
def chunks_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the chunks that mention each entity, by its row."""
    return _opened(index, "entities")


@per_index
def mentions_of_relations(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each relation, by its row."""
    return _opened(index, "relations")


def _opened(index: StoredIndex, name: str) -> Groups:
    if not index.is_mapped(Mention):
        return _of_entities(index) if name == "entities" else _of_relations(index)
    folder = derived_folder(index, "mentioned", FORM, lambda place: _write(index, place))
    try:
        arrays = (np.load(folder / f"{name}.{part}.npy", mmap_mode="r") for part in ("starts", "members"))
        return Groups(*(array.view(np.ndarray) for array in arrays))
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _write(index: StoredIndex, folder: Path) -> None:
    folder.mkdir()
    for name, made in (("entities", _of_entities(index)), ("relations", _of_relations(index))):
        np.save(folder / f"{name}.starts.npy", made.starts)
        np.save(folder / f"{name}.members.npy", made.members)


def _of_entities(index: StoredIndex) -> Groups:
    import pyarrow as pa

    mentions, entities = _rows_of(index, "entity_id", Entity)
    chunks = index.arrow(Mention, "chunk_id").column("chunk_id").take(pa.array(mentions))
    rows, known = _index_in(chunks, index, Chunk)
    return Groups.of(entities[known], rows, index.manifest.rows["entities"])


def _of_relations(index: StoredIndex) -> Groups:
    mentions, relations = _rows_of(index, "relation_id", Relation)
    return Groups.of(relations, mentions, index.manifest.rows["relations"])


def _rows_of(index: StoredIndex, column: str, record: type) -> tuple[Ints, Ints]:
    """Return the rows of the mentions of known owners, and the rows of the owners."""
    owners, known = _index_in(index.arrow(Mention, column).column(column), index, record)
    return np.flatnonzero(known), owners


def _index_in(ids: "pa.ChunkedArray", index: StoredIndex, record: type) -> tuple[Ints, Bools]:
    """Return the rows of the ids that a table has, and which of the ids these are."""
    from pyarrow import compute

    rows = compute.index_in(ids, value_set=index.arrow(record, "id").column("id"))
    known = compute.is_valid(rows).to_numpy()
    return np.asarray(rows.drop_null().to_numpy(), np.int64), known
