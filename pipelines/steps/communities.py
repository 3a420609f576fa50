"""Detect hierarchical communities in the entity graph.

Two entities are joined by their relations (weight: number of mentions) and by the sentences that name both: a
sentence that names n entities adds 1 / (n - 1) to each pair, so that it counts once for each of them (Newman 2001,
"Scientific collaboration networks II").

When an index is updated, its communities are updated too (`communities.update`), unless the result is worse than a
fresh hierarchy.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.steps.sentences import RowsOf, Sentences, place_sentences
from conspectus.storage.appended_array import append_each
from conspectus.storage.arrays import Floats, Ints, Rows, parts_of, runs
from conspectus.storage.graph import leiden
from conspectus.storage.graph.edges import Edges, canonical_edges
from conspectus.storage.graph.incremental_leiden import Labels, changed_nodes, is_worse, losses, updated_leiden
from conspectus.storage.hashing import short_id
from conspectus.storage.index import StoredIndex
from conspectus.storage.joins import Groups, chunks_by_entity
from conspectus.storage.manifest import Manifest, damaged_files
from conspectus.storage.mapped import TableRows
from conspectus.storage.records import Chunk, Community, Document, Entity, Mention, Relation
from conspectus.storage.settings import CommunitySettings, Settings
from conspectus.storage.spilled import array_of, few_as_list, sorted_rows
from conspectus.storage.tables import arrow_of, by_id, rows_among, rows_of_ends, rows_of_ids, schema
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

MOST_RELATIONS = 1_500_000
"""With more relations, only those that documents state join entities: Leiden would need hours for all."""
_MOST_NAMES = 12
"""A sentence that names more entities is a list, and weak evidence for any pair of them."""
_RELATIONS_AT_ONCE = 1 << 19
_MEMBERS_AT_ONCE = 1 << 18
"""Entities and chunks of the communities that are made together."""


@dataclass(frozen=True, slots=True)
class Before:
    """The communities of an earlier version, and their basis: `named` has the sentence rows that name each entity.

    `named` is None if only relations joined entities.
    """

    entities: Sequence[Entity]
    relations: Sequence[Relation]
    named: RowsOf | None
    communities: Sequence[Community]


Earlier = Callable[[bool], Before]
"""Loads the previous hierarchy; the flag says whether shared sentences join entities."""


@dataclass(frozen=True, slots=True)
class Division:
    """The communities of every level, sorted by id; each level contains every entity exactly once.

    `notes` describe in words what became of the previous communities.
    """

    communities: Sequence[Community]
    notes: tuple[str, ...] = ()


def divide(
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
    sentences: Sentences | None,
    settings: CommunitySettings,
    earlier: Earlier | None = None,
) -> Division:
    """Return the communities of the entities.

    Without `sentences` the relations alone join entities, as in GraphRAG. Above `MOST_RELATIONS`, relations that no
    document states are ignored. With `earlier`, the communities of that version are updated, so that unchanged ones
    stay; if the update is worse than a fresh hierarchy (`is_worse`), the fresh one is returned, with a note.
    """
    ids = _ids(entities)
    edges = edges_of(entities, relations, sentences.placed.of_entity if sentences else None)
    hierarchy = leiden.hierarchical_leiden(
        edges,
        max_cluster_size=settings.max_cluster_size,
        seed=settings.seed,
        resolution=settings.resolution,
    )
    notes: tuple[str, ...] = ()
    if earlier and entities:
        updated = _updated(ids, edges, earlier(sentences is not None), settings)
        if updated:
            lost = losses(hierarchy, updated, edges, settings.resolution)
            if is_worse(lost):
                notes = (f"the communities were detected again: an update would lose {max(lost):.1%} of modularity",)
            else:
                hierarchy = updated
    del edges
    return Division(communities_of(hierarchy, entities, relations, mentions), notes)


def _ids(entities: Sequence[Entity]) -> "pa.ChunkedArray":
    return arrow_of(Entity, entities, ["id"])["id"]


def _updated(
    ids: "pa.ChunkedArray", edges: Edges, before: Before, settings: CommunitySettings
) -> leiden.Hierarchy | None:
    """Return the updated hierarchy of an earlier version, None if it had none."""
    if not before.communities:
        return None
    old_edges = edges_of(before.entities, before.relations, before.named)
    return updated_leiden(
        edges,
        _labels(ids, before.communities),
        changed_nodes(edges, old_edges, rows_among(_ids(before.entities), ids).astype(np.int64)),
        seed=settings.seed,
        max_cluster_size=settings.max_cluster_size,
        resolution=settings.resolution,
    )


def _labels(ids: "pa.ChunkedArray", communities: Sequence[Community]) -> list[Labels]:
    """Return the labels of each level by entity row, -1 for new entities."""
    from pyarrow import compute

    table = arrow_of(Community, communities, ["level", "entity_ids"])
    levels, lists = table["level"].to_numpy(), table["entity_ids"]
    rows = rows_among(compute.list_flatten(lists), ids)
    community = np.repeat(np.arange(len(table)), compute.list_value_length(lists).to_numpy())
    labels = np.full((int(levels.max()) + 1, len(ids)), -1, np.int64)
    labels[levels[community][rows >= 0], rows[rows >= 0]] = community[rows >= 0]
    return list(labels)


def not_divided(relations: Sequence[Relation]) -> tuple[str, ...]:
    """Return a note if `divide` ignores relations."""
    left_out = len(relations) - len(_dividing(relations))
    if not left_out:
        return ()
    return (f"{left_out:,} relations of the graph join no communities",)


def _dividing(relations: Sequence[Relation]) -> "pa.Table":
    """Return what communities need of the relations that join entities, sorted by id."""
    from pyarrow import compute

    table = arrow_of(Relation, relations, ["id", "source_id", "target_id", "weight", "chunk_ids"])
    if not isinstance(relations, TableRows):
        table = by_id(table)
    stated = compute.greater(compute.list_value_length(table["chunk_ids"]), 0)
    table = table.drop_columns("chunk_ids")
    return table if len(table) <= MOST_RELATIONS or compute.all(stated).as_py() else table.filter(stated)


def edges_of(entities: Sequence[Entity], relations: Sequence[Relation], named: RowsOf | None) -> Edges:
    """Return the edges of the entity graph.

    Args:
        entities: the entities.
        relations: the relations that join entities; of very many, only those that documents state.
        named: the sentence rows that name each entity, if shared sentences join entities.
    """
    ids, stated = _ids(entities), _dividing(relations)
    n_edges = len(stated) + (len(named.rows.members) if named else 0)
    columns = array_of(n_edges, np.int32), array_of(n_edges, np.int32), array_of(n_edges, np.float64)
    for block in chain(_related(ids, stated), _named_together(ids, named) if named else ()):
        append_each(columns, block)
    return canonical_edges(len(ids), *(column.array() for column in columns))


def _related(ids: "pa.ChunkedArray", relations: "pa.Table") -> Iterator[tuple[Rows, Rows, Floats]]:
    """Yield the entity rows of both ends of relations, and their weights."""
    for start in range(0, len(relations), _RELATIONS_AT_ONCE):
        block = relations.slice(start, _RELATIONS_AT_ONCE)
        yield *rows_of_ends(block, ids), block["weight"].to_numpy()


def _named_together(ids: "pa.ChunkedArray", named: RowsOf) -> Iterator[tuple[Rows, Rows, Floats]]:
    """Yield the pairs of entities that share a sentence, and their weights, for each number of names in a sentence."""
    own, rows = rows_of_ids(named.ids, ids), named.rows
    pairs = array_of(len(rows.members), np.int64)
    for first, last in parts_of(rows.starts):
        entities = np.repeat(own[first:last], np.diff(rows.starts[first : last + 1]))
        pairs.append(rows.members[rows.starts[first] : rows.starts[last]] << 32 | entities)
    of_sentences = Groups.of_pairs(pairs.array(), int(rows.members.max(initial=-1)) + 1)
    for first, last in parts_of(of_sentences.starts):
        starts, sizes = of_sentences.starts[first:last], np.diff(of_sentences.starts[first : last + 1])
        for size in range(2, _MOST_NAMES + 1):
            members = of_sentences.members[starts[sizes == size, None] + np.arange(size)]
            for one, other in combinations(range(size), 2):
                yield members[:, one], members[:, other], np.full(len(members), 1 / (size - 1))


def communities_of(
    hierarchy: leiden.Hierarchy, entities: Sequence[Entity], relations: Sequence[Relation], mentions: Sequence[Mention]
) -> Sequence[Community]:
    """Return the communities of every level, sorted by id; the hierarchy is of the rows of the entities."""
    return few_as_list(sorted_rows(Community, _communities(hierarchy, _ids(entities), relations, mentions)))


def _communities(
    hierarchy: leiden.Hierarchy, ids: "pa.ChunkedArray", relations: Sequence[Relation], mentions: Sequence[Mention]
) -> "Iterator[pa.Table]":
    """Yield the communities of every level, in blocks."""
    stated = _dividing(relations)
    chunk_ids = arrow_of(Mention, mentions, ["chunk_id"])["chunk_id"].unique().sort()
    made = _Communities(
        hierarchy,
        (ids.combine_chunks(), stated["id"].combine_chunks(), chunk_ids),
        chunks_by_entity(ids, chunk_ids, mentions),
    )
    ends = array_of(len(stated), np.int32), array_of(len(stated), np.int32)
    for *block, _ in _related(ids, stated):
        append_each(ends, block)
    source, target = (end.array() for end in ends)
    for level, membership in enumerate(hierarchy.levels):
        within = np.flatnonzero(membership[source] == membership[target])
        yield from made.at(level, Groups.of(membership[source[within]], within, len(hierarchy)))


class _Communities:
    """Makes the communities of each level, the coarsest first.

    Args:
        hierarchy: the communities, by rows of entities.
        ids: the ids of entities, relations and chunks.
        chunks_of: the rows of the chunks that mention each entity.
    """

    def __init__(
        self, hierarchy: leiden.Hierarchy, ids: "tuple[pa.Array, pa.Array, pa.Array]", chunks_of: Groups
    ) -> None:
        self._hierarchy = hierarchy
        self._ids = ids
        self._chunks_of = chunks_of
        self._first_ids = np.zeros(len(hierarchy), _ID)
        self._above = self._first_ids

    def at(self, level: int, inside: Groups) -> "Iterator[pa.Table]":
        """Yield the communities of a level, given the relations inside each."""
        import pyarrow as pa

        membership, standing = self._hierarchy.levels[level], np.zeros(len(self._hierarchy), _ID)
        order, firsts = runs(membership)
        starts = np.append(firsts, len(order))
        sizes_of_all = np.append(0, np.cumsum(1 + np.diff(self._chunks_of.starts)[order]))[starts]
        for first, last in parts_of(sizes_of_all, _MEMBERS_AT_ONCE):
            members = order[starts[first] : starts[last]]
            found = membership[order[starts[first:last]]]
            sizes = np.diff(starts[first : last + 1])
            places, chunks = self._chunks_of.of_each(members)
            chunks_in = Groups.of(np.repeat(np.arange(len(found)), sizes)[places], chunks, len(found))
            entities, relations, chunks_of = self._ids
            lists = _lists(entities, sizes, members)
            ids = [short_id("community", str(level), *own) for own in lists.to_pylist()]
            standing[found] = ids
            new = self._hierarchy.first[found] == level
            parents = np.where(new, self._hierarchy.parents[found], found)
            counts, within = inside.of_each(found)
            columns = {
                "id": pa.array(ids, pa.string()),
                "level": np.full(len(found), level),
                "parent_id": _texts(self._above[parents], np.full(len(found), level == 0)),
                "same_as": _texts(self._first_ids[found], new),
                "oversized": self._hierarchy.oversized[found],
                "entity_ids": lists,
                "relation_ids": _lists(relations, np.bincount(counts, minlength=len(found)), within),
                "chunk_ids": _lists(chunks_of, np.diff(chunks_in.starts), chunks_in.members),
                "size": sizes,
            }
            yield pa.table(columns, schema=schema(Community))
            self._first_ids[found[new]] = standing[found[new]]
        self._above = standing


_ID = "S16"


def _texts(ids: "NDArray[np.bytes_]", absent: "NDArray[np.bool_]") -> "pa.Array":
    """Return ids as texts, null where they are absent."""
    import pyarrow as pa

    return pa.array(ids, pa.binary(), mask=absent).cast(pa.string())


def _lists(ids: "pa.Array", sizes: Ints, rows: Rows) -> "pa.Array":
    """Return lists of the ids of rows, list after list."""
    import pyarrow as pa

    starts = np.append(0, np.cumsum(sizes)).astype(np.int32)
    return pa.ListArray.from_arrays(starts, ids.take(pa.array(rows)), schema(Community).field("entity_ids").type)


def earlier_communities(root: Path, current: Manifest | None, settings: Settings) -> Earlier | None:
    """Return a loader of the previous communities for an incremental update.

    None if communities must be detected from scratch: on request, without an intact previous version, or after a
    change of the settings.
    """
    chosen = settings.communities
    if current is None or chosen.update == "exact":
        return None
    divided_by = CommunitySettings.of_manifest({**current.settings["communities"], "update": "stable"})
    if divided_by != settings.communities:
        return None
    if damaged_files(root, current):
        return None
    index = StoredIndex(root, current)

    def read(sentences: bool) -> Before:
        named = None
        if sentences:
            named = place_sentences(index.rows(Document), index.rows(Chunk), index.rows(Mention)).of_entity
        return Before(index.rows(Entity), index.rows(Relation), named, index.rows(Community))

    return read
