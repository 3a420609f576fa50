from conspectus.pipelines.evaluation.metrics import accuracy, answered, name_key, set_quality
from conspectus.query.types import Answer
from hypothesis import given
from hypothesis import strategies as st

GOLD = ("The Hurt Locker", "body_of_war")


def test_names_are_compared_as_texts_are() -> None:
    named = answered(Answer("?", "m", "x", names=("hurt_locker", "The Hurt Locker", "Ali")))
    assert named == ("hurt locker", "ali")
    assert set_quality(named, GOLD) == {"hits@1": 1.0, "exact_match": 0.0, "f1": 0.5}
    assert set_quality(("body of war", "hurt locker"), GOLD) == {"hits@1": 1.0, "exact_match": 1.0, "f1": 1.0}
    assert set_quality(("ali", "hurt locker"), GOLD)["hits@1"] == 0.0
    assert set_quality((), GOLD) == {"hits@1": 0.0, "exact_match": 0.0, "f1": 0.0}


def test_a_name_of_articles_or_signs_is_itself() -> None:
    assert (name_key("The The"), name_key("!!!")) == ("the the", "!!!")


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
