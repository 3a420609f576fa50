"""The entity graph divided into communities, level by level.

Two entities are joined by their relations (weight: number of mentions) and by the sentences that name both: a
sentence that names n entities adds 1 / (n - 1) to each pair, so that it counts once for each of them (Newman 2001,
"Scientific collaboration networks II").
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from pipelines.steps.sentences import Rows, Sentences
from storage.graph import leiden
from storage.hashing import short_id
from storage.records import Community, Entity, Mention, Relation
from storage.settings import CommunitySettings
from storage.tables import sorted_by_id

_MOST_NAMES = 12
"""A sentence that names more is a list, and says little about any two of them."""


def divide(
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
    sentences: Sentences | None,
    settings: CommunitySettings,
) -> list[Community]:
    """Return the communities of every level, sorted by id; each level holds every entity exactly once.

    Without `sentences` the relations alone join entities, as in GraphRAG. Of more than `settings.most_relations` those
    that no document states join nothing.
    """
    relations = _dividing(relations, settings)
    row_of = {each.id: row for row, each in enumerate(entities)}
    sources, targets, weights = _edges(row_of, relations, sentences)
    hierarchy = leiden.hierarchical_leiden(
        len(entities),
        sources,
        targets,
        weights,
        max_cluster_size=settings.max_cluster_size,
        resolution=settings.resolution,
        randomness=settings.randomness,
        seed=settings.seed,
    )
    return _communities(hierarchy, entities, relations, mentions, row_of)


def not_divided(relations: Sequence[Relation], settings: CommunitySettings) -> tuple[str, ...]:
    """Return a note where `divide` leaves relations out."""
    left_out = len(relations) - len(_dividing(relations, settings))
    if not left_out:
        return ()
    return (f"{left_out:,} relations of the graph join no communities (communities.most_relations)",)


def _dividing(relations: Sequence[Relation], settings: CommunitySettings) -> Sequence[Relation]:
    if len(relations) <= settings.most_relations:
        return relations
    return [each for each in relations if each.chunk_ids]


def _edges(
    row_of: Mapping[str, int], relations: Sequence[Relation], sentences: Sentences | None
) -> tuple[Rows, Rows, npt.NDArray[np.float64]]:
    named_in: defaultdict[int, list[int]] = defaultdict(list)
    for id_, rows in sentences.of_entity.items() if sentences else ():
        for row in rows.tolist():
            named_in[row].append(row_of[id_])
    ends: list[tuple[int, int]] = []
    shared: list[float] = []
    for row in sorted(named_in):
        members = sorted(named_in[row])
        if 1 < len(members) <= _MOST_NAMES:
            for pair in combinations(members, 2):
                ends.append(pair)
                shared.append(1 / (len(members) - 1))
    named = np.array(ends, np.int64).reshape(-1, 2)
    sources, targets = _ends(row_of, relations)
    weights = np.fromiter((each.weight for each in relations), np.float64, len(relations))
    return (
        np.concatenate([sources, named[:, 0]]),
        np.concatenate([targets, named[:, 1]]),
        np.concatenate([weights, np.array(shared, np.float64)]),
    )


def _ends(row_of: Mapping[str, int], relations: Sequence[Relation]) -> tuple[Rows, Rows]:
    """Return the rows of the entities that each relation joins."""
    n = len(relations)
    return (
        np.fromiter((row_of[each.source_id] for each in relations), np.int64, n),
        np.fromiter((row_of[each.target_id] for each in relations), np.int64, n),
    )


def _communities(
    hierarchy: leiden.Hierarchy,
    entities: Sequence[Entity],
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
    row_of: Mapping[str, int],
) -> list[Community]:
    chunks_of: defaultdict[int, set[str]] = defaultdict(set)
    for mention in mentions:
        if mention.entity_id is not None:
            chunks_of[row_of[mention.entity_id]].add(mention.chunk_id)
    sources, targets = _ends(row_of, relations)

    rows: list[Community] = []
    first_id: dict[int, str] = {}
    above: dict[int, str] = {}
    for level, membership in enumerate(hierarchy.levels):
        inside: defaultdict[int, list[str]] = defaultdict(list)
        within = np.flatnonzero(membership[sources] == membership[targets])
        for place, standing_in in zip(within.tolist(), membership[sources[within]].tolist(), strict=True):
            inside[standing_in].append(relations[place].id)
        standing: dict[int, str] = {}
        for found in hierarchy.at(level):
            members = found.members.tolist()
            ids = tuple(entities[row].id for row in members)
            id_ = standing[found.id] = short_id("community", str(level), *ids)
            parent = None if level == 0 else above[found.id if found.id in above else found.parent or 0]
            rows.append(
                Community(
                    id=id_,
                    level=level,
                    parent_id=parent,
                    same_as=first_id.get(found.id),
                    oversized=found.oversized,
                    entity_ids=ids,
                    relation_ids=tuple(sorted(inside[found.id])),
                    chunk_ids=tuple(sorted(set().union(*(chunks_of[row] for row in members)))),
                    size=len(ids),
                )
            )
            first_id.setdefault(found.id, id_)
        above = standing
    return sorted_by_id(rows)
