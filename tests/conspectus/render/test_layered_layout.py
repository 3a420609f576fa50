from itertools import pairwise

from conspectus.render.layered_layout import layered
from hypothesis import given
from hypothesis import strategies as st


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[int], list[tuple[int, int]]]:
    layers = sorted(draw(st.lists(st.integers(0, 4), min_size=1, max_size=12)))
    node = st.integers(0, len(layers) - 1)
    return layers, draw(st.lists(st.tuples(node, node), max_size=20))


@given(graphs())
def test_nothing_stands_on_anything_else(graph: tuple[list[int], list[tuple[int, int]]]) -> None:
    layers, edges = graph
    found = layered(layers, edges)
    taken: dict[int, list[tuple[float, float]]] = {}
    for layer, height in zip(layers, found.heights, strict=True):
        taken.setdefault(layer, []).append((height - 0.5, height + 0.5))
    for (source, end), passed in zip(edges, found.through, strict=True):
        assert len(passed) == max(layers[end] - layers[source] - 1, 0)
        for layer, height in enumerate(passed, start=layers[source] + 1):
            taken.setdefault(layer, []).append((height - 0.2, height + 0.2))
    for places in taken.values():
        places.sort()
        for (_, end), (start, _) in pairwise(places):
            assert start >= end - 1e-9
        assert -found.extent / 2 - 1e-9 <= places[0][0]
        assert places[-1][1] <= found.extent / 2 + 1e-9
    assert layered(layers, edges) == found


def test_a_node_stands_where_its_neighbours_do() -> None:
    found = layered([0, 0, 1, 1], [(0, 3), (1, 2)])
    assert found.heights == (-0.5, 0.5, 0.5, -0.5)
