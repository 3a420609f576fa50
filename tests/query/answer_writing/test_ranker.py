"""The ranker of statements: its weights, and what it counts as a word, a form of a word and the kind of an answer."""

import json
from importlib.resources import files

import numpy as np
import pytest
from conspectus.query.answer_writing.asked import asked_of, unspaced_runs
from conspectus.query.answer_writing.excerpts import excerpts
from conspectus.query.answer_writing.features import (
    ANSWER_FEATURES,
    NEXT_FEATURES,
    STATEMENT_FEATURES,
    Meanings,
    held_by,
    is_related,
    next_features,
    statement_features,
)
from conspectus.query.answer_writing.support import SETS, reader_weights
from conspectus.query.context import Context
from conspectus.query.logistic import Logistic, probability
from conspectus.query.types import Passage
from conspectus.storage.text.names import words


def test_the_weights_are_those_of_the_features() -> None:
    written = json.loads(files("conspectus.query.answer_writing").joinpath("reader_weights.json").read_text("utf-8"))
    for by_many_languages, name in SETS.items():
        assert tuple(written[name]["statement"]["weights"]) == STATEMENT_FEATURES
        assert tuple(written[name]["next"]["weights"]) == NEXT_FEATURES
        weights = reader_weights(by_many_languages)
        assert weights.statement.weights.tolist() == list(written[name]["statement"]["weights"].values())
    assert tuple(written["answer"]["weights"]) == ANSWER_FEATURES
    assert all(0 < least < 1 for least in weights.least.values())
    assert 0 < weights.least_next < 1


def test_a_logit_is_the_sum_of_the_weighted_features() -> None:
    model = Logistic(np.array([2.0, -1.0]), 0.5)
    assert model.logits(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist() == [2.0 * 1.0 - 1.0 * 3.0 + 0.5, 0.5]
    assert probability(0.0) == 0.5
    assert probability(-1000.0) < 1e-9


@pytest.mark.parametrize(
    ("one", "other", "related"),
    [
        ("drew", "drawn", True),
        ("backup", "backups", True),
        ("sichern", "sicherung", True),
        ("gate", "pier", False),
        ("北京", "北方", False),
    ],
)
def test_forms_of_a_word(one: str, other: str, related: bool) -> None:
    assert is_related(one, other) is related


def features_of(context: Context, question: str, text: str) -> list[dict[str, float]]:
    """The features of the statements of a text, by name."""
    known = context.passage(0, 1.0)
    passage = Passage(known.document_id, known.chunk_id, 0, len(text), 1.0, text, "")
    asked = asked_of(context, question)
    statements = excerpts(context, [passage])
    meanings = Meanings(context, statements).of(asked)
    rows = statement_features(asked, statements, held_by(context, asked, statements), meanings)
    return [dict(zip(STATEMENT_FEATURES, row, strict=True)) for row in rows.tolist()]


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who painted the northern gate?", "The northern gate was painted by Ada. The pier is closed in winter."),
        ("谁画了北门的地图？", "北门的地图是林画的。桥在冬天关闭。"),
        ("Кто покрасил северные ворота?", "Северные ворота покрасил Иван. Причал закрыт зимой."),
    ],
)
def test_a_statement_with_the_words_of_the_question_has_more_of_it(
    question: str, text: str, sample_context: Context
) -> None:
    first, second = features_of(sample_context, question, text)
    assert first["words"] > 0.3
    assert second["words"] < 0.1


def test_a_word_takes_its_nearest_token(sample_context: Context) -> None:
    text = "Her salary is 900 crowns. The harbour freezes over in February."
    first, second = features_of(sample_context, "How much does she earn each month?", text)
    assert first["words"] == second["words"] == 0.0
    assert first["meaning of words"] > second["meaning of words"] + 0.1
    assert first["missing meaning"] < second["missing meaning"]


def test_a_language_without_spaces_is_cut_into_words(sample_context: Context) -> None:
    assert unspaced_runs(words("Linux 是什么？ 北京")) == ["是什么", "北京"]
    asked = asked_of(sample_context, "茶园是哪一年建的？")
    assert {"茶园", "建"} <= asked.weights.keys()
    assert not {"园是", "建的", "哪一"} & asked.weights.keys()
    assert sum(asked.weights[term] for term in ("茶园", "建")) > 0.9


def test_the_kind_that_is_asked_for(sample_context: Context) -> None:
    first, second = features_of(sample_context, "When did the pier close?", "The pier closed in 1931. It is long.")
    assert (first["has the kind"], first["lacks the kind"]) == (1.0, 0.0)
    assert (second["has the kind"], second["lacks the kind"]) == (0.0, 1.0)


def test_a_further_statement_counts_by_the_words_that_it_adds(sample_context: Context) -> None:
    asked = asked_of(sample_context, "Who directed the film that was shot in Marrow?")
    text = "Cold Harbour was shot in Marrow. The film was directed by Nadia Frey."
    known = sample_context.passage(0, 1.0)
    passage = Passage(known.document_id, known.chunk_id, 0, len(text), 1.0, text, "")
    statements = excerpts(sample_context, [passage])
    first, second = held_by(sample_context, asked, statements)
    new = dict(zip(NEXT_FEATURES, next_features(asked, 0.5, second, [first], bridge=True, same=False), strict=True))
    again = dict(zip(NEXT_FEATURES, next_features(asked, 0.5, first, [first], bridge=False, same=True), strict=True))
    assert new["new words"] > 0 == again["new words"]
    assert (new["score"], new["bridge"], again["same passage"]) == (0.5, 1.0, 1.0)
