from conspectus.map.data import ALONE, tree_of

from tests.conspectus.map.samples import community, entity


def test_entities_stand_in_the_deepest_community_and_regions_hold_runs_of_them() -> None:
    entities = [entity(name, degree) for degree, name in enumerate("abcdefgh")]
    communities = [
        community("small", 0, "ab"),
        community("big", 0, "cdefg"),
        community("big again", 1, "cde", "big"),  # divided on level 1
        community("rest", 1, "fg", "big"),
        community("small, level 1", 1, "ab", "small", same_as="small"),
        community("deep", 2, "cd", "big again"),
        community("e", 2, "e", "big again"),
        community("h", 0, "h"),
    ]
    tree = tree_of(communities, entities, {"rest"}, whole=True)
    assert [each.id for each in tree.regions] == ["big", "big again", "deep", "e", "rest", "small", ALONE]
    names = {each.id: "".join(entity.name for entity in tree.entities[each.first : each.last]) for each in tree.regions}
    # The entities with most relations come first.
    assert names == {
        "big": "dcegf",
        "big again": "dce",
        "deep": "dc",
        "e": "e",
        "rest": "gf",
        "small": "ba",
        ALONE: "h",
    }
    assert [each.parent for each in tree.regions] == [-1, 0, 1, 1, 0, -1, -1]
    assert [row for row, each in enumerate(tree.regions) if each.parent < 0] == [0, 5, 6]
    parents = {each.parent for each in tree.regions}
    assert all(each.own == each.last or row in parents for row, each in enumerate(tree.regions))


def test_a_community_divided_after_it_stood_again_keeps_its_parts() -> None:
    communities = [
        community("top", 0, "abc"),
        community("top again", 1, "abc", "top", same_as="top"),
        community("left", 2, "ab", "top again"),
        community("right", 2, "c", "top again"),
    ]
    tree = tree_of(communities, [entity(name) for name in "abc"], set(), whole=True)
    assert [(each.id, each.level, each.parent) for each in tree.regions] == [
        ("top", 0, -1),
        ("left", 2, 0),
        ("right", 2, 0),
    ]


def test_where_only_some_entities_are_drawn_small_parts_are_left_out() -> None:
    communities = [
        community("top", 0, "abcdef"),
        community("one left", 1, "abc", "top"),
        community("below one left", 2, "ab", "one left"),
        community("two left", 1, "def", "top"),
        community("gone", 0, "xyz"),
    ]
    tree = tree_of(communities, [entity(name) for name in "ade"], set(), whole=False)
    assert [each.id for each in tree.regions] == ["top", "two left"]
    top = tree.regions[0]
    assert [each.name for each in tree.entities[top.first : top.own]] == ["a"]
    assert (top.size, top.last - top.first) == (6, 3)


def test_a_hierarchy_of_any_depth_is_walked() -> None:
    communities = [community("0", 0, "ab")]
    communities += [community(str(level), level, "ab", str(level - 1)) for level in range(1, 3000)]
    tree = tree_of(communities, [entity("a"), entity("b")], set(), whole=True)
    assert len(tree.regions) == 3000
    assert all(each.last - each.first == 2 for each in tree.regions)
