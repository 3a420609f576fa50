"""Building trees anew: never worse, and on random graphs at least as good as what pcst_fast found."""

import numpy as np
import pytest
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pcst import prize_collecting_tree
from conspectus.storage.graph.pcst_growth import grow
from conspectus.storage.graph.pcst_local_search import improved
from conspectus.storage.graph.pcst_pruning import best_subtree
from conspectus.storage.graph.pcst_reduction import contract
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.storage.graph.test_pcst import check_tree, random_problem

# Profits of pcst_fast 1.0.10 (no root, strong pruning), by `benchmarks/pcst.py --reference`, seeds from 0.
RANKS = (36, 31, 33, 36, 35, 32, 31, 34, 35, 29, 37, 30, 30, 34, 25, 32, 39, 35, 34, 34)
TWENTY = (52.935689, 36.360652, 40.998165, 43.461903, 54.599172, 30.459673, 43.090368, 41.548768)


def thousand_nodes(seed: int, kind: str) -> tuple[Rows, Floats, Floats]:
    """Return a graph as the benchmark makes it: prizes by rank and equal costs, or twenty prizes."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, 1000, (int(rng.choice([1500, 3000, 5000])), 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    prizes, costs = np.zeros(1000), rng.random(len(ends))
    if kind == "twenty":
        prizes[rng.choice(1000, 20, replace=False)] = rng.random(20) * 5
        return ends, costs, prizes
    prizes[rng.choice(1000, 10, replace=False)] = np.arange(10, 0, -1.0)
    return ends, np.ones(len(ends)), prizes


@pytest.mark.parametrize(
    ("kind", "seed", "theirs"),
    [("ranks", seed, each) for seed, each in enumerate(RANKS)]
    + [("twenty", seed, each) for seed, each in enumerate(TWENTY)],
)
def test_at_least_what_pcst_fast_finds(kind: str, seed: int, theirs: float) -> None:
    ends, costs, prizes = thousand_nodes(seed, kind)
    tree = prize_collecting_tree(ends, costs, prizes)
    check_tree(tree, ends, costs, prizes)
    assert tree.profit >= theirs - 1e-6


@given(st.integers(0, 10_000))
@settings(max_examples=60, deadline=None)
def test_no_tree_gets_worse_and_free_edges_are_edges(seed: int) -> None:
    ends, costs, prizes = random_problem(seed, most_nodes=20)
    if not prizes.any():
        return
    costs = np.where(np.random.default_rng(seed).random(len(costs)) < 0.3, 0.0, costs)
    before = best_subtree(ends, costs, prizes, grow(ends, costs, prizes))
    after = improved(ends, costs, prizes, before)
    check_tree(after, ends, costs, prizes)
    assert after.profit >= before.profit


def test_a_node_alone_grows_into_the_best_tree() -> None:
    ends, costs = np.array([[0, 3], [1, 3], [2, 3], [0, 1], [1, 2]]), np.array([1.0, 1.0, 1.0, 1.9, 1.9])
    prizes = np.array([2.0, 2.0, 2.0, 0.0])
    alone = best_subtree(ends, costs, prizes, np.empty(0, np.int64))
    assert alone.nodes.tolist() == [0]
    assert improved(ends, costs, prizes, alone).nodes.tolist() == [0, 1, 2, 3]


def test_an_edge_that_two_cheaper_ones_undercut_goes() -> None:
    ends, costs = np.array([[0, 1], [0, 2], [1, 2], [2, 3]]), np.array([3.0, 1.4, 1.5, 9.0])
    small = contract(ends, costs, np.array([1.0, 1.0, 0.5, 0.0]))
    assert small.rows.tolist() == [1, 2, 3]
    assert contract(ends, costs[[1, 0, 2, 3]], np.array([1.0, 1.0, 0.5, 0.0])).rows.tolist() == [0, 2, 3]
    assert len(contract(ends, np.array([2.3, 1.4, 1.5, 9.0]), np.array([1.0, 1.0, 0.5, 0.0])).rows) == 4
