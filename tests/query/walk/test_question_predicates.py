"""What of a question is matched, in which order, and what is left of it."""

import numpy as np
import pytest
from conspectus.prompts.embedding.local import SentenceTransformerEmbedder
from conspectus.query.walk.question_predicates import Coverage, QuestionPredicates, match_predicates

FILMS = ("directed by", "starred actors", "release year", "born in")
FAMILY = ("spouse", "parents", "children", "profession", "religion", "nationality")


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


def read(
    embedder: SentenceTransformerEmbedder, question: str, topic: str, predicates: tuple[str, ...] = FILMS
) -> QuestionPredicates:
    return match_predicates(question, [topic], embedder.embed, embedder.embed(predicates), predicates)


def after(question: QuestionPredicates, coverage: Coverage) -> list[Coverage]:
    """The first coverage after a step along each predicate."""
    n_predicates = question.similarity.shape[1]
    return [made[0] for made in question.after_step(coverage, range(n_predicates), [0.5] * n_predicates)]


def best_step(question: QuestionPredicates, coverage: Coverage) -> tuple[int, Coverage]:
    reached = after(question, coverage)
    best = max(range(len(reached)), key=lambda at: question.share(reached[at]) - reached[at].cost)
    return best, reached[best]


def test_a_step_uses_its_words_and_leaves_the_rest(embedder: SentenceTransformerEmbedder) -> None:
    question = read(embedder, "In which year were the films directed by Ada Mirren released?", "Ada Mirren")
    place, first = best_step(question, question.nothing_matched())
    assert FILMS[place] == "directed by"
    assert "directed" not in question.unmatched(first)
    again, second = best_step(question, first)
    assert FILMS[again] == "release year"
    assert 0 < question.share(first) < question.share(second) <= 1


@pytest.mark.parametrize(
    ("text", "topic", "expected"),
    [
        ("what is the profession of tom_tew 's spouse 's parents ?", "tom_tew", ["spouse", "parents", "profession"]),
        ("what is the religion of the husband of ann_lee ?", "ann_lee", ["spouse", "religion"]),
        ("the nationality of ann_lee 's children", "ann_lee", ["children", "nationality"]),
    ],
)
def test_words_are_matched_from_the_topic_on(
    text: str, topic: str, expected: list[str], embedder: SentenceTransformerEmbedder
) -> None:
    question = read(embedder, text, topic, FAMILY)
    coverage, found = question.nothing_matched(), []
    for _ in expected:
        place, coverage = best_step(question, coverage)
        found.append(FAMILY[place])
    assert found == expected


def test_words_before_others_that_stand_nearer_to_the_topic_cost(embedder: SentenceTransformerEmbedder) -> None:
    question = read(embedder, "what is the religion of the husband of ann_lee ?", "ann_lee", FAMILY)
    reached = after(question, question.nothing_matched())
    assert reached[FAMILY.index("religion")].cost > reached[FAMILY.index("spouse")].cost


def test_topics_are_no_words_of_the_question(embedder: SentenceTransformerEmbedder) -> None:
    question = read(embedder, "who starred in grey_heron", "Grey Heron")
    assert question.unmatched(question.nothing_matched()) == "starred"
    assert question.asks_for == "person"


def test_a_question_without_words_matches_nothing(embedder: SentenceTransformerEmbedder) -> None:
    for text in ("", "?", "who is X"):
        question = read(embedder, text, "X")
        assert [made.cost for made in after(question, question.nothing_matched())] == [0.5] * len(FILMS)
        assert np.all(question.weight == 0)
