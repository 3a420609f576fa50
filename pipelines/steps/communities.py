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

from pipelines.steps.sentences import Sentences
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

    Without `sentences` the relations alone join entities, as in GraphRAG.
    """
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


def _edges(
    row_of: Mapping[str, int], relations: Sequence[Relation], sentences: Sentences | None
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    named_in: defaultdict[int, list[int]] = defaultdict(list)
    for id_, rows in sentences.of_entity.items() if sentences else ():
        for row in rows.tolist():
            named_in[row].append(row_of[id_])
    weights: defaultdict[tuple[int, int], float] = defaultdict(float)
    for each in relations:
        source, target = row_of[each.source_id], row_of[each.target_id]
        weights[min(source, target), max(source, target)] += each.weight
    for row in sorted(named_in):
        members = sorted(named_in[row])
        if 1 < len(members) <= _MOST_NAMES:
            for pair in combinations(members, 2):
                weights[pair] += 1 / (len(members) - 1)
    pairs = np.array(sorted(weights), np.int64).reshape(-1, 2)
    values = np.array([weights[source, target] for source, target in pairs.tolist()], np.float64)
    return pairs[:, 0], pairs[:, 1], values


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
    ends = np.array([(row_of[each.source_id], row_of[each.target_id]) for each in relations], np.int64).reshape(-1, 2)

    rows: list[Community] = []
    first_id: dict[int, str] = {}
    above: dict[int, str] = {}
    for level, membership in enumerate(hierarchy.levels):
        inside: defaultdict[int, list[str]] = defaultdict(list)
        for place in np.flatnonzero(membership[ends[:, 0]] == membership[ends[:, 1]]).tolist():
            inside[int(membership[ends[place, 0]])].append(relations[place].id)
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
