from math import hypot

import pytest
from conspectus.map.layout import MapLayout, laid_out
from conspectus.map.packing import Circle
from conspectus.map.tree import Tree, tree_of
from conspectus.storage.records import Community, Entity, Relation

from tests.conspectus.map.samples import community, entity, large_index


def inside(one: Circle, outer: Circle) -> bool:
    return hypot(one.x - outer.x, one.y - outer.y) + one.r <= outer.r * (1 + 1e-6)


def apart(one: Circle, other: Circle) -> bool:
    return hypot(one.x - other.x, one.y - other.y) >= (one.r + other.r) * (1 - 1e-6)


@pytest.fixture(scope="module")
def large() -> tuple[Tree, MapLayout]:
    index = large_index(1500)
    tree = tree_of(index.rows(Community), index.rows(Entity), set(), whole=True)
    row = {each.id: at for at, each in enumerate(tree.entities)}
    return tree, laid_out(tree, [(row[each.source_id], row[each.target_id]) for each in index.rows(Relation)])


def test_everything_lies_in_what_it_belongs_to(large: tuple[Tree, MapLayout]) -> None:
    tree, layout = large
    for row, each in enumerate(tree.regions):
        assert inside(layout.regions[row], layout.regions[each.parent] if each.parent >= 0 else layout.around)
        assert all(inside(layout.entities[at], layout.regions[row]) for at in range(each.first, each.last))


def test_nothing_lies_on_its_neighbour(large: tuple[Tree, MapLayout]) -> None:
    tree, layout = large
    for row, below in enumerate(tree.children()):
        own = range(tree.regions[row].first, tree.regions[row].own) if row < len(tree.regions) else ()
        siblings = [*(layout.regions[at] for at in below), *(layout.entities[at] for at in own)]
        assert all(apart(one, other) for at, one in enumerate(siblings) for other in siblings[:at])


def test_communities_with_relations_between_them_are_neighbours() -> None:
    names = [f"{place:02}{sign}" for place in range(40) for sign in "ab"]
    communities = [community(f"{at:02}", 0, names[2 * at : 2 * at + 2]) for at in range(40)]
    tree = tree_of(communities, [entity(name, 1) for name in names], set(), whole=True)
    row = {each.name: at for at, each in enumerate(tree.entities)}
    pairs = [(row[f"{at:02}a"], row[f"{at + 20:02}b"]) for at in range(20)]

    def between(layout: MapLayout) -> float:
        ends = [(layout.entities[one], layout.entities[other]) for one, other in pairs]
        return sum(hypot(one.x - other.x, one.y - other.y) for one, other in ends)

    assert between(laid_out(tree, pairs)) < 0.8 * between(laid_out(tree, []))


def test_entities_and_parts_may_stand_side_by_side() -> None:
    communities = [community("top", 0, "abcd"), community("part", 1, "ab", "top")]
    tree = tree_of(communities, [entity(name, 2) for name in "abcd"], set(), whole=True)
    layout = laid_out(tree, [(0, 1), (0, 2), (2, 3)])
    assert all(apart(layout.entities[at], layout.regions[1]) for at in (0, 1))
    assert laid_out(Tree((), ()), []).around.r == 0
