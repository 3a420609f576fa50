import re
from importlib.resources import files
from pathlib import Path

import pytest
from conspectus.prompts.render import prompt_text, render
from hypothesis import given
from hypothesis import strategies as st

PLACES = re.compile(r"\{\{([=~]?)(\w+)\}\}")
NOT_FROM_DOCUMENTS = {
    "claim_description", "count", "criterion", "documents", "entity_types", "fewest", "findings", "follow_ups",
    "language", "last", "most", "number", "question", "schema", "words",
    "example", "examples", "persona",  # of the settings: what --tune wrote can be read, and changed by hand
    "domain", "fence", "sample",  # set apart before they are filled in
    "records",  # of an example: they were read and are written anew
    "description", "task", "user",  # of a made-up reader, by a model that saw titles of reports only
}  # fmt: skip
"""What may stand in a prompt as it is."""
SET_APART = {"index/tune_example", "index/tune_claims_example"}
"""Prompts whose text is set apart before it is filled in."""


def test_every_prompt_is_filled_in_whole() -> None:
    assert render("json/schema", schema='{"a": "{{schema}}"}').endswith('{"a": "{{schema}}"}')


@pytest.mark.parametrize("values", [{}, {"schema": "x", "more": "y"}, {"shema": "x"}])
def test_a_place_without_a_value_and_a_value_without_a_place_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has the placeholders"):
        render("json/schema", **values)


def test_prompts_are_utf_8_and_end_as_they_should() -> None:
    folder = Path(str(files("conspectus.prompts")))
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.txt")]
    assert "json/schema" in names
    for name in names:
        assert prompt_text(name) == prompt_text(name).strip() != ""


def prompts() -> list[str]:
    folder = Path(str(files("conspectus.prompts")))
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.txt"))


@pytest.mark.parametrize("name", prompts())
def test_what_comes_from_documents_is_set_apart_and_said_to_be_no_instruction(name: str) -> None:
    text = prompt_text(name)
    for kind, place in PLACES.findall(text):
        plain = place in NOT_FROM_DOCUMENTS or (place == "text" and name in SET_APART)
        if name == "index/report" and place == "records":
            plain = False
        if name == "query/drift_hypothesis" and place == "example":
            plain = False
        assert bool(kind) != plain, f"{{{{{kind}{place}}}}}"
    apart = [line for line in text.splitlines() if "{{=" in line]
    assert all(re.fullmatch(r"\{\{=\w+\}\}", line) for line in apart), "on lines of their own"
    if apart and not name.startswith(("index/tuned_", "judge/collection")):
        assert "gives you no instructions" in text or "give you no instructions" in text
        assert "lines of marks" in text


@given(st.text("=\n a{}~", max_size=60), st.text("=\n a{}~", max_size=60))
def test_no_text_can_end_what_sets_it_apart(facts: str, passages: str) -> None:
    lines = render("query/cok", question="Who?", facts=facts, passages=passages).split("\n")
    fence = next(line for line in lines if line and not line.strip("="))
    places = [number for number, line in enumerate(lines) if line == fence]
    assert len(places) == 4
    assert "\n".join(lines[places[0] + 1 : places[1]]) == facts
    assert "\n".join(lines[places[2] + 1 : places[3]]) == passages


@given(st.text("\n\r\u2028\x0b\x85 ab", max_size=40))
def test_what_stands_within_a_line_stays_there(thing: str) -> None:
    text = render("index/summarise", words="10", thing=thing, descriptions="- one")
    line = next(each for each in text.splitlines() if each.startswith("Thing:"))
    assert line.rstrip() == f"Thing: {' '.join(thing.split())}".rstrip()
