from importlib.resources import files
from pathlib import Path

import pytest

from prompts.render import prompt_text, render


def test_every_prompt_is_filled_in_whole() -> None:
    assert render("form/json", schema='{"a": "{{schema}}"}').endswith('{"a": "{{schema}}"}')


@pytest.mark.parametrize("values", [{}, {"schema": "x", "more": "y"}, {"shema": "x"}])
def test_a_place_without_a_value_and_a_value_without_a_place_are_refused(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has the places"):
        render("form/json", **values)


def test_prompts_are_utf_8_and_end_as_they_should() -> None:
    folder = Path(str(files("prompts")))
    names = [path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.txt")]
    assert "form/json" in names
    for name in names:
        assert prompt_text(name) == prompt_text(name).strip() != ""
