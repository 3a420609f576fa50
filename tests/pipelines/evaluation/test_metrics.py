"""The measures of retrieval, of answers and of graphs."""

from collections.abc import Sequence

import numpy as np
import pytest
from conspectus.pipelines.evaluation.metrics import (
    accuracy,
    all_at,
    answered,
    bootstrap,
    exact_match,
    normalised,
    rank_documents,
    recall_at,
    rouge_l,
    sentence_coverage,
    set_quality,
    token_f1,
    word_coverage,
)
from conspectus.query.types import Answer
from conspectus.storage.arrays import Vectors
from hypothesis import given
from hypothesis import strategies as st

names = st.sampled_from("abcdefgh")
rankings = st.lists(names, unique=True)
supports = st.lists(names, min_size=1, max_size=5)


@given(st.integers(0, 9), rankings, supports)
def test_laws_of_ranks(k: int, ranked: list[str], supporting: list[str]) -> None:
    recall, everything = recall_at(k, ranked, supporting), all_at(k, ranked, supporting)
    assert 0 <= recall <= 1
    assert everything == (recall == 1)
    assert recall <= recall_at(k + 1, ranked, supporting)
    assert recall == recall_at(k, ranked, supporting[::-1])
    assert recall * len(set(supporting)) <= k + 1e-9
    assert recall_at(len(ranked), ranked, ranked or ["a"]) == (1.0 if ranked else 0.0)


@given(st.lists(names))
def test_a_document_ranks_where_its_best_passage_does(found: list[str]) -> None:
    ranked = rank_documents(found)
    assert set(ranked) == set(found)
    assert [found.index(each) for each in ranked] == sorted({found.index(each) for each in found})


@given(st.lists(st.floats(0, 1), min_size=1, max_size=60), st.integers(0, 5))
def test_the_interval_covers_the_mean(values: list[float], seed: int) -> None:
    found = bootstrap(values, seed=seed)
    assert found.mean == pytest.approx(np.mean(values))
    assert min(values) - 1e-12 <= found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12 <= max(values) + 2e-12
    assert found == bootstrap(values, seed=seed)


word_lists = st.lists(
    st.sampled_from(["the", "cat", "Cat's", "sat", "on", "a", "mat.", "3.14", "U.S.", "--"]), max_size=12
)
texts = st.one_of(word_lists.map(" ".join), st.text(st.characters(codec="ascii"), max_size=60))


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


@given(texts, texts, texts)
def test_laws_of_answers(answer: str, one: str, other: str) -> None:
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


def test_an_answer_without_names_is_its_text() -> None:
    assert answered(Answer("?", "io", "The Hurt Locker. [1]")) == ("hurt locker",)
    assert answered(None) == ()


def test_verdicts() -> None:
    assert accuracy(Answer("?", "m", "It is so.", names=("true",)), "SUPPORTS") == 1.0
    assert accuracy(Answer("?", "m", "False, it is not [1]."), "false") == 1.0
    assert accuracy(Answer("?", "m", "Not enough info."), "NOT ENOUGH INFO") == 1.0
    assert accuracy(Answer("?", "m", "Paris"), "true") == 0.0
    assert accuracy(None, "true") == 0.0


@given(st.lists(st.sampled_from("abcdef"), unique=True), st.lists(st.sampled_from("abcdef"), unique=True, min_size=1))
def test_the_metrics_agree(named: list[str], gold: list[str]) -> None:
    named = [f"x{each}" for each in named]
    gold = [f"x{each}" for each in gold]
    found = set_quality(named, gold)
    assert (found["f1"] == 1.0) == (found["exact_match"] == 1.0) == (set(named) == set(gold))
    assert found["hits@1"] == float(bool(named) and named[0] in gold)
