import itertools
from collections.abc import Sequence
from random import Random

import igraph
import networkx
import numpy as np
import pytest
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.graph.edges import canonical_edges
from conspectus.storage.graph.leiden import Hierarchy, hierarchical_leiden, modularity
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from tests.storage.graph.hierarchies import Group, groups_at

Columns = tuple[Ints, Ints, Floats]


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, Columns]:
    n_nodes = draw(st.integers(1, 30))
    node = st.integers(0, n_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.sampled_from([0.0, 0.1, 0.2, 1.0, 3.0])), max_size=90))
    return n_nodes, columns(edges)


def columns(edges: list[tuple[int, int, float]]) -> Columns:
    return (
        np.array([e[0] for e in edges], dtype=np.int64),
        np.array([e[1] for e in edges], dtype=np.int64),
        np.array([e[2] for e in edges], dtype=np.float64),
    )


def from_networkx(graph: networkx.Graph) -> tuple[int, Columns]:
    return len(graph), columns([(u, v, float(w)) for u, v, w in graph.edges(data="weight", default=1.0)])


def planted(groups: int, size: int, seed: int) -> networkx.Graph:
    return networkx.planted_partition_graph(groups, size, 0.8, 0.01, seed=seed)


def divided(n_nodes: int, edges: Sequence[ArrayLike], **options: float) -> Hierarchy:
    return hierarchical_leiden(canonical_edges(n_nodes, *edges), **options)  # type: ignore[arg-type]


def distinct(hierarchy: Hierarchy) -> list[Group]:
    """Return every set of nodes once, by id."""
    return [
        each for level in range(len(hierarchy.levels)) for each in groups_at(hierarchy, level) if each.level == level
    ]


def sets(hierarchy: Hierarchy, level: int) -> list[list[int]]:
    return [community.members.tolist() for community in groups_at(hierarchy, level)]


def same(one: Hierarchy, other: Hierarchy) -> bool:
    def plain(hierarchy: Hierarchy) -> list[tuple[int, int | None, list[int], bool]]:
        return [(c.level, c.parent, c.members.tolist(), c.oversized) for c in distinct(hierarchy)]

    return plain(one) == plain(other) and [x.tolist() for x in one.levels] == [x.tolist() for x in other.levels]


@given(graphs(), st.integers(1, 8), st.integers(0, 3))
def test_the_laws_of_a_hierarchy(graph: tuple[int, Columns], size: int, seed: int) -> None:
    n_nodes, edges = graph
    hierarchy = divided(n_nodes, edges, seed=seed, max_cluster_size=size)
    communities = distinct(hierarchy)
    assert len(hierarchy) == len(communities)

    assert [c.id for c in communities] == list(range(len(communities)))
    order = [(c.level, int(c.members[0])) for c in communities]
    assert order == sorted(order)
    assert len({tuple(c.members.tolist()) for c in communities}) == len(communities), "a set appears twice"

    for level in range(len(hierarchy.levels)):
        assert sorted(itertools.chain(*sets(hierarchy, level))) == list(range(n_nodes)), "not a partition"
        for community in groups_at(hierarchy, level):
            assert (hierarchy.levels[level][community.members] == community.id).all()
        if level:
            pairs = {*zip(hierarchy.levels[level].tolist(), hierarchy.levels[level - 1].tolist(), strict=True)}
            assert len(pairs) == len(set(hierarchy.levels[level].tolist())), "does not refine the level above"
            assert any(c.level == level for c in communities), "a level without anything new"

    last = set(hierarchy.levels[-1].tolist())
    for community in communities:
        assert (np.diff(community.members) > 0).all()
        assert (community.parent is None) == (community.level == 0)
        if community.parent is not None:
            parent = communities[community.parent]
            assert parent.level == community.level - 1
            assert set(community.members.tolist()) < set(parent.members.tolist())
            assert len(parent.members) > size, "split although within the size"
        assert community.oversized == (len(community.members) > size and community.id in last)

    whole = networkx.Graph()
    whole.add_nodes_from(range(n_nodes))
    whole.add_edges_from((u, v) for u, v, w in zip(*(e.tolist() for e in edges), strict=True) if u != v and w > 0)
    assert all(networkx.is_connected(whole.subgraph(c.members.tolist())) for c in communities)
    for node in networkx.isolates(whole):
        assert communities[hierarchy.levels[0][node]].members.tolist() == [node]


@given(graphs(), st.randoms(use_true_random=False))
def test_order_and_direction_of_edges_do_not_matter(graph: tuple[int, Columns], random: Random) -> None:
    n_nodes, edges = graph
    rows = list(zip(*(e.tolist() for e in edges), strict=True))
    random.shuffle(rows)
    turned = columns([(t, s, w) if i % 2 else (s, t, w) for i, (s, t, w) in enumerate(rows)])
    one, other = (divided(n_nodes, e, seed=5, max_cluster_size=3) for e in (edges, turned))
    assert same(one, other)


@given(graphs(), st.sampled_from([2.0**-10, 2.0**10]))
def test_the_unit_of_the_weights_does_not_matter(graph: tuple[int, Columns], unit: float) -> None:
    n_nodes, (sources, targets, weights) = graph
    one, other = (divided(n_nodes, (sources, targets, weights * u), seed=5, max_cluster_size=3) for u in (1, unit))
    assert same(one, other)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("graph", [networkx.karate_club_graph(), planted(8, 12, 1), planted(20, 30, 2)])
def test_as_good_as_igraph(graph: networkx.Graph, seed: int) -> None:
    n_nodes, edges = from_networkx(graph)
    hierarchy = divided(n_nodes, edges, seed=seed)
    reference = igraph.Graph(n_nodes, np.column_stack(edges[:2])).community_leiden(
        objective_function="modularity", weights=edges[2].tolist(), n_iterations=10
    )
    best = modularity(canonical_edges(n_nodes, *edges), np.array(reference.membership))
    assert modularity(canonical_edges(n_nodes, *edges), hierarchy.levels[0]) >= best - 0.01


def test_splits_what_is_too_large_and_carries_down_the_rest() -> None:
    """Four pairs of cliques, each pair tied weakly: worth joining among others, worth splitting alone."""
    ties = [(u, v, 1.0 if u // 8 == v // 8 else 0.2) for u, v in itertools.combinations(range(64), 2)]
    edges = columns([tie for tie in ties if tie[0] // 16 == tie[1] // 16] + [(64, 65, 1.0)])
    hierarchy = divided(66, edges, seed=1, max_cluster_size=8)
    assert sets(hierarchy, 0) == [*[list(range(k, k + 16)) for k in range(0, 64, 16)], [64, 65]]
    assert sets(hierarchy, 1) == [[64, 65], *[list(range(k, k + 8)) for k in range(0, 64, 8)]]
    assert [community.parent for community in distinct(hierarchy)[5:]] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert hierarchy.levels[0][64] == hierarchy.levels[1][64] == 4
    assert not any(community.oversized for community in distinct(hierarchy))


@pytest.mark.parametrize(
    ("option", "value"),
    [("seed", -1), ("max_cluster_size", 0), ("resolution", 0.0)],
)
def test_refuses(option: str, value: float) -> None:
    options = {"seed": 1, option: value}
    with pytest.raises(ValueError, match=f"{option} must be .*, but is {value}"):
        divided(2, ([0], [1], [1.0]), **options)


@given(graphs(), st.lists(st.integers(-2, 3), min_size=30, max_size=30), st.sampled_from([0.5, 1.0, 2.0]))
def test_modularity_is_that_of_networkx(graph: tuple[int, Columns], labels: list[int], resolution: float) -> None:
    n_nodes, columns_of_edges = graph
    membership = labels[:n_nodes]
    edges = canonical_edges(n_nodes, *columns_of_edges)
    reference = networkx.Graph()
    reference.add_nodes_from(range(n_nodes))
    ends = (each.tolist() for each in (edges.lower, edges.upper, edges.weights))
    reference.add_weighted_edges_from(zip(*ends, strict=True))
    found = modularity(edges, np.array(membership), resolution)
    if edges.weights.sum() == 0:
        assert found == 0.0
        return
    parts = [{i for i in range(n_nodes) if membership[i] == label} for label in set(membership)]
    expected = networkx.community.modularity(reference, parts, resolution=resolution)
    assert found == pytest.approx(expected, abs=1e-9)
