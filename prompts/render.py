"""Prompt texts are files; here they are filled in, strictly."""

import re
from functools import cache
from importlib.resources import files

_PLACE = re.compile(r"\{\{(\w+)\}\}")


@cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt by its path below this package, without a suffix: "form/json"."""
    return files("prompts").joinpath(f"{name}.txt").read_text("utf-8").strip()


def render(name: str, **values: str) -> str:
    """Return a prompt with every {{place}} filled in.

    ValueError where a place has no value, or a value no place: a prompt that lost its question is no prompt. What
    stands in a value is never taken for a place.
    """
    text = prompt_text(name)
    places = set(_PLACE.findall(text))
    if places != set(values):
        raise ValueError(f"prompt {name} has the places {sorted(places)}, and was given {sorted(values)}")
    return _PLACE.sub(lambda place: values[place[1]], text)
