"""Solvers: what pcst_fast gives is only taken where it is a tree."""

from importlib.util import find_spec

import numpy as np
import pytest
from conspectus.query.methods.gretriever.retrieval import checked, solve

ENDS = np.array([[0, 1], [1, 2], [2, 3], [0, 3]])
COSTS = np.array([1.0, 1.0, 1.0, 5.0])
PRIZES = np.array([3.0, 0.0, 3.0, 0.5])


def test_our_own_solver_finds_the_best_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conspectus.query.methods.gretriever.retrieval.find_spec", lambda _: None)
    solved = solve(ENDS, COSTS, PRIZES)
    assert (solved.tree.nodes.tolist(), solved.tree.edges.tolist()) == ([0, 1, 2], [0, 1])
    assert solved.solver == "own"
    assert not solved.why


def test_a_right_tree_is_taken_in_order() -> None:
    solved = checked(ENDS, COSTS, PRIZES, np.array([2, 0, 1]), np.array([1, 0]))
    assert (solved.tree.nodes.tolist(), solved.tree.edges.tolist()) == ([0, 1, 2], [0, 1])
    assert solved.tree.profit == 4.0
    assert solved.solver == "pcst_fast"


@pytest.mark.parametrize(
    ("nodes", "edges", "why"),
    [
        ([0, 0, 0], [0, 0], "invalid or repeated nodes"),
        ([], [], "invalid or repeated nodes"),
        ([0, 1, 2], [0, 0], "invalid or repeated edges"),
        ([0, 1, 2], [0], "no connected tree"),
        ([3], [], "less than the prize of one node"),
    ],
)
def test_what_is_no_tree_is_told_and_solved_anew(nodes: list[int], edges: list[int], why: str) -> None:
    solved = checked(ENDS, COSTS, PRIZES, np.array(nodes, np.int64), np.array(edges, np.int64))
    assert solved.tree.profit == 4.0
    assert solved.solver == "own"
    assert why in solved.why


def test_a_forest_with_a_ring_is_no_tree() -> None:
    ends = np.array([[0, 1], [1, 2], [0, 2], [3, 4]])
    prizes = np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    solved = checked(ends, np.full(4, 0.1), prizes, np.array([0, 1, 2, 3]), np.array([0, 1, 2]))
    assert "no connected tree" in solved.why


@pytest.mark.skipif(find_spec("pcst_fast") is None, reason="pcst_fast is not installed")
def test_pcst_fast_is_as_good_or_told() -> None:
    solved = solve(ENDS, COSTS, PRIZES)
    assert solved.tree.profit == 4.0
    assert solved.solver == "pcst_fast" or solved.why
