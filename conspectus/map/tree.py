"""The drawn communities as a tree: each entity is in the deepest community that contains it."""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from conspectus.storage.records import Community, Entity

ALONE = "alone"
"""Id of the region for entities without connections: a circle for each would clutter the map."""


@dataclass(frozen=True, slots=True)
class Region:
    """A community on the map. Regions are in depth-first order, and so are their entities.

    `parent` is the row of the enclosing region, -1 for none; its entities, and those of the regions in it, are the rows
    [first, last) of `Tree.entities`, of which [first, own) are in no inner region. `size` counts the community's
    entities, drawn or not.
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
    """The regions and the entities in drawing order."""

    regions: tuple[Region, ...]
    entities: tuple[Entity, ...]


def tree_of(communities: Sequence[Community], drawn: Sequence[Entity], reported: Set[str], *, whole: bool) -> Tree:
    """Return the communities of the drawn entities, each on its first level.

    Unless the map is `whole`, a community inside another is left out if fewer than two of its entities are drawn. A
    community of one entity that has no parent, is not divided and has no report goes into the region ALONE, with the
    entities that are in no community.
    """
    held = {item.id for item in drawn}
    first = {community.id: community.same_as or community.id for community in communities}
    standing = sorted(
        (community for community in communities if community.same_as is None), key=lambda item: (item.level, item.id)
    )
    count = {item.id: sum(id_ in held for id_ in item.entity_ids) for item in standing}
    kept: dict[str, Community] = {}
    parent: dict[str, str | None] = {}  # the nearest retained ancestor, also of dropped communities
    for entry in standing:
        above = first.get(entry.parent_id) if entry.parent_id else None
        above = above if above is None or above in kept else parent.get(above)
        parent[entry.id] = above
        alone = entry.size == 1 and above is None and entry.id not in reported
        if not alone and count[entry.id] > (0 if whole or above is None else 1):
            kept[entry.id] = entry
    place: dict[str, str] = {}
    for element in kept.values():  # coarse before fine
        place.update((id_, element.id) for id_ in element.entity_ids)
    return _ordered(kept, parent, place, drawn)


def _ordered(
    kept: Mapping[str, Community],
    parent: Mapping[str, str | None],
    place: Mapping[str, str],
    drawn: Sequence[Entity],
) -> Tree:
    """Return the tree in depth-first order; siblings, and a region's entities, by decreasing weight."""
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
    for row in reversed(range(len(regions))):  # the content of a region comes after it
        each = regions[row]
        if each.parent >= 0:
            over = regions[each.parent]
            regions[each.parent] = replace(over, last=max(over.last, each.last))
    return Tree(tuple(regions), tuple(entities))
