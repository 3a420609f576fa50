"""Prize-collecting Steiner trees against the optimum, against laws, and on cases that can be told by hand."""

from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pcst import SteinerTree, grow, prize_collecting_tree
from hypothesis import given
from hypothesis import strategies as st


def random_problem(seed: int, most_nodes: int) -> tuple[Rows, Floats, Floats]:
    """Return a graph with loops and parallel edges among its own; every third has prizes by rank and equal costs."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, most_nodes + 1))
    m = int(rng.integers(1, 2 * n + 1))
    ends = rng.integers(0, n, (m, 2))
    if seed % 3 == 0:
        prizes = np.zeros(n)
        best = rng.permutation(n)[: min(3, n)]
        prizes[best] = np.arange(len(best), 0, -1)
        return ends, np.ones(m), prizes
    return ends, rng.random(m), rng.random(n) * (rng.random(n) < 0.6)


def optimum(ends: Rows, costs: Floats, prizes: Floats) -> float:
    """Return the greatest profit: the cheapest spanning tree of every connected set of nodes, by networkx."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(prizes)))
    for (one, other), cost in zip(ends.tolist(), costs.tolist(), strict=True):
        if one != other and (not graph.has_edge(one, other) or graph[one][other]["weight"] > cost):
            graph.add_edge(one, other, weight=cost)
    best = 0.0
    nodes = range(len(prizes))
    sets = [each for size in range(1, len(prizes) + 1) for each in combinations(nodes, size)]
    for members in sorted(sets, key=lambda each: -prizes[list(each)].sum()):
        worth = float(prizes[list(members)].sum())
        if worth <= best:
            break
        part = graph.subgraph(members)
        if part.number_of_edges() >= len(members) - 1 and nx.is_connected(part):
            cost = sum(data["weight"] for *_, data in nx.minimum_spanning_edges(part, data=True))
            best = max(best, worth - cost)
    return best


def check_tree(tree: SteinerTree, ends: Rows, costs: Floats, prizes: Floats) -> None:
    graph = nx.MultiGraph()
    graph.add_nodes_from(tree.nodes.tolist())
    graph.add_edges_from(ends[tree.edges].tolist())
    assert set(graph) == set(tree.nodes.tolist())
    assert nx.is_tree(graph)
    assert tree.profit == pytest.approx(prizes[tree.nodes].sum() - costs[tree.edges].sum())


@pytest.mark.parametrize("seed", range(200))
def test_costs_and_left_out_prizes_are_at_most_twice_the_least(seed: int) -> None:
    ends, costs, prizes = random_problem(seed, most_nodes=12 if seed % 20 == 0 else 9)
    tree = prize_collecting_tree(ends, costs, prizes)
    if not prizes.any():
        assert not len(tree.nodes)
        return
    check_tree(tree, ends, costs, prizes)
    total = float(prizes.sum())
    least = total - optimum(ends, costs, prizes)
    assert least - 1e-9 <= total - tree.profit <= 2 * least + 1e-9


@given(st.integers(0, 10_000))
def test_what_is_grown_is_a_forest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    ends, costs = rng.integers(0, 60, (150, 2)), rng.random(150)
    forest = grow(ends, costs, rng.random(60) * (rng.random(60) < 0.5))
    graph = nx.MultiGraph(ends[forest].tolist())
    assert not len(forest) or nx.is_forest(graph)


@pytest.mark.parametrize(
    ("ends", "costs", "prizes", "said"),
    [
        ([[0, 2]], [1.0], [1.0, 1.0], "outside 0 .. 1"),
        ([[0, 1]], [-1.0], [1.0, 1.0], "cost"),
        ([[0, 1]], [1.0], [1.0, float("inf")], "prize"),
        ([[0, 1]], [1.0, 2.0], [1.0, 1.0], "shape"),
    ],
)
def test_what_is_no_problem_is_refused(
    ends: list[list[int]], costs: list[float], prizes: list[float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        prize_collecting_tree(ends, costs, prizes)
