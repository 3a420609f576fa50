import asyncio
from dataclasses import replace

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.methods.ppr.ppr import PprRetriever, best_chunks, priors, second_hop_prior
from conspectus.query.methods.ppr.seeds import TEXT_SEEDS, TextScores, personalization, text_scores
from conspectus.query.question.question import open_question
from conspectus.query.types import Passage
from conspectus.storage.graph.pagerank import PageRank
from conspectus.storage.records import Entity
from conspectus.storage.settings import PprSettings

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


def test_the_best_fits_share_the_mass_by_how_far_they_are_above_the_next() -> None:
    fit = np.array([0.0, 0.9, 0.5, 0.7, 0.6, 0.6, 0.5])
    found = second_hop_prior(fit)
    assert found.sum() == pytest.approx(0.06)
    assert found.argmax() == 1
    assert found[0] == 0
    assert found[1] == pytest.approx(0.06 * 0.4 / 0.8)
    assert second_hop_prior(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
