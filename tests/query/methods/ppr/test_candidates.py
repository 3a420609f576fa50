"""The pool: what a passage has before it is compared with the question."""

import numpy as np
import pytest
from conspectus.query.methods.ppr.candidates import best_chunks, led_mass, priors, with_others
from conspectus.query.methods.ppr.seeds import TextScores
from conspectus.storage.graph.pagerank import PageRank

WALK = PageRank(np.array([1, 2, 4, 9]), np.array([0.2, 0.1, 0.3, 0.4]), 0.0, 1, "push")  # 9 is an entity
NEAR = TextScores(np.array([0, 2]), np.array([1.0, 2.0]))


def test_the_prior_is_the_walk_and_a_tail() -> None:
    found = priors(WALK, NEAR, np.array([4, 2, 0, 3]))
    assert found.tolist() == pytest.approx([0.3, 0.1 + 0.003, 0.003 / 16, 0.0])


def test_the_best_chunks_are_those_reached_or_near() -> None:
    assert best_chunks(WALK, NEAR, 5, 10).tolist() == [4, 1, 2, 0]
    assert best_chunks(WALK, NEAR, 5, 2).tolist() == [4, 1]


def test_nothing_near_and_nothing_reached() -> None:
    none = TextScores(np.zeros(0, np.int64), np.zeros(0))
    assert best_chunks(WALK, none, 5, 10).tolist() == [4, 1, 2]
    nowhere = PageRank(np.zeros(0, np.int64), np.zeros(0), 0.0, 0, "push")
    assert priors(nowhere, none, np.array([0, 1])).tolist() == [0.0, 0.0]


def test_others_come_after_the_pool_each_once() -> None:
    pool = np.array([4, 1])
    assert with_others(pool, [np.array([1, 3]), np.array([0, 3])]).tolist() == [4, 1, 0, 3]
    assert with_others(pool, []).tolist() == [4, 1]


def test_the_best_fits_share_the_mass_by_how_far_they_are_above_the_next() -> None:
    fit = np.array([0.0, 0.9, 0.5, 0.7, 0.6, 0.6, 0.5])
    found = led_mass(np.arange(7), fit)
    assert found.sum() == pytest.approx(0.06)
    assert found.argmax() == 1
    assert found[0] == 0
    assert found[1] == pytest.approx(0.06 * 0.4 / 0.8)
    assert led_mass(np.arange(3), np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
