"""What mentions, claims and communities join, as rows instead of ids: arrays made from the tables.

Those of a large index are made once, and mapped (see `derived`).
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.storage.appended_array import append_each
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Rows, SmallInts, gather
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Merge, Relation, Report
from conspectus.storage.spilled import array_of
from conspectus.storage.tables import arrow_of, codes_of, rows_among, rows_of_ids
from conspectus.storage.text.normalise import entity_key, title_names
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_PAIRS_AT_ONCE = 1 << 19
MENTIONS_AT_ONCE = 1 << 20
"""Mentions whose ids are looked up together: each time all known ids are read again."""
_LISTS_AT_ONCE = 1 << 17
FORM = 2
"""Raised when the content of the files changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Ascending members (m,) of groups: those of group i are `members[starts[i]:starts[i + 1]]`."""

    starts: Ints
    members: Ints

    @classmethod
    def of(cls, groups: "NDArray[np.integer]", members: "NDArray[np.integer] | None", n_groups: int) -> "Groups":
        """Return the distinct pairs of a group and a member; a negative number is none.

        Args:
            groups: (p,) the group of each pair.
            members: (p,) its member; None if that is the number of the pair.
            n_groups: the number of groups.

        >>> Groups.of(np.array([1, 0, 1, 1]), np.array([5, 4, 5, -1]), 2)[1].tolist()
        [5]
        """
        pairs = array_of(len(groups), np.int64)
        for start in range(0, len(groups), _PAIRS_AT_ONCE):
            group = groups[start : start + _PAIRS_AT_ONCE].astype(np.int64)
            own = np.arange(start, start + len(group)) if members is None else members[start : start + len(group)]
            pairs.append((group << 32 | own)[(group >= 0) & (own >= 0)])
        return cls.of_pairs(pairs.array(), n_groups)

    @classmethod
    def of_pairs(cls, pairs: Ints, n_groups: int) -> "Groups":
        """Return the distinct pairs, each `group << 32 | member`; their array is used up. Many spill.

        >>> Groups.of_pairs(np.array([1 << 32 | 5, 4, 1 << 32 | 5]), 2)[1].tolist()
        [5]
        """
        pairs.sort()  # in a third of the time of two columns
        distinct, last = array_of(len(pairs), np.int64), -1
        for start in range(0, len(pairs), _PAIRS_AT_ONCE):
            block = pairs[start : start + _PAIRS_AT_ONCE]
            distinct.append(block[np.diff(block, prepend=last) != 0])
            last = block[-1]
        members = distinct.array()
        starts = np.searchsorted(members, np.arange(n_groups + 1) << 32)
        members &= 0xFFFFFFFF
        return cls(starts, members)

    def __getitem__(self, group: int) -> Ints:
        """Return the members of a group, ascending."""
        members: Ints = self.members[self.starts[group] : self.starts[group + 1]]
        return members

    def __len__(self) -> int:
        """Return the number of groups."""
        return len(self.starts) - 1

    def of_each(self, groups: Rows) -> tuple[Rows, Ints]:
        """Return (places in `groups`, members): the members of some groups, one group after the other.

        >>> Groups.of(np.array([1, 0, 1]), np.array([5, 4, 6]), 2).of_each(np.array([1, 1]))
        (array([0, 0, 1, 1]), array([5, 6, 5, 6]))
        """
        counts, entries = gather(self.starts, groups)
        return np.repeat(np.arange(len(groups)), counts), self.members[entries]


def chunks_by_entity(
    entity_ids: "pa.ChunkedArray", chunk_ids: "pa.ChunkedArray | pa.Array", mentions: Sequence[Mention]
) -> Groups:
    """Return the rows of the chunks that mention each entity, both in the order of their ids."""
    table = arrow_of(Mention, mentions, ["entity_id", "chunk_id"])
    pairs = array_of(len(table), np.int64)
    for start in range(0, len(table), MENTIONS_AT_ONCE):
        block = table.slice(start, MENTIONS_AT_ONCE)
        entities = rows_of_ids(block["entity_id"], entity_ids, optional=True)
        pairs.append((entities << 32 | rows_of_ids(block["chunk_id"], chunk_ids))[entities >= 0])
    return Groups.of_pairs(pairs.array(), len(entity_ids))


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

    chunks: SmallInts
    entities: SmallInts
    relations: SmallInts
    short: SmallInts
    sources: SmallInts
    targets: SmallInts
    documents: SmallInts


@per_index
def joined(index: StoredIndex) -> Joined:
    """Return the rows that mentions, relations and chunks refer to."""
    if not index.is_mapped(Mention):
        return _joined(index)
    return Joined(*_arrays(index, [field.name for field in fields(Joined)]))


@per_index
def chunks_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the chunks that mention each entity, by its row."""
    return _groups(index, "chunks-of-entities")


@per_index
def mentions_of_chunks(index: StoredIndex) -> Groups:
    """Return the rows of the mentions in each chunk, by its row."""
    return _groups(index, "mentions-of-chunks")


@per_index
def mentions_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each entity, by its row."""
    return _groups(index, "mentions-of-entities")


@per_index
def mentions_of_relations(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each relation, by its row."""
    return _groups(index, "mentions-of-relations")


@per_index
def claims_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the claims with each entity as subject or object, by its row."""
    return _groups(index, "claims-of-entities")


@per_index
def parents_of_communities(index: StoredIndex) -> SmallInts:
    """Return the row of the first appearance of each community's parent (g,), -1 for none."""
    if not index.is_mapped(Mention):
        return _parents_of_communities(index)
    return _arrays(index, [_PARENTS])[0]


@per_index
def entities_of_titles(index: StoredIndex) -> SmallInts:
    """Return the row of the entity that has the name in each document's title (d,), -1 for none."""
    if not index.is_mapped(Mention):
        return _entities_of_titles(index)
    return _arrays(index, [_TITLES])[0]


@per_index
def communities_of_chunks(index: StoredIndex) -> Groups:
    """Return the rows of the communities that each chunk belongs to, each by its first appearance."""
    return _groups(index, "communities-of-chunks")


@per_index
def reports_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the reports on communities that contain each entity, by its row."""
    return _groups(index, "reports-of-entities")


@per_index
def reports_of_levels(index: StoredIndex) -> Groups:
    """Return the rows of the reports on the communities of each level, the coarsest first.

    A community that is repeated from a coarser level has the report of its first appearance.
    """
    return _groups(index, "reports-of-levels")


_PARENTS = "parents-of-communities"
_TITLES = "entities-of-titles"


def _groups(index: StoredIndex, name: str) -> Groups:
    if index.is_mapped(Mention):
        return Groups(*_arrays(index, (f"{name}.starts", f"{name}.members")))
    if name in _OF_MENTIONS:
        return _OF_MENTIONS[name](index, joined(index))
    return _OF_TABLES[name](index)


def _arrays(index: StoredIndex, names: Sequence[str]) -> "list[NDArray[Any]]":
    folder = derived_folder(index, "joins", FORM, lambda place: _write(index, place))
    try:
        return [np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in names]
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _write(index: StoredIndex, folder: Path) -> None:
    folder.mkdir()

    def save(name: str, array: "NDArray[Any]") -> "NDArray[Any]":
        np.save(folder / f"{name}.npy", array)
        saved: NDArray[Any] = np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray)
        return saved

    found = _joined(index, save)
    save(_PARENTS, _parents_of_communities(index))
    save(_TITLES, _entities_of_titles(index))
    makers = {name: partial(make, index, found) for name, make in _OF_MENTIONS.items()}
    makers |= {name: partial(make, index) for name, make in _OF_TABLES.items()}
    for name, make in makers.items():  # one after the other: together they are as large as the mentions
        groups = make()
        save(f"{name}.starts", groups.starts)
        save(f"{name}.members", groups.members)


def _chunks_of_entities(index: StoredIndex, found: Joined) -> Groups:
    return _pairs(index, Entity, found.entities, found.chunks)


def _mentions_of_chunks(index: StoredIndex, found: Joined) -> Groups:
    return _pairs(index, Chunk, found.chunks)


def _mentions_of_entities(index: StoredIndex, found: Joined) -> Groups:
    return _pairs(index, Entity, found.entities)


def _mentions_of_relations(index: StoredIndex, found: Joined) -> Groups:
    return _pairs(index, Relation, found.relations)


def _claims_of_entities(index: StoredIndex) -> Groups:
    ends = np.concatenate([_rows_of(index, Claim, column, Entity) for column in ("subject_id", "object_id")])
    claims = np.tile(np.arange(len(ends) // 2), 2)
    return _pairs(index, Entity, ends, claims)


def _reports_of_communities(index: StoredIndex) -> SmallInts:
    communities = index.arrow(Community, "id").column("id")
    return rows_among(communities, index.arrow(Report, "community_id").column("community_id"))


def _parents_of_communities(index: StoredIndex) -> SmallInts:
    parents = _rows_of(index, Community, "parent_id", Community)
    return np.append(_first_appearances(index), np.int32(-1))[parents]


def _entities_of_titles(index: StoredIndex) -> SmallInts:
    import pyarrow as pa

    codes, titles = codes_of(index.arrow(Document, "title").column("title"))
    ids = [entity_id(entity_key(title_names(title)[0])) if title.strip() else "" for title in titles]
    found = pa.chunked_array([pa.array(ids, pa.string())])
    return rows_among(found, index.arrow(Entity, "id").column("id"))[codes]


def _first_appearances(index: StoredIndex) -> SmallInts:
    repeated = index.arrow(Community, "same_as").column("same_as").is_valid().to_numpy()
    own = np.arange(len(repeated), dtype=np.int32)
    return np.where(repeated, _rows_of(index, Community, "same_as", Community), own)


def _communities_of_chunks(index: StoredIndex) -> Groups:
    first = _first_appearances(index)
    communities, chunks = _listed(index, "chunk_ids", Chunk, np.flatnonzero(first == np.arange(len(first))))
    return _pairs(index, Chunk, chunks, communities)


def _reports_of_entities(index: StoredIndex) -> Groups:
    report_of = _reports_of_communities(index)
    communities, entities = _listed(index, "entity_ids", Entity, np.flatnonzero(report_of >= 0))
    return _pairs(index, Entity, entities, report_of[communities])


def _listed(index: StoredIndex, column: str, target: type, communities: Rows) -> tuple[SmallInts, SmallInts]:
    """Return (communities, rows of the target table): what some communities list in a column of ids."""
    from pyarrow import compute

    lists = index.arrow(Community, column).column(column)
    known = index.arrow(target, "id").column("id")
    wanted = np.zeros(len(lists), np.bool_)
    wanted[communities] = True
    n_listed = int(compute.sum(compute.list_value_length(lists)).as_py() or 0)
    listed = array_of(n_listed, np.int32), array_of(n_listed, np.int32)
    for start in range(0, len(lists), _LISTS_AT_ONCE):
        block = lists.slice(start, _LISTS_AT_ONCE)  # of all lists: to take some first would copy the ids in them
        owners = np.repeat(np.arange(start, start + len(block)), compute.list_value_length(block).to_numpy())
        rows = rows_among(compute.list_flatten(block), known)
        kept = wanted[owners] & (rows >= 0)
        append_each(listed, (owners[kept], rows[kept]))
    found, rows = (column.array() for column in listed)
    return found, rows


def _reports_of_levels(index: StoredIndex) -> Groups:
    levels = index.arrow(Community, "level").column("level").to_numpy().astype(np.int64)
    reports = np.append(_reports_of_communities(index), -1)[_first_appearances(index)]
    return Groups.of(levels, reports, int(levels.max(initial=-1)) + 1)


_OF_MENTIONS: Mapping[str, Callable[[StoredIndex, Joined], Groups]] = {
    "chunks-of-entities": _chunks_of_entities,
    "mentions-of-chunks": _mentions_of_chunks,
    "mentions-of-entities": _mentions_of_entities,
    "mentions-of-relations": _mentions_of_relations,
}
_OF_TABLES: Mapping[str, Callable[[StoredIndex], Groups]] = {
    "claims-of-entities": _claims_of_entities,
    "communities-of-chunks": _communities_of_chunks,
    "reports-of-entities": _reports_of_entities,
    "reports-of-levels": _reports_of_levels,
}
"""How each kind of groups is made, by the name of its files: from what mentions refer to, or from tables alone."""


def _pairs(index: StoredIndex, owner: type, groups: "NDArray[Any]", members: "NDArray[Any] | None" = None) -> Groups:
    """Return the members of the rows of a table (see `Groups.of`)."""
    n_rows = index.manifest.rows[StoredIndex.table_name(owner)]
    return Groups.of(groups, members, n_rows)


def _joined(index: StoredIndex, kept: "Callable[[str, NDArray[Any]], NDArray[Any]]" = lambda _, rows: rows) -> Joined:
    """Return the rows that ids refer to; each column is kept as soon as it is made."""

    def rows_of(name: str, record: type, column: str, target: type) -> SmallInts:
        return kept(name, _rows_of(index, record, column, target))

    return Joined(
        chunks=rows_of("chunks", Mention, "chunk_id", Chunk),
        entities=rows_of("entities", Mention, "entity_id", Entity),
        relations=rows_of("relations", Mention, "relation_id", Relation),
        short=kept("short", _short_forms(index)),
        sources=rows_of("sources", Relation, "source_id", Entity),
        targets=rows_of("targets", Relation, "target_id", Entity),
        documents=rows_of("documents", Chunk, "document_id", Document),
    )


def _rows_of(index: StoredIndex, record: type, column: str, target: type) -> SmallInts:
    """Return the row of the target table that each id of a column names, -1 for none."""
    return rows_among(index.arrow(record, column).column(column), index.arrow(target, "id").column("id"))


def _short_forms(index: StoredIndex) -> SmallInts:
    """Return which mentions are short forms of titles.

    Mentions by a name that resolution merged into another are not: they name the entity themselves. A merged mention
    keeps the id that it had under the alias, which distinguishes it from the short form of a title.
    """
    import pyarrow as pa
    from pyarrow import compute

    table = index.arrow(Mention, "match", "entity_id")
    short: SmallInts = compute.equal(table.column("match"), "alias").to_numpy().astype(np.int32)
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
