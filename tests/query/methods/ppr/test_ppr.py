"""Personalized PageRank: its seeds and priors, the second hop, and scores of pairs of passages."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.ppr.pairs import joined_by_titles, linked_by_names, score_pairs
from conspectus.query.methods.ppr.ppr import PprRetriever, best_chunks, priors, rank_passages
from conspectus.query.methods.ppr.second_hop import FirstPassage, Rewrite, matched_part, rewrite_question, second_hop
from conspectus.query.methods.ppr.seeds import TEXT_SEEDS, TextScores, personalization, text_scores
from conspectus.query.question.linking import Links, open_linker
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage, Step
from conspectus.storage.arrays import Floats
from conspectus.storage.graph.pagerank import PageRank
from conspectus.storage.records import Entity
from conspectus.storage.settings import PprSettings
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build

HOPS = (
    "In which city does the author of The Oak House live?",
    "Where does the winner of the Greenwell Award live?",
    "Which award did the author of The Oak House win?",
    "Where was C++ designed?",
)


def with_ppr(context: Context, **values: object) -> Context:
    ppr = PprSettings.model_validate({**context.settings.ppr.model_dump(), **values})
    return replace(context, settings=context.settings.model_copy(update={"ppr": ppr}))


def retrieve(context: Context, question: str, k: int = 5) -> tuple[Passage, ...]:
    return asyncio.run(PprRetriever(context).retrieve(question, k)).passages


def seeds(context: Context, question: str) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that the walk starts from, and their mass."""
    asked = open_question(context, question)
    near = text_scores(context, asked)
    return personalization(context, asked.links, near)


def test_push_and_exact_find_the_same(context: Context, questions: list[str]) -> None:
    exact = with_ppr(context, solver="exact")
    asked = [*questions, *HOPS]
    same = [
        [each.chunk_id for each in retrieve(context, question)] == [each.chunk_id for each in retrieve(exact, question)]
        for question in asked
    ]
    assert np.mean(same) >= 0.95, [question for question, equal in zip(asked, same, strict=True) if not equal]


def test_the_seeds(context: Context) -> None:
    """What is named, and what is near: each kind has its share of the mass, and nothing else has any."""
    nodes, mass = seeds(context, "Which award did Paul Marlow win?")
    row_of = {context.titles[chunk.document_id]: row for row, chunk in enumerate(context.chunks)}
    assert nodes[0] == row_of["Paul Marlow"]
    assert mass[0] == 1.0
    entities = [context.index.rows(Entity)[node - len(context.chunks)].name for node in nodes[1:-5]]
    assert entities == ["Paul Marlow"]
    assert mass[1:-5].sum() == pytest.approx(0.5)
    assert row_of["Greenwell Award"] in nodes[-5:]
    assert mass[-5:].sum() == pytest.approx(1.0)
    nodes, mass = seeds(context, "what is it called")
    assert mass.sum() == pytest.approx(1.0)  # nothing is named: only text seeds
    assert len(nodes) == TEXT_SEEDS


def test_a_chain_of_names_beats_words(build: Build) -> None:
    passages = {
        "The Glass Orchard": "The Glass Orchard is a film by Ilse Varga.",
        "Ilse Varga": "Ilse Varga was born in Tihany.",
        "Tihany": "Tihany is a village on a lake.",
    } | {f"Film {name}": f"A director was born in the country of the film {name}." for name in "ABCDEFGH"}
    context = build(passages.items())
    found = retrieve(context, "Where was the director of The Glass Orchard born?", 2)
    assert {each.title for each in found} == {"The Glass Orchard", "Ilse Varga"}


def test_text_scores_are_twice_the_cosine_plus_words(context: Context) -> None:
    question = "Who directed the film?"
    vector = context.embedder.embed_query(question)[np.newaxis]
    found = text_scores(context, open_question(context, question))
    words = context.bm25.scores("directed film").astype(float)
    cosines = context.chunk_vectors.scores(vector, found.rows)[0].astype(float)
    want = np.maximum(2 * cosines + words[found.rows] / words.max(), 0)
    np.testing.assert_allclose(found.scores, want)
    assert found.rows.tolist() == sorted(set(found.rows.tolist()))


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


LAWS = "What time does the county where Brook House is stop selling cider?"


@pytest.fixture(scope="module")
def states(build: Build) -> Context:
    """The house names its county; the laws of both counties are equally near to the question."""
    passages = {
        "Brook House": "The Brook House is a house in Elmford, Dorset, drawn by Edda Marsh.",
        "Cider laws of Dorset": "In Dorset, cider may be sold until 1:30 in the morning.",
        "Cider laws of Kent": "In Kent, cider may be sold until 1 in the morning. Cider is sold by the county.",
        "Dorset": "Dorset is a county.",
        "Kent": "Kent is a county where one stops selling at one time.",
    } | {f"Bar {letter}": f"Bar {letter} is a house that stops selling cider." for letter in "ABCDEFGH"}
    return build(passages.items())


def row_of(context: Context, title: str) -> int:
    return next(row for row, chunk in enumerate(context.chunks) if context.titles[chunk.document_id] == title)


def first(context: Context, question: str, title: str, weight: float = 1.0) -> FirstPassage:
    row, terms = row_of(context, title), open_question(context, question).terms
    return FirstPassage(row, weight, terms.contained_in(np.array([row]))[0])


def test_a_name_takes_the_place_of_what_its_passage_matches(states: Context) -> None:
    found = {
        each.name: each
        for each in rewrite_question(states, open_question(states, LAWS), [first(states, LAWS, "Brook House", 0.5)])
    }
    assert found["Dorset"].question == "What time does the county where Dorset is stop selling cider?"
    assert found["Dorset"].weight == 0.5
    chunks = {states.titles[states.chunks[row].document_id] for row in found["Dorset"].chunks}
    assert chunks == {"Cider laws of Dorset", "Dorset"}
    assert "Brook House" not in found  # the question says it already


def test_the_second_hop_finds_what_the_first_passage_leads_to(states: Context) -> None:
    found = rank_passages(states, LAWS, 5)
    assert not isinstance(found, Step)
    best = [states.titles[states.chunks[int(found.candidates.rows[place])].document_id] for place in found.order]
    assert best.index("Cider laws of Dorset") < best.index("Cider laws of Kent")
    laws = int(np.flatnonzero(found.candidates.rows == row_of(states, "Cider laws of Dorset"))[0])
    assert found.rewrites[found.hop.by[laws]].name == "Dorset"
    assert found.hop.gain[laws] > 0


def naive_sum(question: str, matches: dict[str, float]) -> float:
    """Return the largest sum of a run of words, by trying all runs."""
    values = [matches.get(word.key, 0.0) for word in words(question)]
    return max(sum(values[i:j]) for i in range(len(values) + 1) for j in range(i, len(values) + 1))


@given(
    st.lists(st.sampled_from("the of film director city lake where is born wrote".split()), max_size=9).map(" ".join),
    st.dictionaries(
        st.sampled_from("film director city lake born wrote".split()),
        st.floats(-1, 1).filter(lambda value: value == 0 or abs(value) > 1e-3),
    ),
)
def test_the_matched_part_is_the_run_of_the_largest_sum(question: str, matches: dict[str, float]) -> None:
    found = matched_part(words(question), [word.key for word in words(question)], matches)
    best = naive_sum(question, matches)
    if found is None:
        assert best == 0
        return
    start, end = found
    inside = [matches.get(word.key, 0.0) for word in words(question[start:end])]
    assert sum(inside) == pytest.approx(best)
    assert best > 0


def rewrite(name: str, weight: float, *chunks: int) -> Rewrite:
    return Rewrite(0, weight, name, f"... {name} ...", np.array(chunks))


def test_what_rewritten_questions_give_is_counted_by_hand() -> None:
    rows, closeness = np.array([7, 3, 9, 5]), np.array([0.5, 0.4, 0.3, 0.2])
    rewrites = [rewrite("one", 1.0, 3, 9), rewrite("two", 0.5, 3, 7)]
    cosines = np.array([[0.9, 0.6, 0.2, 0.9], [0.8, 1.0, 0.9, 0.9]])
    found = second_hop(rows, closeness, rewrites, cosines)
    assert found.fit.tolist() == pytest.approx([0.4, 0.6, 0.2, 0.0])
    assert found.gain.tolist() == pytest.approx([0.15, 0.3, 0.0, 0.0])
    assert found.by.tolist() == [1, 0, 0, -1]
    nothing = second_hop(rows, closeness, [], np.zeros((0, 4)))
    assert (nothing.fit.tolist(), nothing.by.tolist()) == ([0.0] * 4, [-1] * 4)


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
