import math

import numpy as np
import pytest
from conspectus.query.context import Context
from conspectus.query.question.question import open_question
from conspectus.query.question.terms import content_words
from conspectus.storage.text.names import words
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import Build


@pytest.fixture(scope="module")
def stems_of_chunks(context: Context) -> list[set[str]]:
    """The stems in each chunk's title and text."""
    return [
        set(context.bm25.analysis.stems(f"{context.titles[chunk.document_id]}\n{chunk.text}", row))
        for row, chunk in enumerate(context.chunks)
    ]


question_texts = st.lists(
    st.sampled_from(
        "film films directed novel author the of who wrote 1986 city cities zebra's C++ 北京大学 ?".split()
    ),
    max_size=8,
).map(" ".join)


@given(question_texts)
def test_terms_are_what_a_scan_of_all_chunks_says(
    context: Context, stems_of_chunks: list[set[str]], question: str
) -> None:
    terms = open_question(context, question).terms
    assert len(terms.weights) == len(terms.chunks)
    if len(terms.weights):
        assert terms.weights.sum() == pytest.approx(1)
        assert (terms.weights > 0).all()
    content = [word.key for word in words(question) if word.key not in {"the", "of", "who", "'s"}]
    asked = sorted({context.bm25.term(key, open_question(context, question).language) for key in content})
    holders = [[row for row, held in enumerate(stems_of_chunks) if each in held] for each in asked]
    assert [each.tolist() for each in terms.chunks] == holders
    n = len(stems_of_chunks)
    idf = np.array([math.log(1 + (n - len(rows) + 0.5) / (len(rows) + 0.5)) for rows in holders])
    np.testing.assert_allclose(terms.weights, idf / idf.sum() if len(idf) else idf)

    rows = np.array([5, 0, n - 1])
    held = terms.contained_in(rows)
    assert held.shape == (3, len(asked))
    assert held.tolist() == [[float(each in stems_of_chunks[row]) for each in asked] for row in rows]


def test_content_words() -> None:
    assert content_words(words("Who directed the film of C++'s author?")) == "directed film c++ author"
    assert content_words(words("Who is he?")) == "who is he"
    assert content_words(words("?!")) == ""


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
    found = open_question(texts, QUESTION).phrases
    assert found.runs == (("red", "film"), ("film", "are", "base"), ("base", "on", "a", "novel"))


def test_a_phrase_is_contained_word_by_word(texts: Context) -> None:
    terms = open_question(texts, QUESTION).terms
    found = open_question(texts, QUESTION).phrases
    by_title = {
        texts.titles[texts.chunks[row].document_id]: held
        for row, held in enumerate(found.contained_in(texts, np.arange(3), terms).tolist())
    }
    assert by_title == {"Red Rock": [0, 0, 1], "Novel films": [0, 0, 0], "Other": [0, 0, 0]}


@pytest.mark.parametrize("question", ["", "Who is it?", "film", "film film"])
def test_questions_without_a_phrase_or_with_one_word_twice(question: str, texts: Context) -> None:
    terms = open_question(texts, question).terms
    found = open_question(texts, question).phrases
    assert found.contained_in(texts, np.arange(3), terms).shape == (3, len(found.runs))
    assert len(found.runs) == (question == "film film")
