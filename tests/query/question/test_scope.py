"""Whether a question is about the whole, and how much the documents have on it."""

from unittest.mock import patch

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.question import scope
from conspectus.query.question.question import open_question
from conspectus.query.question.scope import closeness_to_whole, corpus_coverage, is_about_the_whole

ABOUT = "Which films are based on novels?"


def test_support_is_the_nearest_passage_and_half_the_words_that_the_five_nearest_hold(context: Context) -> None:
    for question in (ABOUT, "Where was Albert Einstein born?", "How deep is a borehole in the Antarctic ice?"):
        vector = context.embedder.embed_query(question)
        cosines, rows = context.chunk_vectors.search(vector[np.newaxis], 5)
        terms = open_question(context, question).terms
        held = [bool(set(holders.tolist()) & set(rows[0].tolist())) for holders in terms.chunks]
        covered = sum(weight for weight, each in zip(terms.weights, held, strict=True) if each)
        assert corpus_coverage(context, question) == pytest.approx(float(cosines[0][0]) + covered / 2)


def test_what_the_documents_are_about_has_more_support_than_what_they_are_not(context: Context) -> None:
    least = scope.LEAST_SUPPORT
    assert corpus_coverage(context, ABOUT) > least
    assert (
        corpus_coverage(context, "How does the sprocket torque of a combine harvester depend on its gearbox?") < least
    )
    assert 0 <= corpus_coverage(context, "") < least


def test_the_whole_is_as_close_as_the_least(context: Context) -> None:
    assert is_about_the_whole(context, "What are the main themes?")
    assert not is_about_the_whole(context, "Where was Albert Einstein born?")
    closeness = closeness_to_whole(context, ABOUT)
    for least, told in ((closeness, True), (closeness + 0.01, False)):
        with patch.object(scope, "ABOUT_THE_WHOLE", least):
            assert is_about_the_whole(context, ABOUT) == told
