import pytest
from conspectus.pipelines.tuning.tune import DomainAnswer, PersonaAnswer, TypesAnswer
from pydantic import ValidationError


def test_kinds_are_told_apart_and_those_that_would_break_a_prompt_left_out() -> None:
    given = [
        "Schiff",
        " schiff ",
        "Person",
        "人物",
        "Ort, Land",
        "a\nb",
        "x" * 60,
        '"quoted"',
        "<|>",
        "##",
        "",
        "Reederei",
    ]
    assert [each.name for each in TypesAnswer.model_validate({"types": given}).types] == [
        "Schiff",
        "Person",
        "人物",
        "a b",
        "Reederei",
    ]
    assert len(TypesAnswer.model_validate({"types": [str(each) for each in range(30)]}).types) == 10


@pytest.mark.parametrize("given", [[], ["Schiff", "schiff"], ["a,b", "c,d", "e,f", "g"]])
def test_too_few_kinds_are_refused(given: list[str]) -> None:
    with pytest.raises(ValidationError, match="at least 3 different types"):
        TypesAnswer.model_validate({"types": given})


def test_a_text_is_one_paragraph_of_some_length() -> None:
    assert DomainAnswer(domain=" Briefe\n\n von See ", language="中文 (简体)").domain == "Briefe von See"
    for text in (" \n", "x" * 1501):
        with pytest.raises(ValidationError):
            PersonaAnswer(extraction=text, reports="Du schreibst.")
