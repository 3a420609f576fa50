"""Louvain's method against networkx and igraph, and its bound."""

import random

import igraph
import networkx as nx
import numpy as np
import pytest
from conspectus.query.methods.fasttog.communities import (
    SmallGraph,
    community_modularity,
    louvain,
    members,
    small_graph,
)
from conspectus.storage.graph.incremental_leiden import numbered
from hypothesis import given
from hypothesis import strategies as st


def of(graph: nx.Graph) -> SmallGraph:
    return small_graph(graph.number_of_nodes(), np.array(graph.edges, np.int64).reshape(-1, 2))


def sets(partition: np.ndarray) -> set[frozenset[int]]:
    return {frozenset(each.tolist()) for each in members(partition)}


def planted(seed: int) -> nx.Graph:
    return nx.planted_partition_graph(5, 8, 0.9, 0.02, seed=seed)


def modularity(graph: SmallGraph, partition: np.ndarray) -> float:
    return float(community_modularity(graph, partition).sum() / (2 * len(graph.edges)))


def largest(partition: np.ndarray) -> int:
    return max(map(len, sets(partition)), default=0)


def test_graphs_without_edges_or_nodes_are_divided_too() -> None:
    for size in (0, 1, 5):
        graph = small_graph(size, [])
        assert largest(louvain(graph, 4)) <= min(size, 4)
        assert len(louvain(graph)) == size


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


def test_clear_communities_are_found() -> None:
    cliques = nx.ring_of_cliques(6, 4)
    found = louvain(of(cliques), 4)
    assert sets(found) == {frozenset(range(at, at + 4)) for at in range(0, 24, 4)}
    assert sets(louvain(of(planted(3)))) == {frozenset(range(at, at + 8)) for at in range(0, 40, 8)}


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
