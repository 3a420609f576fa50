"""What of a question a step matches, and what is left of it."""

from collections.abc import Sequence

import numpy as np
import pytest

from query.context import Context
from query.walk.reading import LEAST, Reading, SpanVectors, read

FAMILY = ("children", "spouse", "parents", "nationality", "profession", "gender", "religion", "place of birth")
FILMS = ("directed by", "written by", "starred actors", "release year", "in language", "has tags", "has genre")


@pytest.fixture(scope="module")
def spans() -> SpanVectors:
    return SpanVectors()


def reading(context: Context, spans: SpanVectors, said: Sequence[str], question: str, topic: str) -> Reading:
    embed = spans.of(context.embedder)
    return read(question, [topic], embed, embed(said), lambda number: said[number])


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
    question: str, topic: str, expected: list[str], films_index: Context, spans: SpanVectors
) -> None:
    assert walked(reading(films_index, spans, FAMILY, question, topic), FAMILY, len(expected)) == expected


def test_words_that_say_parts_of_one_predicate_are_one_step(films_index: Context, spans: SpanVectors) -> None:
    asked = reading(films_index, spans, FILMS, "what year was the movie Blood released", "Blood")
    step = asked.steps(0, (FILMS.index("release year"),))[0]
    assert step.gain > 0
    assert asked.left(step.words) < 0.1
    apart = reading(films_index, spans, FILMS, "who wrote the movies directed by Blood", "Blood")
    first = apart.steps(0, tuple(range(len(FILMS))))[0]
    assert apart.left(first.words) > 0.1, "another predicate is still asked for"


def test_a_question_without_words_gains_nothing(films_index: Context, spans: SpanVectors) -> None:
    for question in ("", "Blood", "the of the ?"):
        asked = reading(films_index, spans, FILMS, question, "Blood")
        assert [each.gain for each in asked.steps(0, (0, 1))] == [-LEAST, -LEAST]
        assert asked.left(0) == 0.0


def test_a_subject_that_is_not_in_the_question_leaves_the_order_open(films_index: Context, spans: SpanVectors) -> None:
    asked = reading(films_index, spans, FAMILY, "whose wife has a profession", "Nobody")
    assert set(asked.first.tolist()) == {0}


def test_vectors_are_remembered(films_index: Context) -> None:
    held = SpanVectors(most=2)
    embed = held.of(films_index.embedder)
    first = embed(["a cat", "a dog", "a cat"])
    assert np.array_equal(first[0], first[2])
    assert np.array_equal(embed(["a dog", "a cow"])[0], first[1])
