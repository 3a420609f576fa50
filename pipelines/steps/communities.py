"""Detect hierarchical communities in the entity graph.

Two entities are joined by their relations (weight: number of mentions) and by the sentences that name both: a
sentence that names n entities adds 1 / (n - 1) to each pair, so that it counts once for each of them (Newman 2001,
"Scientific collaboration networks II").

When an index is updated, its communities are updated too (`communities.update`), unless the result is worse than a
fresh hierarchy.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
from conspectus.pipelines.steps.sentences import RowsOf, Sentences, place_sentences
from conspectus.storage.arrays import Floats, Rows, gather
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
from conspectus.storage.spilled import few_as_list, sorted_rows, text_column
from conspectus.storage.tables import arrow_of, rows_of_ids

MOST_RELATIONS = 1_500_000
"""With more relations, only those that documents state join entities: Leiden would need hours for all."""
_MOST_NAMES = 12
"""A sentence that names more entities is a list, and weak evidence for any pair of them."""


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
    relations = _dividing(relations)
    row_of = {entity.id: row for row, entity in enumerate(entities)}
    named = sentences.placed.of_entity if sentences else None
    edges = canonical_edges(len(entities), *edges_of(row_of, relations, named))
    hierarchy = leiden.hierarchical_leiden(
        len(entities),
        edges.lower,
        edges.upper,
        edges.weights,
        max_cluster_size=settings.max_cluster_size,
        resolution=settings.resolution,
        seed=settings.seed,
    )
    notes: tuple[str, ...] = ()
    if earlier and entities:
        updated = _updated(row_of, edges, earlier(sentences is not None), settings)
        if updated:
            lost = losses(hierarchy, updated, edges, settings.resolution)
            if is_worse(lost):
                notes = (f"the communities were detected again: an update would lose {max(lost):.1%} of modularity",)
            else:
                hierarchy = updated
    del edges
    communities = sorted_rows(Community, _communities(hierarchy, relations, mentions, row_of))
    return Division(few_as_list(communities), notes)


def _updated(
    row_of: Mapping[str, int], edges: Edges, before: Before, settings: CommunitySettings
) -> leiden.Hierarchy | None:
    """Return the updated hierarchy of an earlier version, None if it had none."""
    if not before.communities:
        return None
    old_row_of = {entity.id: row for row, entity in enumerate(before.entities)}
    old_edges = canonical_edges(len(old_row_of), *edges_of(old_row_of, _dividing(before.relations), before.named))
    row_now = np.fromiter((row_of.get(item, -1) for item in old_row_of), np.int64, len(old_row_of))
    return updated_leiden(
        edges,
        _labels(row_of, before.communities),
        changed_nodes(edges, old_edges, row_now),
        seed=settings.seed,
        max_cluster_size=settings.max_cluster_size,
        resolution=settings.resolution,
    )


def _labels(row_of: Mapping[str, int], communities: Sequence[Community]) -> list[Labels]:
    """Return the labels of each level by entity row, -1 for new entities."""
    deepest = max(community.level for community in communities)
    labels = [np.full(len(row_of), -1, np.int64) for _ in range(deepest + 1)]
    for label, community in enumerate(communities):
        rows = [row_of[id_] for id_ in community.entity_ids if id_ in row_of]
        labels[community.level][rows] = label
    return labels


def not_divided(relations: Sequence[Relation]) -> tuple[str, ...]:
    """Return a note if `divide` ignores relations."""
    left_out = len(relations) - len(_dividing(relations))
    if not left_out:
        return ()
    return (f"{left_out:,} relations of the graph join no communities",)


def _dividing(relations: Sequence[Relation]) -> Sequence[Relation]:
    if len(relations) <= MOST_RELATIONS:
        return relations
    from pyarrow import compute

    table = arrow_of(Relation, relations)
    return TableRows(table.filter(compute.greater(compute.list_value_length(table["chunk_ids"]), 0)), Relation)


def edges_of(
    row_of: Mapping[str, int], relations: Sequence[Relation], named: RowsOf | None
) -> tuple[Rows, Rows, Floats]:
    """Return the edges of the entity graph: the rows of both ends, and weights; a pair may occur several times."""
    sources, targets = _ends(row_of, relations)
    weights = arrow_of(Relation, relations, ["weight"])["weight"].to_numpy()
    columns = [(sources, targets, weights), *(_named_together(row_of, named) if named else ())]
    source, target, weight = (np.concatenate(column) for column in zip(*columns, strict=True))
    return source, target, weight


def _named_together(row_of: Mapping[str, int], named: RowsOf) -> Iterator[tuple[Rows, Rows, Floats]]:
    """Yield the pairs of entities that share a sentence, and their weights, for each number of names in a sentence."""
    ids, rows = named.grouped()
    own = np.fromiter((row_of[id_] for id_ in ids), np.int64, len(ids))
    entities, sentences = np.repeat(own, np.diff(rows.starts)), rows.members
    order = np.lexsort((entities, sentences))
    entities = entities[order]
    _, first, sizes = np.unique(sentences[order], return_index=True, return_counts=True)
    for size in range(2, _MOST_NAMES + 1):
        members = entities[first[sizes == size, None] + np.arange(size)]
        for one, other in combinations(range(size), 2):
            yield members[:, one], members[:, other], np.full(len(members), 1 / (size - 1))


def _ends(row_of: Mapping[str, int], relations: Sequence[Relation]) -> tuple[Rows, Rows]:
    """Return the entity rows of both ends of each relation."""
    import pyarrow as pa

    table, ids = (
        arrow_of(Relation, relations, ["source_id", "target_id"]),
        pa.chunked_array([list(row_of)], pa.string()),
    )
    return rows_of_ids(table["source_id"], ids), rows_of_ids(table["target_id"], ids)


def _communities(
    hierarchy: leiden.Hierarchy,
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
    row_of: Mapping[str, int],
) -> Iterator[Community]:
    """Yield the communities of every level."""
    chunk_ids = sorted(arrow_of(Mention, mentions, ["chunk_id"])["chunk_id"].unique().to_pylist())
    chunks_of = chunks_by_entity(list(row_of), chunk_ids, mentions)
    sources, targets = _ends(row_of, relations)
    ids_of_entities = list(row_of)
    ids_of_relations = text_column(relations, "id")

    first_id: dict[int, str] = {}
    above: dict[int, str] = {}
    for level, membership in enumerate(hierarchy.levels):
        within = np.flatnonzero(membership[sources] == membership[targets])
        inside = Groups.of(membership[sources[within]], within, len(hierarchy.communities))
        standing: dict[int, str] = {}
        for found in hierarchy.at(level):
            ids = tuple([ids_of_entities[row] for row in found.members.tolist()])
            _, entries = gather(chunks_of.starts, found.members)
            id_ = standing[found.id] = short_id("community", str(level), *ids)
            parent = None if level == 0 else above[found.id if found.id in above else found.parent or 0]
            yield Community(
                id=id_,
                level=level,
                parent_id=parent,
                same_as=first_id.get(found.id),
                oversized=found.oversized,
                entity_ids=ids,
                relation_ids=tuple(sorted([ids_of_relations[row] for row in inside[found.id].tolist()])),
                chunk_ids=tuple([chunk_ids[row] for row in np.unique(chunks_of.members[entries]).tolist()]),
                size=len(ids),
            )
            first_id.setdefault(found.id, id_)
        above = standing


def earlier_communities(root: Path, current: Manifest | None, settings: Settings) -> Earlier | None:
    """Return a loader of the previous communities for an incremental update.

    None if communities must be detected from scratch: on request, without an intact previous version, or after a
    change of the settings.
    """
    if current is None or settings.communities.update == "exact":
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
