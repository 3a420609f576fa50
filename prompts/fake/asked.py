"""What a conversation asks for: the prompt template that its last turn was made from, and the values in it.

Templates are compared with the text as it is sent, so a changed prompt needs no change here.
"""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from conspectus.prompts.fake.replies import FakeRequest
from conspectus.prompts.render import PLACEHOLDER, prompt_text

_FOLDERS = ("index", "query", "judge", "doctor")
_COMPLAINTS = ("json/again", "query/answer_again")
_PART = re.compile(r"_examples?$|/tuned_|/answer_again$")
"""Templates that stand within others, or behind a reply."""
_TURN = re.compile(r"^\[(?:system|user|assistant)\]\n", re.MULTILINE)
_LAST_LINE = re.compile(r"\n(?=\{\{\w+\}\}\n+\[user\])")
"""The end of the line before a value that ends the rules: an empty one leaves no line."""
_TAGGED = re.compile(r"\s*<(\w+)>\n?(.*?)\n?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Asked:
    """The template of the last turn with its values, and those of the conversation's first turn.

    `again`: the reply before could not be used, and is asked for once more.
    """

    name: str
    values: dict[str, str]
    first: dict[str, str]
    again: bool = False


@dataclass(frozen=True, slots=True)
class _Template:
    """A template: the texts around its places, and the kind and name of each place."""

    name: str
    fixed: tuple[str, ...]
    places: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, name: str) -> "_Template":
        first, *parts = PLACEHOLDER.split(_TURN.sub("", _LAST_LINE.sub("", prompt_text(name))))
        places = tuple(zip(parts[0::3], parts[1::3], strict=True))
        fixed = (first, *parts[2::3])
        if not first and places:  # a persona, which may be empty
            return cls(name, (fixed[1].lstrip(), *fixed[2:]), places[1:])
        return cls(name, fixed, places)

    @property
    def n_characters(self) -> int:
        return sum(map(len, self.fixed))

    def values(self, text: str) -> dict[str, str] | None:
        """Return the values in a text that was made from this template, None for another text."""
        begin = text.find(self.fixed[0])
        if begin < 0:
            return None
        at, found = begin + len(self.fixed[0]), {}
        for (kind, place), after in zip(self.places, self.fixed[1:], strict=True):
            inside = _TAGGED.match(text, at) if kind == "=" else None
            start = inside.end() if inside else at
            end = text.find(after, start) if after else len(text)
            if end < 0:
                return None
            found[place] = (inside[2].replace("&lt;", "<") if inside else text[at:end]).strip()
            at = end + len(after)
        return found


@cache
def _templates() -> tuple[_Template, ...]:
    """Return all templates, those with most fixed text first: the others may be found in them by chance."""
    root = files("conspectus.prompts")
    names = [
        f"{folder}/{entry.name.removesuffix('.txt')}"
        for folder in _FOLDERS
        for entry in root.joinpath(folder).iterdir()
        if entry.name.endswith(".txt")
    ]
    made = [_Template.of(name) for name in sorted(names) if not _PART.search(name)]
    return tuple(sorted(made, key=lambda each: -each.n_characters))


def asked(request: FakeRequest) -> Asked | None:
    """Return what a conversation asks for, None where its last turn comes from no template of ours."""
    turns = _turns(request)
    again = len(turns) > 1 and any(_begins(turns[-1], complaint) for complaint in _COMPLAINTS)
    read = _read(turns[-2] if again else turns[-1])
    first = _read(turns[0])
    if read is None:
        return None
    return Asked(read[0], read[1], first[1] if first else {}, again)


def _turns(request: FakeRequest) -> list[str]:
    """Return the texts between the model's own replies, without a JSON schema in words at the end."""
    turns = [""]
    for role, text in request.messages:
        if role == "assistant":
            turns.append("")
        else:
            turns[-1] = f"{turns[-1]}\n\n{text}".strip()
    schema = PLACEHOLDER.split(prompt_text("json/schema"))[0].strip()
    return [turn.split(schema)[0].strip() if schema in turn else turn for turn in turns if turn] or [""]


def _begins(text: str, name: str) -> bool:
    return text.startswith(PLACEHOLDER.split(prompt_text(name))[0])


def _read(text: str) -> tuple[str, dict[str, str]] | None:
    for template in _templates():
        values = template.values(text)
        if values is not None:
            return template.name, values
    return None
