"""Prizes by rank, and what an edge then costs."""

import numpy as np
import pytest
from conspectus.query.methods.gretriever.retrieval import edge_prizes, lowered, rank_prizes
from hypothesis import given
from hypothesis import strategies as st


def test_nodes_are_worth_their_rank() -> None:
    assert rank_prizes([4, 2, 4, 9, 1], 3) == {4: 3.0, 2: 2.0, 9: 1.0}
    assert rank_prizes([4], 0) == {}


def test_ties_go_to_the_smaller_number() -> None:
    assert edge_prizes(np.array([9, 4]), np.array([0.5, 0.5]), 1).tolist() == [0.0, 1.0]


@given(st.lists(st.integers(0, 5), max_size=30), st.integers(0, 8))
def test_prizes_are_shared_and_fall_with_the_rank(texts: list[int], k: int) -> None:
    numbers = np.array(texts, np.int64)
    closeness = -numbers.astype(float)  # the smaller number is nearer
    prizes = edge_prizes(numbers, closeness, k)
    for rank, text in enumerate(sorted(set(texts))):
        held = prizes[numbers == text]
        assert len(set(held.tolist())) == 1
        assert held.sum() <= k - rank + 1e-9 if rank < k else not held.any()
    by_text = [float(prizes[numbers == text][0]) for text in sorted(set(texts))]
    assert by_text == sorted(by_text, reverse=True)


def test_an_edge_costs_less_than_the_best_is_worth() -> None:
    assert lowered(0.5, np.array([0.2, 0.1])) == pytest.approx(0.199)
    assert lowered(0.5, np.array([0.7])) == 0.5
    assert lowered(0.5, np.array([])) == 0.5
