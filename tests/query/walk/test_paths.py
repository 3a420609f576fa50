"""Paths between two entities, compared with those that networkx enumerates."""

import networkx
import numpy as np
import pytest
from conspectus.query.methods.plan.connecting_paths import connecting_paths
from conspectus.query.types.trace import Hop
from conspectus.query.walk.graph import KnowledgeGraph
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.query.walk.test_graph import made

EVERY = 10**9


def reference(graph: KnowledgeGraph, one: int, other: int, longest: int) -> list[tuple[int, ...]]:
    """Return all simple paths as rows of relations, the shortest length and one more."""
    drawn = networkx.MultiGraph()
    drawn.add_nodes_from(range(graph.n_entities))
    for row, (source, target) in enumerate(zip(graph.sources.tolist(), graph.targets.tolist(), strict=True)):
        drawn.add_edge(source, target, key=row)
    paths = networkx.all_simple_edge_paths(drawn, one, other, cutoff=longest) if one != other else []
    found = sorted(tuple(row for _, _, row in path) for path in paths)
    least = min((len(path) for path in found), default=0)
    return [path for path in found if len(path) <= least + 1]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2), st.integers(0, 6)), max_size=16),
    st.integers(0, 6), st.integers(0, 6), st.integers(1, 5),
)  # fmt: skip
def test_they_are_those_of_networkx(triples: list[tuple[int, int, int]], one: int, other: int, longest: int) -> None:
    graph = made(7, triples)
    found = connecting_paths(graph, one, other, longest=longest, enough=EVERY)
    assert sorted(tuple(hop.relation for hop in path) for path in found) == reference(graph, one, other, longest)
    assert [len(path) for path in found] == sorted(len(path) for path in found)
    for path in found:
        ends = [one, *(hop.end for hop in path)]
        assert (ends[-1], [hop.start for hop in path]) == (other, ends[:-1])
        for hop in path:
            stated = (int(graph.sources[hop.relation]), int(graph.targets[hop.relation]))
            assert stated == ((hop.start, hop.end) if hop.outgoing else (hop.end, hop.start))


def test_longer_ones_are_sought_only_where_short_ones_are_few() -> None:
    graph = made(4, [(0, 0, 1), (0, 1, 2), (2, 1, 1), (0, 2, 3), (3, 2, 2)])
    assert connecting_paths(graph, 0, 1, longest=4, enough=1) == [(Hop(0, 0, 1, True),)]
    assert [len(path) for path in connecting_paths(graph, 0, 1, longest=4, enough=2)] == [1, 2]


@pytest.mark.parametrize("hub", [3_000])
def test_two_hubs_are_joined_within_bounds(hub: int) -> None:
    between = [(0, 0, node) for node in range(2, hub)] + [(1, 1, node) for node in range(2, hub)]
    graph = made(hub, between)
    found = connecting_paths(graph, 0, 1, longest=4, enough=5)
    assert len(found) == 2_000
    assert np.all([len(path) == 2 for path in found])
