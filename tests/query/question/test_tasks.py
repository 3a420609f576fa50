import re

import pytest
from conspectus.prompts.render import prompt_text
from conspectus.query.question.tasks import Task, as_question, prompt_for

ANSWERING = (
    *(f"answer/{name}" for name in ("io", "cot", "from_passages", "from_facts", "mixed")),
    "fasttog/reason",
    "tog/answer",
)


@pytest.mark.parametrize("prompt", ANSWERING)
@pytest.mark.parametrize("task", ["claims", "slots"])
def test_a_task_s_prompt_is_given_what_the_question_s_is(prompt: str, task: Task) -> None:
    own, asked = prompt_text(prompt_for(task, f"query/{prompt}")), prompt_text(prompt_for("qa", f"query/{prompt}"))
    places = re.compile(r"\{\{[=~]?(\w+)\}\}")
    assert own != asked
    assert set(places.findall(own)) == set(places.findall(asked)) - {"style"}, "a label or a slot has no style"
    if task == "claims":
        assert "SUPPORTS" in own
        assert "REFUTES" in own


def test_what_chooses_is_given_a_question() -> None:
    assert as_question("qa", "Where is Bern?") == "Where is Bern?"
    assert as_question("claims", "It is {{here}}.") == "Is this claim true? It is {{here}}."
    assert as_question("slots", "Bern [SEP] country").endswith("? Bern [SEP] country")
