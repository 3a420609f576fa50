"""The frequencies of words, against wordfreq itself."""

import random

import pytest
import wordfreq
from conspectus.storage.text.word_lists import beginning_with, shares_of_common_words, zipf


@pytest.mark.parametrize("language", ["en", "de"])
def test_frequencies_are_those_of_wordfreq(language: str) -> None:
    listed = wordfreq.get_frequency_dict(language, "large")
    sample = random.Random(7).sample(sorted(listed), 200)
    for word in [*sample, "unheardof", "Straße", "STRASSE", "co-writer", "naïve", "E\u0301cole"]:
        assert zipf(word, language) == wordfreq.zipf_frequency(word, language), word


def test_a_language_without_a_list_has_that_of_english() -> None:
    assert zipf("house", "xx") == zipf("house", "en") > 5
    assert beginning_with("h", "xx") == beginning_with("h", "en")


def test_words_by_letter_are_those_of_wordfreq_in_its_order() -> None:
    expected = [word for word in wordfreq.get_frequency_dict("it") if word.startswith("z")]
    assert list(beginning_with("z", "it")) == expected


def test_shares_are_those_of_wordfreq() -> None:
    assert shares_of_common_words("nl") == wordfreq.get_frequency_dict("nl", "small")
    assert shares_of_common_words("xx") == {}
    assert shares_of_common_words("../en") == {}
