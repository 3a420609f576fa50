"""What mentions join, as rows instead of ids: arrays made from the tables of mentions, relations and chunks.

Those of a large index are made once, and mapped (see `derived`).
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, runs
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import mention_id
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Document, Entity, Mention, Merge, Relation
from conspectus.storage.tables import arrow_of, codes_of
from numpy.typing import NDArray

Codes = NDArray[np.int32]

FORM = 2
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
        order, first = runs(groups, members)
        distinct = order[first]
        starts = np.zeros(n_groups + 1, np.int64)
        np.cumsum(np.bincount(groups[distinct], minlength=n_groups), out=starts[1:])
        return cls(starts, members[distinct])

    def __getitem__(self, group: int) -> Ints:
        """Return the members of a group, ascending."""
        members: Ints = self.members[self.starts[group] : self.starts[group + 1]]
        return members


def chunks_by_entity(entity_ids: Sequence[str], chunk_ids: Sequence[str], mentions: Sequence[Mention]) -> Groups:
    """Return the rows of the chunks that mention each entity, both in the order of their ids."""
    table = arrow_of(Mention, mentions, ["entity_id", "chunk_id"])
    table = table.filter(table["entity_id"].is_valid())
    rows = []
    for column, ids in (("entity_id", entity_ids), ("chunk_id", chunk_ids)):
        codes, found = codes_of(table[column])
        row_of = {id_: row for row, id_ in enumerate(ids)}
        rows.append(np.array([row_of[id_] for id_ in found], np.int64)[codes])
    return Groups.of(rows[0], rows[1], len(entity_ids))


@dataclass(frozen=True, slots=True, eq=False)
class Joined:
    """The rows that m mentions, r relations and c chunks refer to, int32; -1 where they refer to none.

    Attributes:
        chunks: (m,) the chunk of each mention.
        entities: (m,) its entity.
        relations: (m,) its relation.
        short: (m,) int32, 1 if a mention is the short form of a title ("Apollo" of "Apollo (band)"), else 0.
        sources: (r,) the entity that each relation starts from.
        targets: (r,) the entity that it leads to.
        documents: (c,) the document of each chunk.
    """

    chunks: Codes
    entities: Codes
    relations: Codes
    short: Codes
    sources: Codes
    targets: Codes
    documents: Codes


@per_index
def joined(index: StoredIndex) -> Joined:
    """Return the rows that mentions, relations and chunks refer to."""
    if not index.is_mapped(Mention):
        return _joined(index)
    return Joined(*_arrays(index, [field.name for field in fields(Joined)]))


@per_index
def chunks_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the chunks that mention each entity, by its row."""
    return _of_entities(index, joined(index)) if not index.is_mapped(Mention) else Groups(*_arrays(index, _ENTITIES))


@per_index
def mentions_of_relations(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each relation, by its row."""
    return _of_relations(index, joined(index)) if not index.is_mapped(Mention) else Groups(*_arrays(index, _RELATIONS))


_ENTITIES = ("entities.starts", "entities.members")
_RELATIONS = ("relations.starts", "relations.members")


def _arrays(index: StoredIndex, names: Sequence[str]) -> "list[NDArray[Any]]":
    folder = derived_folder(index, "mentioned", FORM, lambda place: _write(index, place))
    try:
        return [np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in names]
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _write(index: StoredIndex, folder: Path) -> None:
    folder.mkdir()
    found = _joined(index)
    arrays = {field.name: getattr(found, field.name) for field in fields(Joined)}
    of_entities, of_relations = _of_entities(index, found), _of_relations(index, found)
    arrays |= dict(zip(_ENTITIES, (of_entities.starts, of_entities.members), strict=True))
    arrays |= dict(zip(_RELATIONS, (of_relations.starts, of_relations.members), strict=True))
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array)


def _of_entities(index: StoredIndex, found: Joined) -> Groups:
    known = (found.entities >= 0) & (found.chunks >= 0)
    n_entities = index.manifest.rows["entities"]
    return Groups.of(found.entities[known].astype(np.int64), found.chunks[known].astype(np.int64), n_entities)


def _of_relations(index: StoredIndex, found: Joined) -> Groups:
    mentions = np.flatnonzero(found.relations >= 0)
    return Groups.of(found.relations[mentions].astype(np.int64), mentions, index.manifest.rows["relations"])


def _joined(index: StoredIndex) -> Joined:
    rows = {
        (record, column): _rows_of(index, record, column, target)
        for record, column, target in (
            (Mention, "chunk_id", Chunk),
            (Mention, "entity_id", Entity),
            (Mention, "relation_id", Relation),
            (Relation, "source_id", Entity),
            (Relation, "target_id", Entity),
            (Chunk, "document_id", Document),
        )
    }
    chunks, entities, relations, *others = rows.values()
    return Joined(chunks, entities, relations, _short_forms(index), *others)


def _rows_of(index: StoredIndex, record: type, column: str, target: type) -> Codes:
    """Return the row of the target table that each id of a column names, -1 for none."""
    from pyarrow import compute

    ids = index.arrow(record, column).column(column)
    rows = compute.index_in(ids, value_set=index.arrow(target, "id").column("id"))
    return np.asarray(compute.fill_null(rows, -1).to_numpy(), np.int32)


def _short_forms(index: StoredIndex) -> Codes:
    """Return which mentions are short forms of titles.

    Mentions by a name that resolution merged into another are not: they name the entity themselves. A merged mention
    keeps the id that it had under the alias, which distinguishes it from the short form of a title.
    """
    import pyarrow as pa
    from pyarrow import compute

    table = index.arrow(Mention, "match", "entity_id")
    short: Codes = compute.equal(table.column("match"), "alias").to_numpy().astype(np.int32)
    aliases: defaultdict[str, list[str]] = defaultdict(list)
    for merge in index.rows(Merge):
        if not merge.undone:
            aliases[merge.entity_id].append(merge.alias_id)
    if not aliases:
        return short
    of_merged = compute.is_in(table.column("entity_id"), value_set=pa.array(sorted(aliases), pa.string()))
    rows = np.flatnonzero(short & of_merged.to_numpy())
    names = ("id", "chunk_id", "entity_id", "start", "end")
    named = index.arrow(Mention, *names).take(pa.array(rows))
    columns = (named.column(name).to_pylist() for name in names)
    for row, (id_, chunk, owner, start, end) in zip(rows.tolist(), zip(*columns, strict=True), strict=True):
        short[row] = all(id_ != mention_id(chunk, alias, start, end) for alias in aliases[owner])
    return short
