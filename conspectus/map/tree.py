"""The communities that are drawn, as a tree: each entity in the deepest that holds it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from conspectus.storage.records import Community, Entity

ALONE = "alone"
"""Id of the region of what is joined to nothing: a circle for each would only hide what there is to see."""


@dataclass(frozen=True, slots=True)
class Region:
    """A community on the map. Regions stand in depth-first order, and their entities do too.

    `parent` is the row of the region that it lies in, -1 for none; its entities, and those of the regions in it, are
    the rows [first, last) of `Tree.entities`, of which [first, own) are in none of these. `size` counts the
    community's entities, drawn or not.
    """

    id: str
    level: int
    parent: int
    first: int
    own: int
    last: int
    size: int


@dataclass(frozen=True, slots=True)
class Tree:
    """The regions and the entities in drawing order, and how many communities are left out for lack of entities."""

    regions: tuple[Region, ...]
    entities: tuple[Entity, ...]
    left_out: int

    def children(self) -> list[list[int]]:
        """Return for each region the rows of those directly in it; a last list has those that are in none."""
        found: list[list[int]] = [[] for _ in range(len(self.regions) + 1)]
        for row, each in enumerate(self.regions):
            found[each.parent].append(row)
        return found


def tree_of(communities: Sequence[Community], drawn: Sequence[Entity], reported: Set[str], *, whole: bool) -> Tree:
    """Return the communities of the entities that are drawn, each where it first stands.

    Unless the map is `whole`, a community inside another is left out where fewer than two of its entities are drawn.
    A community of one entity that lies in none, is not divided and has no report goes into the region ALONE, with
    whatever is in no community.
    """
    held = {each.id for each in drawn}
    first = {each.id: each.same_as or each.id for each in communities}
    standing = sorted((each for each in communities if each.same_as is None), key=lambda each: (each.level, each.id))
    count = {each.id: sum(id_ in held for id_ in each.entity_ids) for each in standing}
    kept: dict[str, Community] = {}
    parent: dict[str, str | None] = {}  # the nearest that is kept, of those that are not too
    for each in standing:
        above = first.get(each.parent_id) if each.parent_id else None
        above = above if above is None or above in kept else parent.get(above)
        parent[each.id] = above
        alone = each.size == 1 and above is None and each.id not in reported
        if not alone and count[each.id] > (0 if whole or above is None else 1):
            kept[each.id] = each
    place: dict[str, str] = {}
    for each in kept.values():  # coarse before fine
        place.update((id_, each.id) for id_ in each.entity_ids)
    left_out = sum(each.size > 1 for each in standing if each.id not in kept)
    return _ordered(kept, parent, place, drawn, left_out)


def _ordered(
    kept: Mapping[str, Community],
    parent: Mapping[str, str | None],
    place: Mapping[str, str],
    drawn: Sequence[Entity],
    left_out: int,
) -> Tree:
    """Return the tree in depth-first order; of siblings, and of a region's entities, those of most weight first."""
    inside: defaultdict[str, list[Entity]] = defaultdict(list)
    for entity in sorted(drawn, key=lambda entity: (-entity.degree, -entity.frequency, entity.name, entity.id)):
        inside[place.get(entity.id, ALONE)].append(entity)
    below: defaultdict[str | None, list[str]] = defaultdict(list)
    for id_ in sorted(kept, key=lambda id_: (-kept[id_].size, id_)):
        below[parent[id_]].append(id_)
    regions: list[Region] = []
    entities: list[Entity] = []
    waiting = [(ALONE, -1)] if inside[ALONE] else []
    waiting += [(id_, -1) for id_ in reversed(below[None])]
    while waiting:
        id_, above = waiting.pop()
        waiting += [(child, len(regions)) for child in reversed(below[id_])]
        start = len(entities)
        entities += inside[id_]
        level, size = (kept[id_].level, kept[id_].size) if id_ in kept else (0, len(inside[id_]))
        regions.append(Region(id_, level, above, start, len(entities), len(entities), size))
    for row in reversed(range(len(regions))):  # what is in a region comes after it
        each = regions[row]
        if each.parent >= 0:
            over = regions[each.parent]
            regions[each.parent] = replace(over, last=max(over.last, each.last))
    return Tree(tuple(regions), tuple(entities), left_out)
