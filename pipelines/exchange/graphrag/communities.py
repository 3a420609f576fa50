"""Map GraphRAG's communities to a hierarchy in which each level contains every entity exactly once.

GraphRAG omits from a level the communities that it did not divide further, and communities without an inner edge. Here
a community that is not divided is repeated on the next level. An entity that is in no part of a divided community, or
in no community at all, becomes a separate community.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.schema import GraphRagCommunity
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Failure, Mention, Relation
from conspectus.storage.tables import sorted_by_id


@dataclass(frozen=True, slots=True)
class ImportedCommunities:
    """Communities sorted by id, the community of each number that a row uses, and the failures."""

    communities: list[Community]
    of_number: Mapping[int, Community]
    failures: list[Failure]


def imported_communities(
    rows: Sequence[GraphRagCommunity],
    entity_of: Mapping[str, str],
    entity_ids: Sequence[str],
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
) -> ImportedCommunities:
    """Return the communities of all entities, with the relations between their members and the chunks that name them.

    `entity_of` is our entity id for each of GraphRAG. A member that is not in the parent community, or that is already
    in another community of the level, is left out and listed as a failure.
    """
    builder = _HierarchyBuilder(rows, entity_of, relations, mentions)
    above: dict[str, Community] = {}
    for level, foreign_level in enumerate(sorted({row.level for row in rows if row.level is not None}) or [0]):
        places = [place for place, row in enumerate(rows) if row.level == foreign_level]
        above = builder.add_level(level, places, entity_ids, above)
    return ImportedCommunities(sorted_by_id(builder.communities), builder.of_number(), builder.failures)


class _HierarchyBuilder:
    """Makes communities level by level. A row is identified by its position in the table."""

    def __init__(
        self,
        rows: Sequence[GraphRagCommunity],
        entity_of: Mapping[str, str],
        relations: Sequence[Relation],
        mentions: Sequence[Mention],
    ) -> None:
        self.communities: list[Community] = []
        self.failures: list[Failure] = []
        self._rows = rows
        self._entity_of = entity_of
        self._relations_of: defaultdict[str, list[Relation]] = defaultdict(list)
        for relation in relations:
            self._relations_of[relation.source_id].append(relation)
        self._chunks_of: defaultdict[str, set[str]] = defaultdict(set)
        for mention in mentions:
            if mention.entity_id is not None:
                self._chunks_of[mention.entity_id].add(mention.chunk_id)
        self._place_of_number: dict[int | None, int] = {}
        for place, row in enumerate(rows):
            self._place_of_number.setdefault(row.community, place)
        self._of_place: list[Community | None] = [None] * len(rows)

    def of_number(self) -> dict[int, Community]:
        """Return the community of each number; if several rows share a number, the first that was imported."""
        numbered: dict[int, Community] = {}
        for row, community in zip(self._rows, self._of_place, strict=True):
            if community and row.community is not None:
                numbered.setdefault(row.community, community)
        return numbered

    def add_level(
        self, level: int, places: Sequence[int], entity_ids: Sequence[str], above: Mapping[str, Community]
    ) -> dict[str, Community]:
        """Make the communities of a level from its rows, and return them by entity; `above` are those of the last."""
        current: dict[str, Community] = {}
        for place in places:
            members = self._members(place, current, above)
            if members:
                self._of_place[place] = self._add(level, members, current, above)
            else:
                self._fail(place, "a community without a member", "")
        left: defaultdict[str, list[str]] = defaultdict(list)
        for entity_id in entity_ids:
            if entity_id not in current:
                left[above[entity_id].id if above else ""].append(entity_id)
        for entities in left.values():
            whole = above.get(entities[0])
            if whole and len(entities) == whole.size:
                self._add(level, whole.entity_ids, current, above, whole.same_as or whole.id)
            else:
                for entity_id in entities:
                    self._add(level, (entity_id,), current, above)
        return current

    def _members(self, place: int, current: Mapping[str, Community], above: Mapping[str, Community]) -> tuple[str, ...]:
        row = self._rows[place]
        members: dict[str, None] = {}
        for foreign_id in row.entity_ids or ():
            entity_id = self._entity_of.get(foreign_id)
            if entity_id is None:
                self._fail(place, "a member that is not an entity", foreign_id)
            elif entity_id in current:
                self._fail(place, "a member of another community of its level", foreign_id)
            else:
                members[entity_id] = None
        if above and members:
            parent = self._parent(row, [above[entity_id] for entity_id in members])
            for entity_id in [entity_id for entity_id in members if above[entity_id].id != parent]:
                self._fail(place, "a member that is not in the parent", entity_id)
                del members[entity_id]
        return tuple(sorted(members))

    def _parent(self, row: GraphRagCommunity, above: Sequence[Community]) -> str:
        """Return the parent: the community that the row names or, failing that, the one that contains most members."""
        named = self._of_place[self._place_of_number[row.parent]] if row.parent in self._place_of_number else None
        for community in above:
            # A parent that was repeated on the level above has another id there.
            if named and (community.same_as or community.id) == named.id:
                return community.id
        n_members = Counter(community.id for community in above)
        return min(n_members, key=lambda community: (-n_members[community], community))

    def _add(
        self,
        level: int,
        members: Sequence[str],
        current: dict[str, Community],
        above: Mapping[str, Community],
        same_as: str | None = None,
    ) -> Community:
        ids, inside = tuple(sorted(members)), set(members)
        relations = [relation for member in ids for relation in self._relations_of[member]]
        community = Community(
            id=short_id("community", str(level), *ids),
            level=level,
            parent_id=above[ids[0]].id if above else None,
            same_as=same_as,
            oversized=False,
            entity_ids=ids,
            relation_ids=tuple(sorted(relation.id for relation in relations if relation.target_id in inside)),
            chunk_ids=tuple(sorted(set().union(*(self._chunks_of[member] for member in ids)))),
            size=len(ids),
        )
        self.communities.append(community)
        current.update(dict.fromkeys(ids, community))
        return community

    def _fail(self, place: int, reason: str, detail: str) -> None:
        self.failures.append(Failure(IMPORT, f"community {self._rows[place].community}", reason, detail))
