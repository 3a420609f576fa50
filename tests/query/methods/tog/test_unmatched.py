"""What of a question is matched, in which order, and what is left of it."""

import numpy as np
import pytest
from conspectus.prompts.embedding.local import SentenceTransformerEmbedder
from conspectus.query.methods.tog.question_predicates import Asked, read
from conspectus.query.methods.tog.unmatched import Match, free_gains, taking
from conspectus.storage.text.words import stem_share

PREDICATES = ("directed by", "starred actors", "release year", "born in")


@pytest.fixture(scope="module")
def embedder() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


def reading(embedder: SentenceTransformerEmbedder, question: str, *topics: str) -> Asked:
    return read(question, topics, embedder.embed, embedder.embed(PREDICATES), PREDICATES)


def nothing(asked: Asked) -> Match:
    return Match(np.zeros(len(asked.words), bool), np.zeros(len(asked.words)))


def test_a_step_takes_its_words_and_leaves_the_rest(embedder: SentenceTransformerEmbedder) -> None:
    asked = reading(embedder, "In which year were the films directed by Ada Mirren released?", "Ada Mirren")
    gains, held, spans = free_gains(asked, nothing(asked), 0.5)
    assert gains[0] == gains.max()
    assert held[0] == 0
    after = taking(asked, nothing(asked), 0, int(spans[0]), 0.0, everywhere=False)
    assert after is not None
    assert "directed" not in asked.left(after.taken)
    again, _, _ = free_gains(asked, after, 0.5)
    assert again[2] == again.max() > again[0]
    assert after.coverage(asked) > 0


@pytest.mark.parametrize(
    ("question", "topic", "first", "then"),
    [
        ("what is the job of X 's wife ?", "X", "wife", "job"),
        ("the films directed by X starred which actors", "X", "directed", "starred"),
        ("who directed films whose actors played in X", "X", "actors", "directed"),
    ],
)
def test_words_are_read_away_from_the_topic(
    embedder: SentenceTransformerEmbedder, question: str, topic: str, first: str, then: str
) -> None:
    asked = reading(embedder, question, topic)
    place = {word: number for number, word in enumerate(asked.words)}
    assert asked.before[place[then], place[first]]
    assert not asked.before[place[first], place[then]]


def test_topics_are_no_words_of_the_question(embedder: SentenceTransformerEmbedder) -> None:
    asked = reading(embedder, "who starred in grey_heron", "Grey Heron")
    assert asked.left(np.zeros(len(asked.words), bool)) == "starred"
    assert asked.wants == "person"


def test_a_question_without_words_matches_nothing(embedder: SentenceTransformerEmbedder) -> None:
    for question in ("", "?", "who is X"):
        asked = reading(embedder, question, "X")
        gains, _, spans = free_gains(asked, nothing(asked), 0.5)
        assert not gains.any()
        assert (spans == -1).all()


def test_stems() -> None:
    assert stem_share("actors", "acted") >= 0.55
    assert stem_share("star", "stare") == 1.0
    assert stem_share("of", "off") == stem_share("wife", "will") == 0.0
