"""Lay out the map: entities are packed into regions, regions into their parents, and these into the map."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from math import sqrt

from conspectus.map.packing import Circle, enclosing, packed
from conspectus.map.tree import Tree

_GAP, _MARGIN = 0.035, 0.05
"""Space around a region, and between its rim and its content, as a share of its radius."""
_DOT_GAP, _LEAST_MARGIN = 0.22, 0.5
"""Space around an entity, and the minimum within a region's rim, in radii of an entity without relations."""


@dataclass(frozen=True, slots=True)
class MapLayout:
    """The circles of the regions and of the entities, in the tree's order, and one around all of them at the origin.

    A unit is the radius of an entity without relations; the area of an entity grows with its degree.
    """

    regions: tuple[Circle, ...]
    entities: tuple[Circle, ...]
    around: Circle


def laid_out(tree: Tree, joined: Iterable[tuple[int, int]]) -> MapLayout:
    """Return the layout of a tree; `joined` are pairs of its entities' rows that relations join.

    Joined entities are placed near each other if that costs no space. The same tree gives the same layout.
    """
    ties = _ties(tree, joined)
    children = tree.children()
    radius = [sqrt(1.0 + entity.degree) for entity in tree.entities]
    regions = [Circle(0.0, 0.0, 0.0)] * len(tree.regions)
    dots = [Circle(0.0, 0.0, 0.0)] * len(tree.entities)

    def pack(row: int, rows: range) -> Circle:
        """Place the direct content of a region, around the origin for now; return the enclosing circle."""
        below = children[row]
        keys = [*below, *(-1 - item for item in rows)]
        sizes = [*(regions[item].r * (1 + _GAP) for item in below), *(radius[item] + _DOT_GAP for item in rows)]
        at = {key: place for place, key in enumerate(keys)}
        near = [{at[other]: weight for other, weight in ties[key].items() if other in at} for key in keys]
        circles = packed(sizes, near)
        around = enclosing(circles)
        for key, circle in zip(keys, circles, strict=True):
            x, y = circle.x - around.x, circle.y - around.y
            if key >= 0:
                regions[key] = Circle(x, y, regions[key].r)
            else:
                dots[-1 - key] = Circle(x, y, radius[-1 - key])
        return around

    for row in reversed(range(len(tree.regions))):  # the content of a region comes after it
        each = tree.regions[row]
        around = pack(row, range(each.first, each.own))
        regions[row] = Circle(0.0, 0.0, around.r + max(_LEAST_MARGIN, around.r * _MARGIN))
    around = pack(len(tree.regions), range(0))
    for row, entry in enumerate(tree.regions):  # so far positions are relative to the centre of the parent
        if entry.parent >= 0:
            regions[row] = _moved(regions[row], regions[entry.parent])
        for dot in range(entry.first, entry.own):
            dots[dot] = _moved(dots[dot], regions[row])
    return MapLayout(tuple(regions), tuple(dots), Circle(0.0, 0.0, around.r))


def _moved(circle: Circle, by: Circle) -> Circle:
    return Circle(circle.x + by.x, circle.y + by.y, circle.r)


def _ties(tree: Tree, joined: Iterable[tuple[int, int]]) -> defaultdict[int, defaultdict[int, float]]:
    """Return the number of pairs that join two things of one parent, by row of a region or -1 - row of an entity."""
    over = [-1] * len(tree.entities)
    for row, region in enumerate(tree.regions):
        over[region.first : region.own] = [row] * (region.own - region.first)
    found: defaultdict[int, defaultdict[int, float]] = defaultdict(lambda: defaultdict(float))
    for pair in joined:
        one, other = ([-1 - dot, *_above(tree, over[dot])] for dot in pair)
        while one[-1] == other[-1] and len(one) > 1 and len(other) > 1:
            one.pop()
            other.pop()
        if one[-1] != other[-1]:
            found[one[-1]][other[-1]] += 1.0
            found[other[-1]][one[-1]] += 1.0
    return found


def _above(tree: Tree, row: int) -> list[int]:
    """Return a region and its ancestors, outermost last."""
    found = []
    while row >= 0:
        found.append(row)
        row = tree.regions[row].parent
    return found
