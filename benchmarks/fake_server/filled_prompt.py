"""Recognise the prompt template from which a conversation's last turn was made, and extract its values.

Templates are matched against the text as sent, so a changed prompt needs no change here.
"""

import re
from dataclasses import dataclass
from functools import cache

from conspectus.prompts.render import PLACEHOLDER, prompt_text, template_names

from benchmarks.fake_server.replies import FakeRequest

_FOLDERS = ("index", "query", "judge", "doctor")
_COMPLAINTS = ("json/again", "query/answer_again", "index/extract_again")
_PART = re.compile(r"_examples?$|/tuned_|/(?:answer|extract)_again$")
"""Templates that are included in others, or that follow a reply."""
_TURN = re.compile(r"^\[(?:system|user|assistant)\]\n", re.MULTILINE)
_LAST_LINE = re.compile(r"\n(?=\{\{style\}\}\n|\{\{\w+\}\}\n+\[user\])")
"""The end of the line before the style, or a value that ends the rules: an empty value leaves no line."""
_TAGGED = re.compile(r"\s*<(\w+)>\n?(.*?)\n?</\1>", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FilledPrompt:
    """The template of the last turn with its values, and those of the conversation's first turn.

    `again`: the previous reply could not be used, and is requested once more.
    """

    name: str
    values: dict[str, str]
    first: dict[str, str]
    again: bool = False


@dataclass(frozen=True, slots=True)
class _Template:
    """A template: the texts around its placeholders, and the kind and name of each placeholder."""

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
        """Return the values in a text that was made from this template, None for any other text."""
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
    """Return all templates, most fixed text first: the others may match its text by chance."""
    names = [name for folder in _FOLDERS for name in template_names(folder)]
    made = [_Template.of(name) for name in names if not _PART.search(name)]
    return tuple(sorted(made, key=lambda each: -each.n_characters))


def asked(request: FakeRequest) -> FilledPrompt | None:
    """Return what a conversation asks for, None if its last turn comes from none of our templates."""
    turns = _turns(request)
    again = len(turns) > 1 and _complains(turns[-1])
    read = _read(turns[-2] if again else turns[-1])
    first = _read(turns[0])
    if read is None:
        return None
    return FilledPrompt(read[0], read[1], first[1] if first else {}, again)


def _turns(request: FakeRequest) -> list[str]:
    """Return the texts between the model's own replies, without a trailing JSON schema in words."""
    turns = [""]
    for role, text in request.messages:
        if role == "assistant" or _complains(text):  # an empty reply stands in no conversation
            turns.append("")
        if role != "assistant":
            turns[-1] = f"{turns[-1]}\n\n{text}".strip()
    schema = PLACEHOLDER.split(prompt_text("json/schema"))[0].strip()
    return [turn.split(schema)[0].strip() if schema in turn else turn for turn in turns if turn] or [""]


def _complains(text: str) -> bool:
    """Return whether a text says that the last reply could not be used."""
    return any(text.startswith(PLACEHOLDER.split(prompt_text(name))[0]) for name in _COMPLAINTS)


def _read(text: str) -> tuple[str, dict[str, str]] | None:
    for template in _templates():
        values = template.values(text)
        if values is not None:
            return template.name, values
    return None
