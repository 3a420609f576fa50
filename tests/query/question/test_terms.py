import math

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.question.terms import question_terms, telling_words
from conspectus.storage.text.names import words
from conspectus.storage.text.words import stem
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.fixture(scope="module")
def stems_of_chunks(context: Context) -> list[set[str]]:
    """The stems in each chunk's title and text, read off the text itself."""
    return [
        {stem(word.key) for word in words(f"{context.titles[chunk.document_id]}\n{chunk.text}")}
        for chunk in context.chunks
    ]


question_texts = st.lists(
    st.sampled_from(
        "film films directed novel author the of who wrote 1986 city cities zebra's C++ 北京大学 ?".split()
    ),
    max_size=8,
).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(question_texts)
def test_terms_are_what_a_scan_of_all_chunks_says(
    context: Context, stems_of_chunks: list[set[str]], question: str
) -> None:
    terms = question_terms(context, question)
    assert len(terms.weights) == len(terms.holders)
    if len(terms.weights):
        assert terms.weights.sum() == pytest.approx(1)
        assert (terms.weights > 0).all()
    asked = sorted({stem(word.key) for word in words(question)} - {"the", "of", "who", "'s"})
    holders = [[row for row, held in enumerate(stems_of_chunks) if each in held] for each in asked]
    assert [each.tolist() for each in terms.holders] == holders
    n = len(stems_of_chunks)
    idf = np.array([math.log(1 + (n - len(rows) + 0.5) / (len(rows) + 0.5)) for rows in holders])
    np.testing.assert_allclose(terms.weights, idf / idf.sum() if len(idf) else idf)

    rows = np.array([5, 0, n - 1])
    held = terms.held_by(rows)
    assert held.shape == (3, len(asked))
    assert held.tolist() == [[float(each in stems_of_chunks[row]) for each in asked] for row in rows]


def test_a_term_that_no_chunk_holds_weighs_most(context: Context) -> None:
    terms = question_terms(context, "Which zebra directed the film?")
    unheld = [i for i, rows in enumerate(terms.holders) if not len(rows)]
    assert len(unheld) == 1
    assert terms.weights.argmax() == unheld[0]


def test_case_plural_and_order_leave_no_trace(context: Context) -> None:
    one, other = (question_terms(context, text) for text in ("Films of CITIES, film", "city films"))
    np.testing.assert_array_equal(one.weights, other.weights)


@pytest.mark.parametrize("question", ["", " ", "?!", "Who is the?", "what are they"])
def test_questions_without_a_term(question: str, context: Context) -> None:
    terms = question_terms(context, question)
    assert len(terms.weights) == 0
    assert terms.held_by(np.array([0, 1])).shape == (2, 0)


def test_telling_words() -> None:
    assert telling_words("Who directed the film of C++'s author?") == "directed film c++ author"
    assert telling_words("Who is he?") == "who is he"
    assert telling_words("?!") == ""
