"""One list of function words."""

from conspectus.query.question.function_words import ASKING, FUNCTION_WORDS, PARTICLES, REQUESTS
from conspectus.query.question.terms import is_telling


def test_each_word_stands_in_one_list() -> None:
    assert ASKING < FUNCTION_WORDS
    assert not FUNCTION_WORDS & PARTICLES
    assert not (FUNCTION_WORDS | PARTICLES) & REQUESTS
    assert all(word == word.casefold().strip() for word in FUNCTION_WORDS | PARTICLES | REQUESTS)


def test_they_do_not_say_what_a_question_is_about() -> None:
    assert not any(map(is_telling, FUNCTION_WORDS))
    assert not is_telling("same")
    assert is_telling("about")
