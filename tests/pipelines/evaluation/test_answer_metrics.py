from collections.abc import Sequence

import numpy as np
import pytest
from conspectus.pipelines.evaluation.metrics import (
    exact_match,
    normalised,
    rouge_l,
    sentence_coverage,
    token_f1,
    word_coverage,
)
from conspectus.storage.arrays import Vectors
from hypothesis import given
from hypothesis import strategies as st

words = st.lists(st.sampled_from(["the", "cat", "Cat's", "sat", "on", "a", "mat.", "3.14", "U.S.", "--"]), max_size=12)
texts = st.one_of(words.map(" ".join), st.text(st.characters(codec="ascii"), max_size=60))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The  Beatles!", "beatles"), ("U.S.A.", "usa"), ("北京大学", "北京大学"), ("a", "")],
)
def test_normalised_as_squad_does(text: str, expected: str) -> None:
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("answer", "accepted", "exact", "f1"),
    [
        ("Beatles", ["The Beatles"], 1, 1),
        ("The Beatles of Liverpool", ["Beatles"], 0, 0.5),
        ("in Paris", ["London", "Paris"], 0, 2 / 3),
        ("yes", ["yes"], 1, 1),
        ("yes they are", ["yes"], 0, 0),
        ("the", [""], 1, 0),
        ("Paris", [], 0, 0),
        ("a b b c", ["b b b d"], 0, 4 / 7),
    ],
)
def test_exact_match_and_f1_by_hand(answer: str, accepted: list[str], exact: float, f1: float) -> None:
    assert exact_match(answer, accepted) == exact
    assert token_f1(answer, accepted) == pytest.approx(f1)


@given(texts, texts)
def test_rouge_l_is_that_of_rouge_score_on_ascii(answer: str, reference: str) -> None:
    from rouge_score.rouge_scorer import RougeScorer  # only here: it takes seconds to import

    scorer = RougeScorer(["rougeL"], use_stemmer=False)
    expected = scorer.score(reference, answer)["rougeL"].fmeasure
    assert rouge_l(answer, [reference]) == pytest.approx(expected)


def test_rouge_l_beyond_ascii() -> None:
    assert rouge_l("北京在中国", ["北京在中国"]) == 1
    assert rouge_l("北京在美国", ["北京在中国"]) == pytest.approx(4 / 5)
    assert rouge_l("Ångström", ["ångström"]) == 1
    assert rouge_l("Ångström", ["Angstrom"]) == 0


@given(texts, texts, texts)
def test_laws(answer: str, one: str, other: str) -> None:
    for metric in (exact_match, token_f1, rouge_l):
        value = metric(answer, [one, other])
        assert value == max(metric(answer, [one]), metric(answer, [other]))
        assert 0 <= value <= 1
        assert metric(one, [other]) == pytest.approx(metric(other, [one]))
    assert exact_match(answer, [answer]) == 1
    assert not exact_match(answer, [one]) or token_f1(answer, [one]) in (0, 1)


def of_letters(texts: Sequence[str]) -> Vectors:
    """A unit vector of which letters stand in a text."""
    found = np.array([[letter in text for letter in "abcdefgh"] for text in texts], np.float32)
    return found / np.maximum(1e-9, np.linalg.norm(found, axis=1, keepdims=True))


def test_a_sentence_is_held_where_one_of_the_answer_is_near() -> None:
    reference = ["ab ab. Cd cd."]
    assert sentence_coverage("Ab ab.", [*reference], of_letters, 0.9) == 0.5
    assert sentence_coverage("Xd cx. Dc cd. Ba ba.", reference, of_letters, 0.9) == 1
    assert sentence_coverage("Xy.", reference, of_letters) == 0
    assert sentence_coverage("", reference, of_letters) == 0
    assert sentence_coverage("Ab.", [], of_letters) == sentence_coverage("Ab.", [""], of_letters) == 0
    assert sentence_coverage("Ab.", ["Ef.", "Ab."], of_letters) == 1


def test_words_count_by_weight_once_each_and_by_key() -> None:
    weights = {"the": 0.0, "cat": 1.0, "sat": 3.0}
    assert word_coverage("THE Cat cat", ["the cat sat"], weights.__getitem__) == pytest.approx(0.25)
    assert word_coverage("sat", ["the cat sat", "the cat"], weights.__getitem__) == pytest.approx(0.75)
    assert word_coverage("the", ["the"], weights.__getitem__) == 0, "nothing that weighs"
    assert word_coverage("the", [], weights.__getitem__) == 0
