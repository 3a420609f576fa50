from itertools import pairwise

import pytest
from conspectus.render.node_link import Edge, Kind, Node, cut, drawing, elements, layered, wrapped
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[float], list[tuple[int, int]]]:
    columns = sorted(draw(st.lists(st.integers(0, 4), min_size=1, max_size=12)))
    node = st.integers(0, len(columns) - 1)
    heights = [float(height) for height in draw(st.lists(st.integers(1, 90), min_size=12, max_size=12))]
    return columns, heights[: len(columns)], draw(st.lists(st.tuples(node, node), max_size=20))


@given(graphs())
def test_nothing_stands_on_anything_else(graph: tuple[list[int], list[float], list[tuple[int, int]]]) -> None:
    columns, heights, edges = graph
    centres, passing = layered(columns, heights, edges)
    taken: dict[int, list[tuple[float, float]]] = {}
    for column, height, centre in zip(columns, heights, centres, strict=False):
        taken.setdefault(column, []).append((centre - height / 2, centre + height / 2))
    for (source, target), passed in zip(edges, passing, strict=True):
        assert len(passed) == max(columns[target] - columns[source] - 1, 0)
        for column, item in enumerate(passed, start=columns[source] + 1):
            taken.setdefault(column, []).append((centres[item] - 13, centres[item] + 13))
    for places in taken.values():
        places.sort()
        for (_, end), (start, _) in pairwise(places):
            assert start >= end - 1e-9
        assert places[0][0] == pytest.approx(-places[-1][1]), "columns are centred"
    assert layered(columns, heights, edges) == (centres, passing)


def test_a_node_stands_where_its_neighbours_do() -> None:
    assert layered([0, 0, 1, 1], [10] * 4, [(0, 3), (1, 2)])[0] == [-5, 5, 5, -5]


def test_edges_of_two_nodes_are_one_line() -> None:
    nodes = [Node(0, Kind.START, "a", ("a",)), Node(1, Kind.STEP, "b", ("b",), (), frozenset({"b"}))]
    edges = [Edge((0, 0), (1, 0), "likes", "a likes b"), Edge((1, 0), (0, 0), "knows", "b knows a")]
    picture = drawing([(nodes, [*edges, Edge((1, 0), (1, 0), "is", "b is b")])], "q", "", "t", "d")
    assert picture.count("<title>a likes b; b knows a</title>") == picture.count(">likes, knows</text>") == 1
    assert (picture.count("marker-end="), picture.count("marker-start=")) == (2, 1)
    assert (picture.count(">answer</text>"), picture.count(">step</text>")) == (1, 0)


def test_wrapping_keeps_every_sign() -> None:
    assert wrapped("北京大学在哪里", 4, 9) == ["北京", "大学", "在哪", "里"]
    assert wrapped("incomprehensibilities of it", 8, 9) == ["incompre", "hensibil", "ities of", "it"]
    assert (wrapped("", 8, 9), wrapped("a b c", 1, 2), cut("北京大学", 5)) == ([], ["a", "…"], "北京…")


def test_a_page_gets_a_drawing_as_wide_as_it_has_room_without_heading_and_legend() -> None:
    nodes = [Node(at, Kind.ENTITY, f"node {at}", (f"node {at}",), entities=(f"id {at}",)) for at in range(3)]
    edges = [Edge((0, 0), (1, 0), "to", "to"), Edge((1, 0), (2, 0), "to", "to")]
    whole = elements(drawing([(nodes, edges)], "Who?", "told", "title", "description"))
    narrow = elements(drawing([(nodes, edges)], "Who?", "told", "title", "description", 600))
    assert narrow[0] == "svg"
    assert 560 < float(narrow[1]["width"]) <= 600 < float(whole[1]["width"])
    assert ("Who?" in str(whole), "Who?" in str(narrow)) == (True, False)
    assert [f"'data-entity': 'id {at}'" in str(narrow) for at in range(3)] == [True] * 3
