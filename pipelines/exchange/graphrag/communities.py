"""Map GraphRAG's communities to a hierarchy in which each level contains every entity exactly once.

GraphRAG omits from a level the communities that it did not divide further, and communities without an inner edge. Here
a community that is not divided is repeated on the next level. An entity that is in no part of a divided community, or
in no community at all, becomes a separate community.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.schema import GraphRagCommunity
from conspectus.pipelines.steps.communities import communities_of
from conspectus.pipelines.steps.extract.merge import Knowledge
from conspectus.storage.arrays import Rows
from conspectus.storage.graph.leiden import Hierarchy
from conspectus.storage.records import Community, Failure


@dataclass(frozen=True, slots=True)
class ImportedCommunities:
    """Communities sorted by id, the community of each number that a row uses, and the failures."""

    communities: Sequence[Community]
    of_number: Mapping[int, Community]
    failures: list[Failure]


def imported_communities(
    rows: Sequence[GraphRagCommunity], entity_of: Mapping[str, str], knowledge: Knowledge
) -> ImportedCommunities:
    """Return the communities of all entities, with the relations between their members and the chunks that name them.

    `entity_of` is our entity id for each of GraphRAG. A member that is not in the parent community, or that is already
    in another community of the level, is left out and listed as a failure.
    """
    builder = _HierarchyBuilder(rows, entity_of, [entity.id for entity in knowledge.entities])
    for level, foreign_level in enumerate(sorted({row.level for row in rows if row.level is not None}) or [0]):
        builder.add_level(level, [place for place, row in enumerate(rows) if row.level == foreign_level])
    hierarchy = builder.hierarchy()
    communities = communities_of(hierarchy, knowledge.entities, knowledge.relations, knowledge.mentions)
    return ImportedCommunities(communities, dict(builder.of_number(communities)), builder.failures)


class _HierarchyBuilder:
    """Divides the entities level by level. A community has a number, a row of the tables its position."""

    def __init__(
        self, rows: Sequence[GraphRagCommunity], entity_of: Mapping[str, str], entity_ids: Sequence[str]
    ) -> None:
        self.failures: list[Failure] = []
        self._rows = rows
        self._entity_of = entity_of
        self._entity_ids = entity_ids
        self._row_of = {id_: row for row, id_ in enumerate(entity_ids)}
        self._levels: list[Rows] = []
        self._first: list[int] = []
        self._parents: list[int] = []
        self._place_of_number: dict[int | None, int] = {}
        for place, row in enumerate(rows):
            self._place_of_number.setdefault(row.community, place)
        self._of_place: list[int | None] = [None] * len(rows)

    def hierarchy(self) -> Hierarchy:
        """Return the levels that were added."""
        first, parents = np.array(self._first, np.int32), np.array(self._parents, np.int32)
        return Hierarchy(tuple(self._levels), first, parents, np.zeros(len(first), np.bool_))

    def of_number(self, communities: Sequence[Community]) -> Iterator[tuple[int, Community]]:
        """Yield GraphRAG's number of each community; if several rows share one, that of the first imported is last."""
        made = {
            int(self._levels[each.level][self._row_of[each.entity_ids[0]]]): each
            for each in communities
            if each.same_as is None
        }
        for row, number in reversed(list(zip(self._rows, self._of_place, strict=True))):
            if number is not None and row.community is not None:
                yield row.community, made[number]

    def add_level(self, level: int, places: Sequence[int]) -> None:
        """Make the communities of a level from its rows."""
        above = self._levels[-1] if self._levels else np.full(len(self._entity_ids), -1, np.int32)
        current = np.full(len(self._entity_ids), -1, np.int32)
        for place in places:
            if members := self._members(place, current, above):
                self._of_place[place] = current[members] = self._new(level, above[members[0]])
            else:
                self._fail(place, "a community without a member", "")
        sizes, left = Counter(above.tolist()), defaultdict(list)
        for row in np.flatnonzero(current < 0).tolist():
            left[int(above[row])].append(row)
        for number, members in left.items():
            if number >= 0 and len(members) == sizes[number]:
                current[members] = number
            else:
                current[members] = [self._new(level, number) for _ in members]
        self._levels.append(current)

    def _new(self, level: int, parent: int) -> int:
        self._first.append(level)
        self._parents.append(int(parent))
        return len(self._first) - 1

    def _members(self, place: int, current: Rows, above: Rows) -> list[int]:
        row = self._rows[place]
        members: dict[int, None] = {}
        for foreign_id in row.entity_ids or ():
            entity = self._row_of.get(self._entity_of.get(foreign_id, ""))
            if entity is None:
                self._fail(place, "a member that is not an entity", foreign_id)
            elif current[entity] >= 0:
                self._fail(place, "a member of another community of its level", foreign_id)
            else:
                members[entity] = None
        around = [int(above[entity]) for entity in members]
        parent = self._parent(row, around) if around else -1
        for entity in [entity for entity, outer in zip(members, around, strict=True) if outer != parent]:
            self._fail(place, "a member that is not in the parent", self._entity_ids[entity])
            del members[entity]
        return list(members)

    def _parent(self, row: GraphRagCommunity, above: Sequence[int]) -> int:
        """Return the parent: the community that the row names or, failing that, the one that contains most members."""
        place = self._place_of_number.get(row.parent)
        named = None if place is None else self._of_place[place]
        counts = Counter(above)
        return named if named in counts else min(counts, key=lambda number: (-counts[number], number))

    def _fail(self, place: int, reason: str, detail: str) -> None:
        self.failures.append(Failure(IMPORT, f"community {self._rows[place].community}", reason, detail))
