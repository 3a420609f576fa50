"""What of a question a step matches, and what is left of it."""

from collections.abc import Sequence

import numpy as np
import pytest
from conspectus.prompts.embedding.vector_cache import VectorCache
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.question_reading import LEAST, Reading, read
from conspectus.query.question.question import EmbedSpans, span_vectors

FAMILY = ("children", "spouse", "parents", "nationality", "profession", "gender", "religion", "place of birth")
FILMS = ("directed by", "written by", "starred actors", "release year", "in language", "has tags", "has genre")


@pytest.fixture(scope="module")
def spans(films_index: Context) -> EmbedSpans:
    return span_vectors(films_index)


def reading(spans: EmbedSpans, said: Sequence[str], question: str, topic: str) -> Reading:
    return read(question, [topic], spans, spans(said), lambda number: said[number])


def walked(asked: Reading, said: Sequence[str], steps: int) -> list[str]:
    """The predicates that are best, one step after another."""
    found, used = [], 0
    for _ in range(steps):
        matches = asked.steps(used, tuple(range(len(said))))
        best = max(range(len(said)), key=lambda each: matches[each].gain)
        found.append(said[best])
        used |= matches[best].words
    return found


@pytest.mark.parametrize(
    ("question", "topic", "expected"),
    [
        ("what is the profession of tom_tew 's spouse 's parents ?", "tom_tew", ["spouse", "parents", "profession"]),
        ("what is the religion of the husband of ann_lee ?", "ann_lee", ["spouse", "religion"]),
        ("the nationality of ann_lee 's children", "ann_lee", ["children", "nationality"]),
    ],
)
def test_words_are_read_away_from_the_subject(
    question: str, topic: str, expected: list[str], spans: EmbedSpans
) -> None:
    assert walked(reading(spans, FAMILY, question, topic), FAMILY, len(expected)) == expected


def test_words_that_say_parts_of_one_predicate_are_one_step(spans: EmbedSpans) -> None:
    asked = reading(spans, FILMS, "what year was the movie Blood released", "Blood")
    step = asked.steps(0, (FILMS.index("release year"),))[0]
    assert step.gain > 0
    assert asked.left(step.words) < 0.1
    apart = reading(spans, FILMS, "who wrote the movies directed by Blood", "Blood")
    first = apart.steps(0, tuple(range(len(FILMS))))[0]
    assert apart.left(first.words) > 0.1, "another predicate is still asked for"


def test_a_question_without_words_gains_nothing(spans: EmbedSpans) -> None:
    for question in ("", "Blood", "the of the ?"):
        asked = reading(spans, FILMS, question, "Blood")
        assert [each.gain for each in asked.steps(0, (0, 1))] == [-LEAST, -LEAST]
        assert asked.left(0) == 0.0


def test_a_subject_that_is_not_in_the_question_leaves_the_order_open(spans: EmbedSpans) -> None:
    asked = reading(spans, FAMILY, "whose wife has a profession", "Nobody")
    assert set(asked.first.tolist()) == {0}


def test_vectors_are_remembered(films_index: Context) -> None:
    embed = VectorCache(films_index.embedder.embed, most=2).of_all
    first = embed(["a cat", "a dog", "a cat"])
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(embed(["a dog", "a cow"])[0], first[1])
