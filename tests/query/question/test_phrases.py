"""Phrases: which words of a question a passage says together too."""

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.question.phrases import question_phrases
from conspectus.query.question.terms import question_terms

from tests.conftest import Build


@pytest.fixture(scope="module")
def texts(build: Build) -> Context:
    return build(
        [
            ("Red Rock", "A film based on a novel. The novel has a red cover."),
            ("Novel films", "Based films are rare; a novel on film is not."),
            ("Other", "Nothing of that."),
        ]
    )


QUESTION = "Which red films are based on a novel?"


def test_phrases_are_telling_words_and_what_is_between_them(texts: Context) -> None:
    found = question_phrases(QUESTION, question_terms(texts, QUESTION))
    assert found.runs == (("red", "film"), ("film", "are", "based"), ("based", "on", "a", "novel"))


def test_far_apart_is_no_phrase(texts: Context) -> None:
    question = "Which film is in the novel?"
    assert question_phrases(question, question_terms(texts, question)).runs == ()


def test_a_phrase_weighs_the_mean_of_its_ends(texts: Context) -> None:
    terms = question_terms(texts, QUESTION)
    weight = dict(zip(terms.stems, terms.weights, strict=True))
    found = question_phrases(QUESTION, terms)
    assert found.weights.tolist() == pytest.approx([(weight[run[0]] + weight[run[-1]]) / 2 for run in found.runs])


def test_held_is_as_it_is_said(texts: Context) -> None:
    terms = question_terms(texts, QUESTION)
    found = question_phrases(QUESTION, terms)
    by_title = {
        texts.titles[texts.chunks[row].document_id]: held
        for row, held in enumerate(found.held_by(texts, np.arange(3), terms).tolist())
    }
    assert by_title == {"Red Rock": [0, 0, 1], "Novel films": [0, 0, 0], "Other": [0, 0, 0]}


@pytest.mark.parametrize("question", ["", "Who is it?", "film", "film film"])
def test_questions_without_a_phrase_or_with_one_word_twice(question: str, texts: Context) -> None:
    terms = question_terms(texts, question)
    found = question_phrases(question, terms)
    assert found.held_by(texts, np.arange(3), terms).shape == (3, len(found.runs))
    assert len(found.runs) == (question == "film film")
