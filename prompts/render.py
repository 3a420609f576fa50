"""Prompt templates: text files whose placeholders are filled in, strictly.

The kind of a placeholder says where its value comes from, and how it is inserted:

    {{question}}    from the user, the settings or this program: unchanged
    {{=passages}}   from documents, or derived from them: between two delimiter lines
    {{~thing}}      the same within a line: on one line, so that it cannot start a line of its own
"""

import re
from functools import cache
from importlib.resources import files

from conspectus.prompts.delimiters import delimiter_for

PLACEHOLDER = re.compile(r"\{\{([=~]?)(\w+)\}\}")


@cache
def prompt_text(name: str) -> str:
    """Return the text of a prompt template, named by its path in this package without a suffix: "json/schema"."""
    return files("conspectus.prompts").joinpath(f"{name}.txt").read_text("utf-8").strip()


def render(name: str, **values: str) -> str:
    """Return a prompt with all placeholders filled in.

    Placeholders inside values are not filled in. One delimiter, longer than any in the values, serves the whole prompt.

    Args:
        name: The prompt, such as "query/verify_citation".
        **values: A value for each placeholder.

    Raises:
        ValueError: A placeholder has no value, or a value no placeholder.
    """
    text = prompt_text(name)
    kinds = {place: kind for kind, place in PLACEHOLDER.findall(text)}
    if kinds.keys() != values.keys():
        raise ValueError(f"prompt {name} has the placeholders {sorted(kinds)} but got {sorted(values)}")
    delimiter = delimiter_for([values[place] for place, kind in kinds.items() if kind == "="])

    def filled(place: re.Match[str]) -> str:
        kind, value = place[1], values[place[2]]
        if kind == "=":
            return f"{delimiter}\n{value}\n{delimiter}"
        return " ".join(value.split()) if kind == "~" else value

    return PLACEHOLDER.sub(filled, text)
