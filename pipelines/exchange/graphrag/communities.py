"""Map GraphRAG's communities to a hierarchy in which each level contains every entity exactly once.

GraphRAG omits from a level the communities that it did not divide further, and communities without an inner edge. Here
a community that is not divided is repeated on the next level. An entity that is in no part of a divided community, or
in no community at all, becomes a separate community.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

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
    above = _Level()
    for level, foreign_level in enumerate(sorted({row.level for row in rows if row.level is not None}) or [0]):
        places = [place for place, row in enumerate(rows) if row.level == foreign_level]
        above = builder.add_level(level, places, entity_ids, above)
    return ImportedCommunities(sorted_by_id(builder.communities), builder.of_number(), builder.failures)


@dataclass(frozen=True, slots=True)
class _Level:
    """A level: the community of each entity, the first appearance of each community, and its members."""

    of_entity: dict[str, str] = field(default_factory=dict)
    first: dict[str, str] = field(default_factory=dict)
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)


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
        self._id_of_place = [""] * len(rows)

    def of_number(self) -> dict[int, Community]:
        """Return the community of each number; if several rows share a number, the first that was imported."""
        community_of = {community.id: community for community in self.communities}
        numbered: dict[int, Community] = {}
        for row, community_id in zip(self._rows, self._id_of_place, strict=True):
            if community_id and row.community is not None:
                numbered.setdefault(row.community, community_of[community_id])
        return numbered

    def add_level(self, level: int, places: Sequence[int], entity_ids: Sequence[str], above: _Level) -> _Level:
        """Make the communities of a level from its rows, within the communities of the level above."""
        current = _Level()
        for place in places:
            members = self._members(place, current, above)
            if members:
                self._id_of_place[place] = self._add(level, members, current, above, None)
            else:
                self._fail(place, "a community without a member", "")
        left: defaultdict[str, list[str]] = defaultdict(list)
        for entity_id in entity_ids:
            if entity_id not in current.of_entity:
                left[above.of_entity.get(entity_id, "")].append(entity_id)
        for parent, entities in left.items():
            whole = above.members.get(parent, ())
            if parent and len(entities) == len(whole):
                self._add(level, whole, current, above, above.first[parent])
            else:
                for entity_id in entities:
                    self._add(level, (entity_id,), current, above, None)
        return current

    def _members(self, place: int, current: _Level, above: _Level) -> tuple[str, ...]:
        row = self._rows[place]
        members: dict[str, None] = {}
        for foreign_id in row.entity_ids or ():
            entity_id = self._entity_of.get(foreign_id)
            if entity_id is None:
                self._fail(place, "a member that is not an entity", foreign_id)
            elif entity_id in current.of_entity:
                self._fail(place, "a member of another community of its level", foreign_id)
            else:
                members[entity_id] = None
        if above.of_entity and members:
            parent = self._parent(row, above, members)
            for entity_id in [entity_id for entity_id in members if above.of_entity[entity_id] != parent]:
                self._fail(place, "a member that is not in the parent", entity_id)
                del members[entity_id]
        return tuple(sorted(members))

    def _parent(self, row: GraphRagCommunity, above: _Level, members: Iterable[str]) -> str:
        """Return the parent: the community that the row names or, failing that, the one that contains most members."""
        named = self._id_of_place[self._place_of_number[row.parent]] if row.parent in self._place_of_number else ""
        n_members = Counter(above.of_entity[entity_id] for entity_id in members)
        # A parent that was repeated on the level above has another id there.
        repeated = next((community for community in n_members if above.first[community] == named), None)
        return repeated or min(n_members, key=lambda community: (-n_members[community], community))

    def _add(self, level: int, members: Sequence[str], current: _Level, above: _Level, same_as: str | None) -> str:
        ids = tuple(sorted(members))
        community_id = short_id("community", str(level), *ids)
        inside = set(ids)
        relations = [relation for member in ids for relation in self._relations_of[member]]
        self.communities.append(
            Community(
                id=community_id,
                level=level,
                parent_id=above.of_entity.get(ids[0]),
                same_as=same_as,
                oversized=False,
                entity_ids=ids,
                relation_ids=tuple(sorted(relation.id for relation in relations if relation.target_id in inside)),
                chunk_ids=tuple(sorted(set().union(*(self._chunks_of[member] for member in ids)))),
                size=len(ids),
            )
        )
        current.of_entity.update(dict.fromkeys(ids, community_id))
        current.first[community_id] = same_as or community_id
        current.members[community_id] = ids
        return community_id

    def _fail(self, place: int, reason: str, detail: str) -> None:
        self.failures.append(Failure(IMPORT, f"community {self._rows[place].community}", reason, detail))
