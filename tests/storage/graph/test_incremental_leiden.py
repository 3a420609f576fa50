import itertools
from random import Random

import networkx
import numpy as np
from conspectus.storage.arrays import Bools
from conspectus.storage.graph.edges import Edges, canonical_edges
from conspectus.storage.graph.incremental_leiden import changed_nodes, is_worse, losses, moved_nodes, updated_leiden
from conspectus.storage.graph.leiden import Hierarchy, hierarchical_leiden, modularity
from hypothesis import given
from hypothesis import strategies as st

from tests.storage.graph.hierarchies import groups_at

Weights = dict[tuple[int, int], float]


def edges_of(n_nodes: int, weights: Weights) -> Edges:
    ends = np.array(list(weights), np.int64).reshape(-1, 2)
    return canonical_edges(n_nodes, ends[:, 0], ends[:, 1], np.array(list(weights.values()), np.float64))


def fresh(edges: Edges, size: int = 4) -> Hierarchy:
    return hierarchical_leiden(edges, seed=1, max_cluster_size=size)


def updated(edges: Edges, before: Hierarchy, changed: Bools, size: int = 4) -> Hierarchy:
    new = edges.n_nodes - len(before.levels[0])
    labels = [np.concatenate([each, np.full(new, -1, np.int64)]) for each in before.levels]
    return updated_leiden(edges, labels, changed, seed=1, max_cluster_size=size)


def sets(hierarchy: Hierarchy, level: int) -> set[tuple[int, ...]]:
    return {tuple(each.members.tolist()) for each in groups_at(hierarchy, level)}


@st.composite
def changes(draw: st.DrawFn) -> tuple[int, Weights, int, Weights]:
    """A graph, and the same with some nodes more and some edges other; the old nodes keep their numbers."""
    n_before = draw(st.integers(1, 24))
    n_after = n_before + draw(st.integers(0, 4))

    def some(n_nodes: int, most: int) -> Weights:
        node = st.integers(0, n_nodes - 1)
        pairs = st.tuples(node, node).filter(lambda pair: pair[0] < pair[1])
        weights = st.sampled_from([0.2, 1.0, 3.0])
        return draw(st.dictionaries(pairs, weights, max_size=most)) if n_nodes > 1 else {}

    before = some(n_before, 70)
    gone = draw(st.sets(st.sampled_from(sorted(before)), max_size=4)) if before else set()
    kept = {pair: weight for pair, weight in before.items() if pair not in gone}
    return n_before, before, n_after, {**kept, **some(n_after, 6)}


def connected(edges: Edges, members: list[int]) -> bool:
    graph = networkx.Graph(list(zip(edges.lower.tolist(), edges.upper.tolist(), strict=True)))
    graph.add_nodes_from(members)
    return bool(networkx.is_connected(graph.subgraph(members)))


@given(changes())
def test_a_node_is_changed_where_an_edge_of_it_is(change: tuple[int, Weights, int, Weights]) -> None:
    n_before, before, n_after, after = change
    found = changed_nodes(edges_of(n_after, after), edges_of(n_before, before), np.arange(n_before))
    differing = {pair for pair in {*before, *after} if before.get(pair) != after.get(pair)}
    assert set(np.flatnonzero(found).tolist()) == {node for pair in differing for node in pair}


def test_the_neighbours_of_what_is_gone_are_changed() -> None:
    before = edges_of(5, {(0, 1): 1.0, (1, 2): 1.0, (3, 4): 1.0})
    now = edges_of(4, {(0, 1): 1.0, (2, 3): 1.0})  # without node 2; 3 and 4 are 2 and 3 now
    assert changed_nodes(now, before, np.array([0, 1, -1, 2, 3])).tolist() == [False, True, False, False]


@given(changes(), st.integers(1, 6))
def test_the_laws_of_an_updated_hierarchy(change: tuple[int, Weights, int, Weights], size: int) -> None:
    n_before, before, n_after, after = change
    old, now = edges_of(n_before, before), edges_of(n_after, after)
    changed = changed_nodes(now, old, np.arange(n_before))
    hierarchy = updated(now, fresh(old, size), changed, size)
    for labels in hierarchy.levels:
        assert labels.shape == (n_after,)
    for coarse, fine in itertools.pairwise(hierarchy.levels):
        for label in np.unique(fine):
            assert len(np.unique(coarse[fine == label])) == 1
    for level in range(len(hierarchy.levels)):
        for each in groups_at(hierarchy, level):
            assert connected(now, each.members.tolist())
            inside = each.id in np.unique(hierarchy.levels[-1])
            assert each.oversized == (inside and len(each.members) > size)
    again = updated(now, fresh(old, size), changed, size)
    assert [each.tolist() for each in again.levels] == [each.tolist() for each in hierarchy.levels]


@given(changes(), st.integers(1, 6))
def test_where_nothing_changed_everything_stays(change: tuple[int, Weights, int, Weights], size: int) -> None:
    n_nodes, before, _, _ = change
    edges = edges_of(n_nodes, before)
    old = fresh(edges, size)
    new = updated(edges, old, np.zeros(n_nodes, bool), size)
    assert len(new.levels) == len(old.levels)
    assert all(sets(new, level) == sets(old, level) for level in range(len(old.levels)))


def test_a_change_moves_only_what_is_near() -> None:
    rng = Random(3)
    planted = networkx.planted_partition_graph(30, 12, 0.6, 0.01, seed=3)
    weights: Weights = {(min(pair), max(pair)): rng.choice([1.0, 2.0]) for pair in planted.edges}
    n_nodes = len(planted)
    old = edges_of(n_nodes, weights)
    hierarchy = fresh(old, 10)
    # One node more, joined to three of the first group; one edge of another group less.
    after = {**weights, (0, n_nodes): 2.0, (1, n_nodes): 2.0, (2, n_nodes): 1.0}
    del after[next(pair for pair in after if pair[0] == 100)]
    now = edges_of(n_nodes + 1, after)
    changed = changed_nodes(now, old, np.arange(n_nodes))
    assert changed.sum() == 6
    new = updated(now, hierarchy, changed, 10)
    for level in range(len(hierarchy.levels)):
        assert len(sets(hierarchy, level) - sets(new, level)) <= 8
    home = next(each for each in groups_at(new, 0) if n_nodes in each.members)
    assert {0, 1, 2} <= set(home.members.tolist())
    best, found = (modularity(now, each.levels[0]) for each in (fresh(now, 10), new))
    assert found > 0.99 * best


def test_losses_are_shares_of_modularity_by_level() -> None:
    graph = networkx.planted_partition_graph(4, 6, 0.9, 0.05, seed=1)
    edges = edges_of(24, {(min(pair), max(pair)): 1.0 for pair in graph.edges})
    good = fresh(edges, 30)
    labels = np.arange(24) // 12
    bad = updated_leiden(edges, [labels], np.zeros(24, bool), seed=1, max_cluster_size=30)
    best, worst = (modularity(edges, each.levels[0]) for each in (good, bad))
    assert best > worst
    assert losses(good, bad, edges) == [(best - worst) / best]
    assert losses(good, good, edges) == [0]
    assert is_worse(losses(good, bad, edges))
    assert not is_worse(losses(bad, good, edges))


@given(changes(), st.data())
def test_moved_nodes_are_where_modularity_is_largest(
    change: tuple[int, Weights, int, Weights], data: st.DataObject
) -> None:
    _, _, n_nodes, weights = change
    labels = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_nodes, max_size=n_nodes)), np.int64)
    labels = np.unique(labels, return_inverse=True)[1]
    free = np.array(data.draw(st.lists(st.booleans(), min_size=n_nodes, max_size=n_nodes)), np.bool_)
    graph = networkx.Graph()
    graph.add_nodes_from(range(n_nodes))
    graph.add_weighted_edges_from((*pair, weight) for pair, weight in weights.items())
    if not weights:
        return
    found = moved_nodes(networkx.to_scipy_sparse_array(graph, nodelist=range(n_nodes), format="csr"), labels, free, 1.0)

    def quality(division: np.ndarray) -> float:
        communities = [set(np.flatnonzero(division == label).tolist()) for label in np.unique(division)]
        return float(networkx.community.modularity(graph, communities))

    fixed = np.flatnonzero(~free)
    assert ((found[fixed, None] == found[fixed]) == (labels[fixed, None] == labels[fixed])).all(), "these stay together"
    assert quality(found) >= quality(labels) - 1e-9
    for node in np.flatnonzero(free):
        for label in range(int(found.max()) + 2):
            other = found.copy()
            other[node] = label
            assert quality(other) <= quality(found) + 1e-6
