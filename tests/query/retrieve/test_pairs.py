"""The pair scores against a loop that does what their definition says."""

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from query.retrieve.pairs import Floats, pair_scores


def plane_length(x: float, y: float, g: float) -> float:
    """Return the length of the projection on the plane of two unit vectors with cosine g of a unit vector that
    has the cosines x and y with them: by least squares, not by the closed form."""
    first = np.array([1.0, 0.0])
    second = np.array([g, np.sqrt(1 - g * g)])
    projection = np.linalg.solve(np.stack([first, second]), np.array([x, y]))
    return float(np.linalg.norm(projection))


def naive(
    walk: Floats, closeness: Floats, similarity: Floats, linked: np.ndarray, held: Floats, weights: Floats
) -> list[float]:
    def cover(*passages: int) -> float:
        return float(sum(w for term, w in enumerate(weights) if any(held[p, term] for p in passages)))

    scores = []
    for b in range(len(walk)):
        others = [a for a in range(len(walk)) if linked[a, b]]
        hop = max([(cover(a, b) - cover(a)) * walk[a] / walk.max() for a in others], default=0.0)
        together = [
            cover(a, b) * min(1.0, plane_length(closeness[a], closeness[b], min(max(similarity[a, b], -0.95), 0.95)))
            for a in others
        ]
        joint = max([cover(b) * max(0.0, closeness[b]), *together])
        scores.append(float(hop + joint))
    return scores


@st.composite
def pools(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    n, t = draw(st.integers(1, 7)), draw(st.integers(0, 5))
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    vectors = chance.normal(size=(n + 1, draw(st.integers(2, 6))))
    if draw(st.booleans()) and n > 1:
        vectors[1] = vectors[0] + 1e-3  # nearly parallel
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    linked = np.triu(chance.random((n, n)) < draw(st.sampled_from([0.0, 0.4, 1.0])), 1)
    held = (chance.random((n, t)) < 0.4).astype(float)
    weights = chance.random(t) + 0.01
    walk = chance.random(n) ** 3 + 1e-9
    return (
        walk,
        vectors[:n] @ vectors[n],
        vectors[:n] @ vectors[:n].T,
        linked | linked.T,
        held,
        weights / max(weights.sum(), 1e-9),
    )


@settings(max_examples=300, deadline=None)
@given(pools())
def test_scores_are_those_of_the_definition(pool: tuple[np.ndarray, ...]) -> None:
    np.testing.assert_allclose(pair_scores(*pool), naive(*pool), rtol=1e-9, atol=1e-9)


@settings(max_examples=50, deadline=None)
@given(pools(), st.randoms(use_true_random=False))
def test_the_order_of_the_pool_leaves_no_trace(pool: tuple[np.ndarray, ...], chance: random.Random) -> None:
    walk, closeness, similarity, linked, held, weights = pool
    order = list(range(len(walk)))
    chance.shuffle(order)
    turned = pair_scores(
        walk[order], closeness[order], similarity[order][:, order], linked[order][:, order], held[order], weights
    )
    np.testing.assert_allclose(turned, pair_scores(*pool)[order], rtol=1e-12, atol=1e-12)


def test_two_halves_of_a_question_outrank_a_passage_that_says_one_of_them_better() -> None:
    # 0 names the bridge, 1 is about it, 2 is near to the question but holds half of it and no link.
    walk = np.array([0.5, 0.2, 0.4])
    closeness = np.array([0.5, 0.4, 0.6])
    similarity = np.eye(3)
    linked = np.zeros((3, 3), bool)
    linked[0, 1] = linked[1, 0] = True
    held = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    scores = pair_scores(walk, closeness, similarity, linked, held, np.array([0.5, 0.5]))
    fit = np.hypot(0.5, 0.4)
    assert scores.tolist() == pytest.approx([0.5 * 0.4 + fit, 0.5 * 1.0 + fit, 0.5 * 0.6])


def test_an_empty_pool_and_an_empty_walk() -> None:
    none = np.zeros(0)
    assert pair_scores(none, none, np.zeros((0, 0)), np.zeros((0, 0), bool), np.zeros((0, 2)), np.ones(2) / 2).size == 0
    one = pair_scores(np.zeros(1), np.ones(1), np.ones((1, 1)), np.zeros((1, 1), bool), np.zeros((1, 0)), none)
    assert one.tolist() == [0.0]
