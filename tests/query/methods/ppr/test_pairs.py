"""Pair scores against a loop that follows their definition; which passages are linked, by names and by titles."""

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.ppr.pairs import joined_by_titles, linked_by_names, score_pairs
from conspectus.query.question.linking import Links, open_linker
from conspectus.storage.arrays import Floats
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build


def plane_length(x: float, y: float, g: float) -> float:
    """Return the length of the projection on the plane of two unit vectors with cosine g of a unit vector that
    has the cosines x and y with them: by least squares, not by the closed form."""
    first = np.array([1.0, 0.0])
    second = np.array([g, np.sqrt(1 - g * g)])
    projection = np.linalg.solve(np.stack([first, second]), np.array([x, y]))
    return float(np.linalg.norm(projection))


def naive(
    closeness: Floats, similarity: Floats, linked: np.ndarray, joined: np.ndarray, held: Floats, weights: Floats
) -> tuple[list[float], list[float]]:
    def cover(*passages: int) -> float:
        return float(sum(w for term, w in enumerate(weights) if any(held[p, term] for p in passages)))

    together, titles = [], []
    for b in range(len(closeness)):
        pairs = [
            cover(a, b) * min(1.0, plane_length(closeness[a], closeness[b], min(max(similarity[a, b], -0.95), 0.95)))
            for a in range(len(closeness))
            if linked[a, b]
        ]
        together.append(float(max([cover(b) * max(0.0, closeness[b]), *pairs])))
        titles.append(max((cover(a, b) for a in range(len(closeness)) if joined[a, b]), default=0.0))
    return together, titles


def links(chance: np.random.Generator, n: int, share: float) -> np.ndarray:
    upper = np.triu(chance.random((n, n)) < share, 1)
    return upper | upper.T


@st.composite
def pools(draw: st.DrawFn) -> tuple[np.ndarray, ...]:
    n, t = draw(st.integers(1, 7)), draw(st.integers(0, 5))
    chance = np.random.default_rng(draw(st.integers(0, 10**6)))
    vectors = chance.normal(size=(n + 1, draw(st.integers(2, 6))))
    if draw(st.booleans()) and n > 1:
        vectors[1] = vectors[0] + 1e-3  # nearly parallel
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    held = (chance.random((n, t)) < 0.4).astype(float)
    weights = chance.random(t) + 0.01
    return (
        vectors[:n] @ vectors[n],
        vectors[:n] @ vectors[:n].T,
        links(chance, n, draw(st.sampled_from([0.0, 0.4, 1.0]))),
        links(chance, n, draw(st.sampled_from([0.0, 0.4, 1.0]))),
        held,
        weights / max(weights.sum(), 1e-9),
    )


@given(pools())
def test_scores_are_those_of_the_definition(pool: tuple[np.ndarray, ...]) -> None:
    found, (together, titles) = score_pairs(*pool), naive(*pool)
    np.testing.assert_allclose(found.together, together, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(found.titles, titles, rtol=1e-9, atol=1e-9)


def test_an_empty_pool_and_a_question_without_terms() -> None:
    none, no_links = np.zeros(0), np.zeros((0, 0), bool)
    assert score_pairs(none, np.zeros((0, 0)), no_links, no_links, np.zeros((0, 2)), np.ones(2) / 2).together.size == 0
    alone = np.zeros((1, 1), bool)
    one = score_pairs(np.ones(1), np.ones((1, 1)), alone, alone, np.zeros((1, 0)), none)
    assert (one.together.tolist(), one.titles.tolist()) == ([0.0], [0.0])


@pytest.fixture(scope="module")
def texts(build: Build) -> Context:
    return build(
        [
            ("Red Rock", "Red Rock is a film by Ilse Varga."),
            ("Ilse Varga", "Ilse Varga was born in Tihany on Lake Balaton."),
            ("Boats", "They sail on Lake Balaton in summer."),
            ("Boats", "Nobody sails in winter."),
            ("Other", "Nothing of that."),
        ]
    )


def title_pairs(context: Context, links: np.ndarray) -> set[frozenset[str]]:
    assert (links == links.T).all()
    assert not links.diagonal().any()
    names = [f"{context.titles[each.document_id]}: {each.text[:6]}" for each in context.chunks]
    return {frozenset({names[i], names[j]}) for i, j in zip(*np.nonzero(links), strict=True)}


def test_titles_join_their_holders_and_one_another(texts: Context) -> None:
    graph, rows = texts.index.graph(), np.arange(len(texts.chunks))
    assert title_pairs(texts, joined_by_titles(texts, graph, rows)) == {
        frozenset({"Red Rock: Red Ro", "Ilse Varga: Ilse V"}),
        frozenset({"Boats: They s", "Boats: Nobody"}),
    }


def test_names_link_unless_the_question_holds_them(texts: Context) -> None:
    graph, rows, n = texts.index.graph(), np.arange(len(texts.chunks)), len(texts.chunks)
    lake = frozenset({"Ilse Varga: Ilse V", "Boats: They s"})
    assert lake in title_pairs(texts, linked_by_names(graph, rows, Links((), ()), n))
    asked = open_linker(texts.index).link("Who was born on Lake Balaton?")
    assert asked.entity_rows
    assert lake not in title_pairs(texts, linked_by_names(graph, rows, asked, n))
