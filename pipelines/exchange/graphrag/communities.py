"""GraphRAG's hierarchy as one of ours, in which each level holds every entity exactly once.

GraphRAG leaves out of a level what it did not divide further, and communities without an inner edge. Here a community
that is not divided stands again on the next level; a member that is in no part of a divided one, and an entity that is
in no community at all, is a community of its own.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from conspectus.pipelines.build_report import IMPORT
from conspectus.pipelines.exchange.graphrag.schema import CommunityRow
from conspectus.storage.hashing import short_id
from conspectus.storage.records import Community, Failure, Mention, Relation
from conspectus.storage.tables import sorted_by_id


@dataclass(frozen=True, slots=True)
class Grouped:
    """Communities sorted by id; the community of each row, "" for one that could not be taken; what was not."""

    communities: list[Community]
    row_ids: list[str]
    failures: list[Failure]


def communities_of(
    rows: Sequence[CommunityRow],
    id_of: Mapping[str, str],
    entity_ids: Sequence[str],
    relations: Sequence[Relation],
    mentions: Sequence[Mention],
) -> Grouped:
    """Return the communities of all entities; `id_of` gives the entity that a foreign id stands for.

    A member that is not in the parent, or that another community of the level has already, is left out and listed.
    """
    grouping = _Grouping(rows, id_of, relations, mentions)
    levels = sorted({row.level for row in rows if row.level is not None})
    above = _Level({}, {})
    for level, foreign in enumerate(levels or [0]):
        numbers = [number for number, row in enumerate(rows) if row.level == foreign]
        above = grouping.divide(level, numbers, entity_ids, above)
    return Grouped(sorted_by_id(grouping.made), grouping.row_ids, grouping.failures)


@dataclass(frozen=True, slots=True)
class _Level:
    """The community of each entity on a level, and what each first appeared as."""

    of_entity: dict[str, str]
    first: dict[str, str]
    members: dict[str, tuple[str, ...]] = field(default_factory=dict)


class _Grouping:
    def __init__(
        self,
        rows: Sequence[CommunityRow],
        id_of: Mapping[str, str],
        relations: Sequence[Relation],
        mentions: Sequence[Mention],
    ) -> None:
        self._rows = rows
        self._id_of = id_of
        self._relations_of: defaultdict[str, list[Relation]] = defaultdict(list)
        for relation in relations:
            self._relations_of[relation.source_id].append(relation)
        self._chunks_of: defaultdict[str, set[str]] = defaultdict(set)
        for mention in mentions:
            if mention.entity_id is not None:
                self._chunks_of[mention.entity_id].add(mention.chunk_id)
        self._number_of: dict[int, int] = {}
        for number, row in enumerate(rows):
            self._number_of.setdefault(row.community or 0, number)
        self.made: list[Community] = []
        self.row_ids = [""] * len(rows)
        self.failures: list[Failure] = []

    def divide(self, level: int, numbers: Sequence[int], entity_ids: Sequence[str], above: _Level) -> _Level:
        """Make the communities of a level from the rows of it, within those of the level above."""
        now = _Level({}, {})
        for number in numbers:
            members = self._members(number, level, now, above)
            if members:
                self.row_ids[number] = self._make(level, members, now, above, None)
            else:
                self._fail(number, "a community without a member", "")
        left: defaultdict[str, list[str]] = defaultdict(list)
        for id_ in entity_ids:
            if id_ not in now.of_entity:
                left[above.of_entity.get(id_, "")].append(id_)
        for parent, those in left.items():
            whole = above.members.get(parent, ())
            if parent and len(those) == len(whole):
                self._make(level, whole, now, above, above.first[parent])
            else:
                for id_ in those:
                    self._make(level, (id_,), now, above, None)
        return now

    def _members(self, number: int, level: int, now: _Level, above: _Level) -> tuple[str, ...]:
        row = self._rows[number]
        members: dict[str, None] = {}
        for foreign in row.entity_ids or ():
            id_ = self._id_of.get(foreign)
            if id_ is None:
                self._fail(number, "a member that is no entity", foreign)
            elif id_ in now.of_entity:
                self._fail(number, "a member of another community of its level", foreign)
            else:
                members[id_] = None
        if not level or not members:
            return tuple(sorted(members))
        parent = self._parent(row, above, members)
        outside = [id_ for id_ in members if above.of_entity[id_] != parent]
        for id_ in outside:
            self._fail(number, "a member that is not in the parent", id_)
        return tuple(sorted(members.keys() - set(outside)))

    def _parent(self, row: CommunityRow, above: _Level, members: Iterable[str]) -> str:
        """Return the community above: the one that is named, or, where that is none, the one of most members."""
        named = self.row_ids[self._number_of[row.parent]] if row.parent in self._number_of else ""
        held: defaultdict[str, int] = defaultdict(int)
        for id_ in members:
            held[above.of_entity[id_]] += 1
        # What is named may have been carried down, and then has another id there.
        carried = next((each for each in held if above.first[each] == named), None)
        return carried or min(held, key=lambda each: (-held[each], each))

    def _make(self, level: int, members: Sequence[str], now: _Level, above: _Level, same_as: str | None) -> str:
        ids = tuple(sorted(members))
        id_ = short_id("community", str(level), *ids)
        inside = set(ids)
        relation_ids = [each.id for member in ids for each in self._relations_of[member] if each.target_id in inside]
        self.made.append(
            Community(
                id=id_,
                level=level,
                parent_id=above.of_entity.get(ids[0]),
                same_as=same_as,
                oversized=False,
                entity_ids=ids,
                relation_ids=tuple(sorted(relation_ids)),
                chunk_ids=tuple(sorted(set().union(*(self._chunks_of[each] for each in ids)))),
                size=len(ids),
            )
        )
        now.of_entity.update(dict.fromkeys(ids, id_))
        now.first[id_] = same_as or id_
        now.members[id_] = ids
        return id_

    def _fail(self, number: int, reason: str, detail: str) -> None:
        row = self._rows[number]
        self.failures.append(Failure(IMPORT, f"community {row.community}", reason, detail))
