"""What a model is asked about a sample, as forms. A text that would break a prompt is none."""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field

FEWEST_TYPES = 3
MOST_TYPES = 10

_LONGEST_TEXT = 1_500
"""Most characters of a text that stands in every prompt of an index; a few sentences have some hundreds."""
_LONGEST_NAME = 40
_NO_NAME = re.compile(r"[<>|#{}\[\]\"]")


def _paragraph(text: str) -> str:
    text = " ".join(text.split())
    if not text:
        raise ValueError("it is empty")
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"it is longer than {_LONGEST_TEXT} characters; two or three sentences are enough")
    return text


def _name(text: str) -> str:
    text = " ".join(text.split())
    if not text or len(text) > _LONGEST_NAME or _NO_NAME.search(text):
        raise ValueError("it is not a name of one or two words")
    return text


def _kinds(names: list[str]) -> list[str]:
    """Return the different ones of names that can stand in a list with commas, at most `MOST_TYPES`."""
    found: dict[str, str] = {}
    for each in names:
        name = " ".join(each.split())
        if name and len(name) <= _LONGEST_NAME and not _NO_NAME.search(name) and not re.search("[,;，、；]", name):
            found.setdefault(name.casefold(), name)
    if len(found) < FEWEST_TYPES:
        raise ValueError(f"there must be at least {FEWEST_TYPES} different kinds, each of one or two words")
    return list(found.values())[:MOST_TYPES]


Paragraph = Annotated[str, AfterValidator(_paragraph)]
Name = Annotated[str, AfterValidator(_name)]


class DomainAnswer(BaseModel):
    """What a collection is, and the language that it is in."""

    domain: Paragraph
    language: Name


class PersonaAnswer(BaseModel):
    """Who a model is to be when it extracts, and when it reports."""

    extraction: Paragraph
    reports: Paragraph


class TypesAnswer(BaseModel):
    """Kinds of entities, the most important first."""

    types: Annotated[list[str], AfterValidator(_kinds), Field(description="kinds of entities")]
