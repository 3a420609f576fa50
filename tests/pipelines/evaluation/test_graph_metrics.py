from conspectus.pipelines.evaluation.metrics import accuracy, answered, set_quality
from conspectus.query.types import Answer
from hypothesis import given
from hypothesis import strategies as st


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
