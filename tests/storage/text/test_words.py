"""Stop words, stems and transliteration."""

import pytest
from conspectus.query.question.terms import is_content_word
from conspectus.storage.text.words import FUNCTION_WORDS, stem


def test_they_do_not_say_what_a_question_is_about() -> None:
    assert not any(map(is_content_word, FUNCTION_WORDS))
    assert not is_content_word("same")
    assert is_content_word("about")


@pytest.mark.parametrize(
    ("word", "stemmed"),
    [
        ("cities", "city"), ("horses", "horse"), ("novels", "novel"), ("directs", "direct"), ("boxes", "boxe"),
        ("class", "class"), ("bus", "bus"), ("virus", "virus"), ("wrote", "wrote"), ("was", "was"), ("us", "us"),
        ("as", "as"), ("s", "s"), ("", ""), ("shoes", "shoe"), ("goes", "goe"), ("aies", "aie"), ("c++", "c++"),
        ("北京", "北京"),
    ],
)  # fmt: skip
def test_the_s_stemmer(word: str, stemmed: str) -> None:
    assert stem(word) == stemmed
