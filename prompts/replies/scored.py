"""Scores that a model gives to the items of a list, in JSON or in the words of the reply.

Asked for numbers and scores as JSON, models also write `{name (Score: 0.6)}` (as in Think-on-Graph), `name: 0.6`,
several names before one score or one list of scores, or bare scores in the order of the list. An item is found by its
name, by a part of its name that no other item has, or by its number. What names no item on the list counts for nothing.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated

from conspectus.prompts.replies.json_repair import read_values
from conspectus.prompts.replies.thinking import without_thinking
from pydantic import BeforeValidator

LONGEST = 50_000
"""Characters of a reply that are read."""
_VALUE = r"-?\d{1,3}(?:\.\d{1,6})?"
_SAYS = r"(?:score|rating|relevance|contribution|weight)s?\s*[:=]?\s*"
_IN_BRACKETS = re.compile(
    rf"(?:\(\s*(?:{_SAYS})?|\[\s*{_SAYS})({_VALUE}(?:\s*[;,]\s*{_VALUE})*+)\s*(?:/\s*\d+)?\s*[)\]]", re.IGNORECASE
)
_NUMBER_LINE = re.compile(rf"^[\s>*•-]*(?:\w+ )?#?\[?(\d{{1,3}})\]?\s*[:=–—-]\s*({_VALUE})(?:\s*/\s*\d+)?\s*$")
_BEHIND_COLON = re.compile(
    rf"^(.{{1,160}}?)\s*[:=–—|-]+\s*(?:score\s*[:=]?\s*)?({_VALUE})(?:\s*/\s*\d+)?\s*(?:$|[;,(.|]|//)", re.IGNORECASE
)
_ALONE = re.compile(rf"(?im)^[^\w\n]*+(?:scores?[ \t]*[:=]?[ \t]*)?({_VALUE}(?:[ \t]*[;,][ \t]*{_VALUE})*+)[ \t.]*$")
_LEAD = re.compile(r"^[\s>*•#-]*(?:\(?\d{1,3}[.):]\s*)?(?:scores?\s+(?:for|of)\s+)?", re.IGNORECASE)
_MARKUP = re.compile(r"[*`{}\"“”]")
_NUMBERED = re.compile(
    r"^\W*(?:(?:item|relation|entity|piece|text|number|no\.?|passage)\s*)?#?\[?(\d{1,3})\]?\W*$", re.IGNORECASE
)
_WORDS = {word: number for number, word in enumerate("zero one two three four five six seven eight nine ten".split())}
_NAME_KEYS = ("relation", "name", "entity", "item", "label", "text", "title", "predicate", "id")
_SCORE_KEYS = ("score", "rating", "relevance", "value", "weight", "contribution")
_LEAST_PART = 2
"""Words that a part of a name has at least; a name of one word must be whole."""


def read_scores(reply: str, offered: Sequence[str]) -> dict[int, float]:
    """Return the score of each item that a reply scores, by its place in the list; the first where it gives several.

    Args:
        reply: The text of the reply.
        offered: The items as they were shown, in order.

    Returns:
        Scores as given, on whatever scale; none where the reply scores nothing on the list.

    Example:
        >>> read_scores("1. {born in (Score: 0.7)}: it says where.", ["died in", "born in"])
        {1: 0.7}
        >>> read_scores("0.0, 1.0", ["Bern", "Basel"])
        {0: 0.0, 1: 1.0}
    """
    text = without_thinking(reply)[:LONGEST]
    items = _Items.of(offered)
    found: dict[int, float] = {}
    for name, score in [*_of_json(text), *_of_lines(text)]:
        place = items.place(name)
        if place is not None:
            found.setdefault(place, score)
    return found or _in_order(text, len(offered))


@dataclass(frozen=True, slots=True)
class _Items:
    """The items of a list by their words."""

    places: dict[str, int]
    count: int

    @classmethod
    def of(cls, offered: Sequence[str]) -> "_Items":
        places: dict[str, int] = {}
        for place, name in enumerate(offered):
            places.setdefault(_key(name), place)
        return cls(places, len(offered))

    def place(self, name: str) -> int | None:
        """Return the place of the item that is named."""
        key = _key(name)
        if key in self.places:
            return self.places[key]
        number = _NUMBERED.match(name)
        if number:
            place = int(number[1]) - 1
            return place if 0 <= place < self.count else None
        if key.count(" ") + 1 < _LEAST_PART:
            return None
        near = {
            place for known, place in self.places.items() if f" {key} " in f" {known} " or f" {known} " in f" {key} "
        }
        return near.pop() if len(near) == 1 else None


def _key(name: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", name.casefold()))


def _of_json(text: str) -> Iterator[tuple[str, float]]:
    for value in read_values(text).values:
        yield from _scored(value.content)


def _scored(content: object) -> Iterator[tuple[str, float]]:
    """Yield names or numbers, and scores, of records with both, or of an object that maps one to the other."""
    if isinstance(content, list):
        for one in content:
            yield from _scored(one)
    elif isinstance(content, dict):
        members = {str(key).casefold(): value for key, value in content.items()}
        score = next((number for key in _SCORE_KEYS if (number := _number(members.get(key))) is not None), None)
        named = [members[key] for key in ("number", *_NAME_KEYS) if isinstance(members.get(key), str | int)]
        if score is not None and named:
            for name in named[:1]:
                yield str(name), score
            return
        for key, value in content.items():
            if (number := _number(value)) is not None:
                yield str(key), number
            else:
                yield from _scored(value)


def _number(value: object) -> float | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, str) and (found := re.fullmatch(rf"\s*({_VALUE})\s*(?:/\s*\d+)?\s*", value)):
        return float(found[1])
    return None


def _of_lines(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        line = _MARKUP.sub("", line)
        if alone := _NUMBER_LINE.match(line):
            yield alone[1], float(alone[2])
            continue
        at = 0
        for scores in _IN_BRACKETS.finditer(line):
            parts = line[at : scores.start()].split(";")
            names = [_LEAD.sub("", part).strip(" :") or part.strip(" >*•#-.:()") for part in parts]
            names = [name for name in names if re.search(r"\w", name)]
            values = [float(value) for value in re.findall(_VALUE, scores[1])]
            at = scores.end()
            if len(values) == 1:
                yield from ((name, values[0]) for name in names)
            elif len(values) == len(names):
                yield from zip(names, values, strict=True)
        if at == 0 and (colon := _BEHIND_COLON.match(_LEAD.sub("", line).strip())):
            yield colon[1], float(colon[2])


def _in_order(text: str, count: int) -> dict[int, float]:
    """Return scores without names, where there are as many as items."""
    for line in _ALONE.finditer(_MARKUP.sub("", text)):
        values = [float(value) for value in re.findall(_VALUE, line[1])]
        if len(values) == count and count > 1:
            return dict(enumerate(values))
    return {}


def as_score(value: object) -> object:
    """Return the number that a member of a JSON object gives: 8, "8", "8/10", "85%", "eight", 84.6.

    >>> as_score("8/10"), as_score("85 %"), as_score("Eight"), as_score(84.6)
    (8, 85, 8, 85)
    """
    if isinstance(value, str):
        text = value.strip().casefold()
        found = re.fullmatch(rf"(?:score\s*[:=]?\s*)?({_VALUE})\s*(?:/\s*\d+|%|out of \d+|points?)?\.?", text)
        value = float(found[1]) if found else _WORDS.get(text, value)
    return round(value) if isinstance(value, float) and math.isfinite(value) else value


Score = Annotated[int, BeforeValidator(as_score)]
"""A whole number that a model gives, in whatever form."""
