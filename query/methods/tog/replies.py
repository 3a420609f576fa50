"""What a model's replies in a beam search say: scored choices, and the reasoning that begins with {Yes} or {No}."""

import re
from dataclasses import dataclass

from conspectus.prompts.replies.json_repair import without_thinking
from pydantic import BaseModel, RootModel

_BRACED = re.compile(r"\{([^{}]*)\}")
_NUMBER = re.compile(r"\[(\d{1,4})\]")
_BARE = re.compile(r"\W*(yes|no)\b", re.IGNORECASE)


class Topics(RootModel[dict[str, str]]):
    """Entities by their numbers."""


class Scored(BaseModel):
    """A numbered thing and its score."""

    number: int
    score: float


class Relations(BaseModel):
    """Relations that help."""

    relations: list[Scored]


class Entities(BaseModel):
    """Entities that help."""

    entities: list[Scored]


class Pieces(BaseModel):
    """Pieces of text that help."""

    pieces: list[Scored]


@dataclass(frozen=True, slots=True)
class Reasoned:
    """A reasoning: whether it is an answer, what stands in its braces, and the numbers it rests on."""

    sufficient: bool
    text: str
    numbers: tuple[int, ...]


def read_reasoning(reply: str) -> Reasoned | None:
    """Return what a reasoning says, None where it begins with neither {Yes} nor {No}, or says yes and no answer.

    >>> read_reasoning("{Yes} {Sweden} [1][3]")
    Reasoned(sufficient=True, text='Sweden', numbers=(1, 3))
    >>> read_reasoning("No. {Its maker is known.}").text
    'Its maker is known.'
    """
    said = without_thinking(reply).strip()
    begins = _BARE.match(said)
    if not begins:
        return None
    sufficient = begins[1].casefold() == "yes"
    braced = [each.strip() for each in _BRACED.findall(said)]
    if braced and braced[0].casefold() in ("yes", "no"):
        braced = braced[1:]
    rest = said[begins.end() :].lstrip("}.,: \n")
    text = braced[0] if braced else _NUMBER.sub("", rest).strip()
    if sufficient and not text:
        return None
    numbers = tuple(dict.fromkeys(int(each) for each in _NUMBER.findall(said)))
    return Reasoned(sufficient, text, numbers)


def in_braces(reply: str) -> str:
    """Return what stands in the last braces of a reply, or all of it.

    >>> in_braces("I think it is {Sweden}."), in_braces("Sweden")
    ('Sweden', 'Sweden')
    """
    said = without_thinking(reply).strip()
    braced = [each.strip() for each in _BRACED.findall(said) if each.strip()]
    return braced[-1] if braced else " ".join(said.split())


def on_unit_scale(scores: list[float]) -> list[float]:
    """Return scores of 0 to 10 on a scale from 0 to 1; where none is above 1 they are on it already.

    >>> on_unit_scale([8, 2]), on_unit_scale([0.8, 0.2])
    ([0.8, 0.2], [0.8, 0.2])
    """
    scale = 10.0 if max(scores, default=0.0) > 1 else 1.0
    return [min(1.0, max(0.0, each / scale)) for each in scores]


def listed_names(text: str) -> tuple[str, ...]:
    """Return the names of an answer that separates several by semicolons.

    >>> listed_names("Bern; Basel")
    ('Bern', 'Basel')
    """
    return tuple(dict.fromkeys(part.strip().rstrip(".") for part in text.split(";") if part.strip().rstrip(".")))
