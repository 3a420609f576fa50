"""Verdicts, short answers and choices in the words of models."""

import pytest
from conspectus.query.walk.verdicts import asked_question, final_answer, in_braces, read_reasoning


@pytest.mark.parametrize(
    ("reply", "sufficient", "text"),
    [
        (" {No}. The paths say only where the mill stands.", False, "The paths say only where the mill stands."),
        ("A: {Yes}. Ada drew it, so the answer to the question is {Ada Mirren}.", True, "Ada Mirren"),
        ("For this question the answer is {Yes}. The mill stands in Tarn.", True, "The mill stands in Tarn."),
        ("{Yes} {Bern}, {Basel}", True, "Bern; Basel"),
        ('```json\n{"answer": "No", "explanation": "The year is missing."}\n```', False, "The year is missing."),
        ("Hanna Olsson built the bridge.", True, "Hanna Olsson built the bridge."),
        ("{Yes} {Tarn}\n\nQ: Who was born in Tarn?\nA: {No} {unknown}", True, "Tarn"),
    ],
)
def test_a_verdict_is_heard(reply: str, sufficient: bool, text: str) -> None:
    read = read_reasoning(reply)
    assert read
    assert (read.sufficient, read.text) == (sufficient, text)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "{Yes}",
        'Here it is: {"sufficient": true, "answer": "a "b" c"}',
        "You are on the right track! " + "Think of it. " * 60,
        "<think>{Yes} {Bern}",
    ],
)
def test_what_holds_no_verdict_is_none(reply: str) -> None:
    assert read_reasoning(reply) is None


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("The answer is {Bern}.", "Bern"),
        ("Bern", "Bern"),
        ("{unknown}", ""),
        ('{"A": {"Sufficient": "Yes", "Answer": "Bern"}}', "Bern"),
        ("{Bern}\n\nQuestion: And Basel?\nAnswer: {Rhine}", "Bern"),
    ],
)
def test_an_answer_in_braces(reply: str, answer: str) -> None:
    assert in_braces(reply) == answer


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("First it rained. So the answer is no.", "no"),
        ("The answer is (B) and (D).", "B; D"),
        ("\\[ \\text{The answer is (J)} \\]", "J"),
        ("The answer is {Bern}.\n\nQ: And now?\nA: The answer is {Basel}.", "Bern"),
        ("The answer is {unknown} unless more is said.", ""),
        ("It flows through Bern.\nBern", "Bern"),
    ],
)
def test_a_final_answer(reply: str, answer: str) -> None:
    assert final_answer(reply) == answer


def test_the_answer_behind_the_question_that_was_asked() -> None:
    reply = "Q: Who ran?\nA: The answer is Ada.\n\nQ: Who swam?\nA: The answer is Ivo."
    assert final_answer(reply, "Who swam?") == "Ivo"


def test_the_next_question_alone() -> None:
    assert asked_question('Sure!\nNext question: "Where was Ada born?"') == "Where was Ada born?"
    assert asked_question("the birthplace of Ada") == "the birthplace of Ada"
