"""What mentions, claims and communities join, as rows instead of ids: arrays made from the tables.

Those of a large index are made once, and mapped (see `derived`).
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Bools, Ints, Rows, SmallInts, gather
from conspectus.storage.derived import derived_folder
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import entity_id, mention_id
from conspectus.storage.index import StoredIndex, per_index
from conspectus.storage.records import Chunk, Claim, Community, Document, Entity, Mention, Merge, Relation, Report
from conspectus.storage.spilled import array_of
from conspectus.storage.tables import arrow_of, codes_of, rows_among
from conspectus.storage.text.normalise import entity_key, title_names
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_PAIRS_AT_ONCE = 1 << 19
FORM = 3
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
        members = np.arange(len(groups)) if members is None else members
        are_some = (groups >= 0) & (members >= 0)
        return cls.of_pairs(groups[are_some].astype(np.int64) << 32 | members[are_some], n_groups)

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
    entities, chunks = rows_among(table["entity_id"], entity_ids), rows_among(table["chunk_id"], chunk_ids)
    return Groups.of(entities, chunks, len(entity_ids))


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


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    rows: SmallInts


Arrays = TypeVar("Arrays", Joined, Groups, _Column)


@per_index
def joined(index: StoredIndex) -> Joined:
    """Return the rows that mentions, relations and chunks refer to."""

    def made() -> Joined:
        return Joined(
            chunks=_rows_of(index, Mention, "chunk_id", Chunk),
            entities=_rows_of(index, Mention, "entity_id", Entity),
            relations=_rows_of(index, Mention, "relation_id", Relation),
            short=_short_forms(index),
            sources=_rows_of(index, Relation, "source_id", Entity),
            targets=_rows_of(index, Relation, "target_id", Entity),
            documents=_rows_of(index, Chunk, "document_id", Document),
        )

    return _kept(index, "references", Joined, made)


@per_index
def chunks_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the chunks that mention each entity, by its row."""
    return _groups(index, "chunks-of-entities", Entity, lambda: (joined(index).entities, joined(index).chunks))


@per_index
def mentions_of_chunks(index: StoredIndex) -> Groups:
    """Return the rows of the mentions in each chunk, by its row."""
    return _groups(index, "mentions-of-chunks", Chunk, lambda: (joined(index).chunks, None))


@per_index
def mentions_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each entity, by its row."""
    return _groups(index, "mentions-of-entities", Entity, lambda: (joined(index).entities, None))


@per_index
def mentions_of_relations(index: StoredIndex) -> Groups:
    """Return the rows of the mentions of each relation, by its row."""
    return _groups(index, "mentions-of-relations", Relation, lambda: (joined(index).relations, None))


@per_index
def claims_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the claims with each entity as subject or object, by its row."""

    def pairs() -> "_Pairs":
        ends = np.concatenate([_rows_of(index, Claim, column, Entity) for column in ("subject_id", "object_id")])
        return ends, np.tile(np.arange(len(ends) // 2), 2)

    return _groups(index, "claims-of-entities", Entity, pairs)


@per_index
def parents_of_communities(index: StoredIndex) -> SmallInts:
    """Return the row of the first appearance of each community's parent (g,), -1 for none."""

    def made() -> _Column:
        parents = _rows_of(index, Community, "parent_id", Community)
        return _Column(np.append(_first_appearances(index), np.int32(-1))[parents])

    return _kept(index, "parents-of-communities", _Column, made).rows


@per_index
def entities_of_titles(index: StoredIndex) -> SmallInts:
    """Return the row of the entity that has the name in each document's title (d,), -1 for none."""

    def made() -> _Column:
        import pyarrow as pa

        codes, titles = codes_of(index.arrow(Document, "title").column("title"))
        ids = [entity_id(entity_key(title_names(title)[0])) if title.strip() else "" for title in titles]
        return _Column(rows_among(pa.array(ids, pa.string()), index.arrow(Entity, "id").column("id"))[codes])

    return _kept(index, "entities-of-titles", _Column, made).rows


@per_index
def communities_of_chunks(index: StoredIndex) -> Groups:
    """Return the rows of the communities that each chunk belongs to, each by its first appearance."""

    def pairs() -> "_Pairs":
        first = _first_appearances(index)
        communities, chunks = _listed(index, "chunk_ids", Chunk, first == np.arange(len(first)))
        return chunks, communities

    return _groups(index, "communities-of-chunks", Chunk, pairs)


@per_index
def reports_of_entities(index: StoredIndex) -> Groups:
    """Return the rows of the reports on communities that contain each entity, by its row."""

    def pairs() -> "_Pairs":
        report_of = _reports_of_communities(index)
        communities, entities = _listed(index, "entity_ids", Entity, report_of >= 0)
        return entities, report_of[communities]

    return _groups(index, "reports-of-entities", Entity, pairs)


@per_index
def reports_of_levels(index: StoredIndex) -> Groups:
    """Return the rows of the reports on the communities of each level, the coarsest first.

    A community that is repeated from a coarser level has the report of its first appearance.
    """

    def made() -> Groups:
        levels = index.arrow(Community, "level").column("level").to_numpy().astype(np.int64)
        reports = np.append(_reports_of_communities(index), -1)[_first_appearances(index)]
        return Groups.of(levels, reports, int(levels.max(initial=-1)) + 1)

    return _kept(index, "reports-of-levels", Groups, made)


ALL = (
    joined,
    chunks_of_entities,
    mentions_of_chunks,
    mentions_of_entities,
    mentions_of_relations,
    claims_of_entities,
    parents_of_communities,
    entities_of_titles,
    communities_of_chunks,
    reports_of_entities,
    reports_of_levels,
)
"""What is made once of a large index."""

_Pairs = tuple["NDArray[Any]", "NDArray[Any] | None"]
"""Groups and their members (see `Groups.of`)."""


def _groups(index: StoredIndex, name: str, owner: type, pairs: Callable[[], _Pairs]) -> Groups:
    """Return the members of each row of the table of a record."""
    n_rows = index.manifest.rows[StoredIndex.table_name(owner)]
    return _kept(index, name, Groups, lambda: Groups.of(*pairs(), n_rows))


def _kept(index: StoredIndex, name: str, kind: type[Arrays], make: Callable[[], Arrays]) -> Arrays:
    """Return arrays; those of a large index are made once, and mapped."""
    if not index.is_mapped(Mention):
        return make()
    names = [field.name for field in fields(kind)]

    def write(place: Path) -> None:
        place.mkdir()
        made = make()
        for each in names:
            np.save(place / f"{each}.npy", getattr(made, each))

    folder = derived_folder(index, "joins", f"{FORM}-{name}", write)
    try:
        return kind(*(np.load(folder / f"{each}.npy", mmap_mode="r").view(np.ndarray) for each in names))
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error


def _reports_of_communities(index: StoredIndex) -> SmallInts:
    communities = index.arrow(Community, "id").column("id")
    return rows_among(communities, index.arrow(Report, "community_id").column("community_id"))


def _first_appearances(index: StoredIndex) -> SmallInts:
    repeated = index.arrow(Community, "same_as").column("same_as").is_valid().to_numpy()
    own = np.arange(len(repeated), dtype=np.int32)
    return np.where(repeated, _rows_of(index, Community, "same_as", Community), own)


def _listed(index: StoredIndex, column: str, target: type, wanted: Bools) -> tuple[Rows, SmallInts]:
    """Return (communities, rows of the target table): what some communities list in a column of ids."""
    from pyarrow import compute

    lists = index.arrow(Community, column).column(column)
    owners = np.repeat(np.arange(len(lists)), compute.list_value_length(lists).to_numpy())
    rows = rows_among(compute.list_flatten(lists), index.arrow(target, "id").column("id"))
    kept = wanted[owners] & (rows >= 0)
    return owners[kept], rows[kept]


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
