"""Prompt texts are files; here they are filled in, strictly.

A place says what may stand in it, and by that how it is filled:

    {{question}}    what the user, the settings or this program say: as it stands
    {{=passages}}   what comes from documents, or was made of them: set apart between two lines of marks (`fence`)
    {{~thing}}      the same within a line: on one line, so that it cannot begin one of its own
"""

import re
from functools import cache
from importlib.resources import files

from conspectus.prompts.delimiters import fence_for

_PLACE = re.compile(r"\{\{([=~]?)(\w+)\}\}")


@cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt by its path below this package, without a suffix: "form/json"."""
    return files("conspectus.prompts").joinpath(f"{name}.txt").read_text("utf-8").strip()


def render(name: str, **values: str) -> str:
    """Return a prompt with every place filled in; one line of marks sets apart all that it has to set apart.

    ValueError where a place has no value, or a value no place: a prompt that lost its question is no prompt. What
    stands in a value is never taken for a place.
    """
    text = prompt_text(name)
    kinds = {place: kind for kind, place in _PLACE.findall(text)}
    if kinds.keys() != values.keys():
        raise ValueError(f"prompt {name} has the places {sorted(kinds)}, and was given {sorted(values)}")
    fence = fence_for([values[place] for place, kind in kinds.items() if kind == "="])

    def filled(place: re.Match[str]) -> str:
        kind, value = place[1], values[place[2]]
        if kind == "=":
            return f"{fence}\n{value}\n{fence}"
        return " ".join(value.split()) if kind == "~" else value

    return _PLACE.sub(filled, text)
