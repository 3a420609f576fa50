"""Communities of FastToG: the sampled neighbourhood, Louvain's method against networkx and igraph, candidates."""

import random

import igraph
import networkx as nx
import numpy as np
import pytest
from conspectus.query.methods.fasttog import local_search
from conspectus.query.methods.fasttog.communities import (
    SmallGraph,
    community_modularity,
    louvain,
    members,
    small_graph,
)
from conspectus.query.methods.fasttog.local_search import CommunitySearch, neighbourhood
from conspectus.query.methods.fasttog.text import Triple2Text, join_statements
from conspectus.query.walk.graph import KnowledgeGraph, graph_of
from conspectus.storage.graph.incremental_leiden import numbered
from conspectus.storage.settings import FastTogSettings
from hypothesis import given
from hypothesis import strategies as st


def graph(n: int, triples: list[tuple[int, int, int]]) -> KnowledgeGraph:
    """A graph of entities "0" to "n - 1" and triples (source, predicate, target)."""
    rows = np.array(triples, np.int64).reshape(-1, 3)
    said = [f"p{number}" for number in range(int(rows[:, 1].max(initial=-1)) + 1)]
    ids = [str(number) for number in range(max(n, len(rows)))]
    names = [str(number) for number in range(n)]
    return graph_of(names, said, rows[:, 0], rows[:, 2], rows[:, 1].astype(np.int32), ids, ids, [""] * len(rows))


def test_an_entity_n_hops_away_is_kept_with_rho_to_the_power_n_minus_1() -> None:
    # A hub with 2,000 neighbours, each of which has one neighbour, which has one again.
    n = 2000
    triples = [(0, 0, i) for i in range(1, n + 1)]
    triples += [(i, 0, i + n) for i in range(1, 2 * n + 1)]
    found = neighbourhood(
        graph(3 * n + 1, triples[n:]), tuple(range(1, n + 1)), rho=0.5, max_hops=3, max_nodes=9999, seed=1
    )
    one, two = (int((found.hops == hop).sum()) for hop in (1, 2))
    assert one == n, "those beside the community are all kept"
    assert two == pytest.approx(n * 0.5, rel=0.1)
    small = neighbourhood(graph(3 * n + 1, triples), (0,), rho=0.5, max_hops=3, max_nodes=9999, seed=1)
    counts = [int((small.hops == hop).sum()) for hop in (1, 2, 3)]
    assert counts[0] == 1000, "of an entity with very many edges not all are read"
    assert counts[1] == pytest.approx(500, rel=0.15)
    assert counts[2] == pytest.approx(500 * 0.25 * 2 * 0.5, rel=0.35), "its one draw is below 1/4, and so below 1/2"


def test_the_same_seed_keeps_the_same_entities_wherever_one_looks_from() -> None:
    whole = graph(60, [(i, 0, j) for i in range(6) for j in range(6, 60)])
    first = neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=3)
    assert np.array_equal(first.nodes, neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=3).nodes)
    assert not np.array_equal(first.nodes, neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=4).nodes)


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 2), st.integers(0, n - 1)), max_size=40),
            st.integers(0, n - 1),
            st.integers(1, 6),
            st.integers(0, 5),
        )
    )
)
def test_the_bounds_hold_and_all_is_connected(given: tuple[int, list[tuple[int, int, int]], int, int, int]) -> None:
    n, triples, start, most, seed = given
    found = neighbourhood(graph(n, triples), (start,), rho=0.5, max_hops=3, max_nodes=most, seed=seed)
    assert start in found.nodes
    assert len(found.nodes) <= most + 1
    assert found.hops.max() <= 3
    inside = set(found.nodes.tolist())
    stated = {(i, j) for i, _, j in triples}
    assert {(int(i), int(j)) for i, j in zip(found.sources, found.targets, strict=True)} == {
        (i, j) for i, j in stated if i in inside and j in inside
    }
    hops = dict(zip(found.nodes.tolist(), found.hops.tolist(), strict=True))
    for node, hop in hops.items():
        if hop:
            beside = {j for i, j in stated if i == node} | {i for i, j in stated if j == node}
            assert any(hops.get(each) == hop - 1 for each in beside)


def of(graph: nx.Graph) -> SmallGraph:
    return small_graph(graph.number_of_nodes(), np.array(graph.edges, np.int64).reshape(-1, 2))


def sets(partition: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(each.tolist()) for each in members(partition)}


def modularity(graph: SmallGraph, partition: np.ndarray) -> float:
    return float(community_modularity(graph, partition).sum() / (2 * len(graph.edges)))


@pytest.mark.parametrize("seed", range(5))
def test_modularity_is_that_of_networkx(seed: int) -> None:
    graph = nx.gnm_random_graph(25, 60, seed=seed)
    draw = np.random.default_rng(seed)
    found = numbered(draw.integers(0, 6, 25))
    plain = of(graph)
    assert modularity(plain, found) == pytest.approx(nx.community.modularity(graph, sets(found)))


@pytest.mark.parametrize("seed", range(5))
def test_louvain_is_as_good_as_igraph_where_the_communities_are_no_clear_ones(seed: int) -> None:
    graph = nx.gnm_random_graph(60, 150, seed=seed)
    small = of(graph)
    ours = modularity(small, louvain(small))
    reference = igraph.Graph.from_networkx(graph)
    random.seed(seed)  # igraph draws from it
    theirs = np.mean([reference.community_multilevel().modularity for _ in range(10)])
    assert ours > theirs - 0.01


@given(st.integers(1, 12).flatmap(lambda size: st.tuples(
    st.just(size), st.lists(st.tuples(st.integers(0, size - 1), st.integers(0, size - 1)), max_size=30)
)))  # fmt: skip
def test_a_bound_of_one_gives_single_nodes_and_communities_stay_connected(
    given: tuple[int, list[tuple[int, int]]],
) -> None:
    size, pairs = given
    graph = small_graph(size, pairs)
    assert len(sets(louvain(graph, 1))) == size
    drawn = nx.Graph(graph.edges.tolist())
    drawn.add_nodes_from(range(size))
    wholes = [set(each) for each in nx.connected_components(drawn)]
    assert all(any(part <= whole for whole in wholes) for part in sets(louvain(graph, 4))), "none crosses components"


# Entity 0 stands beside three triangles; a fourth, 10 to 12, hangs behind the first one.
TRIANGLES = [
    (a, 0, b) for start in (1, 4, 7, 10) for a, b in ((start, start + 1), (start + 1, start + 2), (start, start + 2))
]
WHOLE = [(0, 1, 1), (0, 1, 4), (0, 1, 7), *TRIANGLES, (3, 1, 10)]


@pytest.fixture
def whole(monkeypatch: pytest.MonkeyPatch) -> KnowledgeGraph:
    """Of this graph nothing within four hops is left out by chance."""
    monkeypatch.setattr(local_search, "_RHO", 1.0)
    monkeypatch.setattr(local_search, "_MAX_HOPS", 4)
    return graph(13, WHOLE)


def searching(whole: KnowledgeGraph, **chosen: int) -> CommunitySearch:
    near = np.zeros(len(whole.predicates), np.float32)
    return CommunitySearch(whole, FastTogSettings.model_validate({"max_community_size": 3, **chosen}), near)


def test_candidates_have_an_edge_to_the_community(whole: KnowledgeGraph) -> None:
    found = searching(whole).around((0,), set())
    assert {each.nodes for each in found.kept} == {(1, 2, 3), (4, 5, 6), (7, 8, 9)}
    assert (found.n_nodes, found.n_communities, found.apart, found.seen) == (12, 4, 1, 0)
    first = next(each for each in found.kept if each.nodes == (1, 2, 3))
    assert [WHOLE[row] for row in first.bridges] == [(0, 1, 1)]
    assert {WHOLE[row] for row in first.inside} == {(1, 0, 2), (2, 0, 3), (1, 0, 3)}
    assert first.origin == (0,)
    assert join_statements(Triple2Text(whole).statements([first])[0]) == "0 p1 1. 1 p0 2. 1 p0 3. 2 p0 3."


def test_coarse_pruning_keeps_the_highest_modularity(whole: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = searching(whole).around((0,), set())
    monkeypatch.setattr(local_search, "_COARSE_K", 1)
    few = searching(whole).around((0,), set())
    assert few.kept == everything.kept[:1]
    assert few.pruned == everything.kept[1:]
    outside = small_graph(12, [(a - 1, b - 1) for a, _, b in WHOLE if a and b])
    values = community_modularity(outside, louvain(outside, 3))
    assert few.kept[0].modularity == pytest.approx(values.max())
