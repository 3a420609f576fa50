"""Replies in prose, and JSON of another form than asked for: scores, choices, triples, lists, a comparison.

When asked for numbers and scores as JSON, models also write `{name (Score: 0.6)}` (as in Think-on-Graph), `name: 0.6`,
several names before one score or one list of scores, or bare scores in the order of the list. An item is identified by
its name, by a part of its name that no other item has, or by its number. Names that are not on the list are ignored.

`triples_in_words`, `list_in_words` and `comparison_in_words` return None if a reply contains nothing of their kind; it
then counts as unusable.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, Self

from conspectus.prompts.replies.json_repair import read_values
from conspectus.prompts.replies.thinking import without_thinking
from pydantic import BaseModel, BeforeValidator

LONGEST = 100_000
"""At most this many characters of a reply are read."""
_VALUE = r"-?\d{1,3}(?:\.\d{1,6})?"
_SAYS = r"(?:score|rating|relevance|contribution|weight)s?\s*[:=]?\s*"
_IN_BRACKETS = re.compile(
    rf"(?:\(\s*(?:{_SAYS})?|\[\s*{_SAYS})({_VALUE}(?:\s*[;,]\s*{_VALUE})*+)\s*(?:/\s*\d+)?\s*[)\]]", re.IGNORECASE
)
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
_NUMBER_KEYS = ("number", "id", "index", "answer", "choice", "pick")
_LEAST_PART = 2
"""Fewest words in a partial name; a one-word name must match whole."""


def read_chosen(reply: str, offered: Sequence[str]) -> dict[int, float] | None:
    """Return the score of each item that a reply chooses, by its position in the list; None if it mentions none.

    Args:
        reply: The text of the reply.
        offered: The items as they were shown, in order.

    Returns:
        The first score of each item as given, on any scale; 1 for all if the reply scores none. Empty if the reply says
        that none is chosen ("none", or an empty list).

    Example:
        >>> read_chosen("1. {born in (Score: 0.7)}: it says where.", ["died in", "born in"])
        {1: 0.7}
        >>> read_chosen("0.0, 1.0", ["Bern", "Basel"]), read_chosen("The search begins from Ada.", ["Ada", "Town"])
        ({0: 0.0, 1: 1.0}, {0: 1.0})
        >>> read_chosen("{}", ["Ada"]), read_chosen("I like it.", ["Ada"])
        ({}, None)
    """
    text = without_thinking(reply)[:LONGEST].strip()
    places, values = _places(offered), read_values(text).contents
    found: dict[int, float] = {}
    chosen: dict[int, float] = {}
    for name, score in [*(entry for value in values for entry in _entries(value)), *_of_lines(text)]:
        place = _place(name, places, len(offered), whole=score is None)
        if place is not None:
            (chosen if score is None else found).setdefault(place, 1.0 if score is None else score)
    found = found or _in_order(text, len(offered)) or chosen
    if found or any(map(_is_none, values)):
        return found
    told = f" {bare_words(text)} "
    named = {place: told.find(f" {key} ") for key, place in places.items() if key and f" {key} " in told}
    if named:
        return dict.fromkeys(sorted(named, key=named.__getitem__), 1.0)
    numbers = [int(number) - 1 for number in re.findall(r"(?m)^[^\w\n]*+(\d{1,3})\b", text)]
    placed = dict.fromkeys((place for place in numbers if 0 <= place < len(offered)), 1.0)
    none = re.fullmatch(r"\W*(?:none|no entity|nothing|null)\b.{0,80}", text, re.IGNORECASE)
    return placed or ({} if none else None)


def _is_none(content: object) -> bool:
    """Return whether a value says that nothing is chosen: it is empty, or an object with an empty list or "none"."""
    members = list(content.values()) if isinstance(content, dict) else []
    none = any(member == [] or str(member).casefold() == "none" for member in members)
    return content in ({}, []) or (none and not any(isinstance(member, list | dict) and member for member in members))


def _entries(content: object) -> Iterator[tuple[str, float | None]]:
    """Yield (name or number, score if any) from the records, lists and members of a JSON value."""
    if isinstance(content, list):
        for one in content:
            yield from _entries(one)
    elif isinstance(content, dict):
        members = {str(key).casefold(): value for key, value in content.items()}
        score = next((number for key in _SCORE_KEYS if (number := _number(members.get(key))) is not None), None)
        named = [members[key] for key in ("number", *_NAME_KEYS) if isinstance(members.get(key), str | int)]
        if score is not None and named:
            yield str(named[0]), score
            return
        for key, value in content.items():
            number = None if str(key).casefold() in _NUMBER_KEYS else _number(value)
            if number is None:
                yield from _entries(value)
            yield str(key), number
    elif isinstance(content, str | int) and not isinstance(content, bool):
        yield str(content), None


def bare_words(text: str) -> str:
    """Return the words of a text in lower case with single spaces, without punctuation.

    >>> bare_words("film.born_in (Ada's)")
    'film born in ada s'
    """
    return " ".join(re.findall(r"[^\W_]+", text.casefold()))


def _places(offered: Sequence[str]) -> dict[str, int]:
    """Return the position of each item by its words, the first of equal ones."""
    return {bare_words(name): place for place, name in reversed(list(enumerate(offered)))}


def _place(name: str, places: dict[str, int], count: int, *, whole: bool) -> int | None:
    """Return the position of the named item; `whole` means that a part of its name is not enough."""
    key = bare_words(name)
    if key in places:
        return places[key]
    if number := _NUMBERED.match(name):
        place = int(number[1]) - 1
        return place if 0 <= place < count else None
    if whole or key.count(" ") + 1 < _LEAST_PART:
        return None
    near = {place for known, place in places.items() if f" {key} " in f" {known} " or f" {known} " in f" {key} "}
    return near.pop() if len(near) == 1 else None


def _number(value: object) -> float | None:
    number = as_number(value)
    return float(number) if isinstance(number, int | float) and not isinstance(number, bool) else None


def _of_lines(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines():
        line = _MARKUP.sub("", line)
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
    """Return scores without names if there are as many as items."""
    for line in _ALONE.finditer(_MARKUP.sub("", text)):
        values = [float(value) for value in re.findall(_VALUE, line[1])]
        if len(values) == count and count > 1:
            return dict(enumerate(values))
    return {}


def as_number(value: object) -> object:
    """Return the number that a member of a JSON object gives in words or as a fraction; any other value unchanged.

    >>> as_number("7.5 / 10"), as_number("eight"), as_number("8 (important)"), as_number("high")
    (7.5, 8.0, 8.0, 'high')
    """
    if not isinstance(value, str):
        return value
    text = value.strip().casefold()
    found = _AS_NUMBER.fullmatch(text)
    return float(found[1]) if found else float(_WORDS[text]) if text in _WORDS else value


def as_score(value: object) -> object:
    """Return the number that a member of a JSON object gives: 8, "8", "8/10", "85%", "eight", 84.6.

    >>> as_score("8/10"), as_score("85 %"), as_score("Eight"), as_score(84.6)
    (8, 85, 8, 85)
    """
    number = as_number(value)
    return round(number) if isinstance(number, float) and math.isfinite(number) else number


_AS_NUMBER = re.compile(
    rf"(?:(?:score|rating)\s*[:=]?\s*)?({_VALUE})\s*(?:/\s*\d+|%|out of \d+|points?)?\s*(?:\([^()]*\))?\.?"
)
Score = Annotated[int, BeforeValidator(as_score)]
"""A whole number from a model, in any notation."""
Rating = Annotated[float, BeforeValidator(as_number)]
"""A number from a model, in any notation."""


_SENTENCE_LABEL = re.compile(r"(?im)^[^\w\n]*+(?:test |next )?(?:sentence|text|input)\s*\d*\s*:")
_CALL = re.compile(r"(?<![\w\\])(?P<relation>[^\W\d][\w\\,'-]{0,80})\((?P<inside>(?:[^()\n]|\([^()\n]*\)){1,300})\)")
_BRACKETED = re.compile(r"[(\[<](?P<inside>[^()\[\]<>\n]{3,400})[)\]>]")
_PARTS = re.compile(r"\s*(?:\||;|\t|->|→|—)\s*|\s*,\s*")
_STRONG_PARTS = re.compile(r"\s*(?:\||\t|->|→)\s*")
_LISTED = re.compile(
    r"^(?:#{1,6}\s)?\s{0,3}(?:\*\*)?(?:(?P<number>\d{1,3})[.)、]|[-*•])\s*(?P<item>\S.*)$", re.MULTILINE
)
_ITEM_NUMBER = re.compile(r"^\s*\(?\d{1,3}[.)、:]\s*")
_OUTER = re.compile(r"^[\s*_`\"'“”]+|[\s*_`\"'“”]+$")
_SCORE = r"(\d{1,3}(?:\.\d{1,3})?)"
_FIRST_LINE = re.compile(rf"^\W*{_SCORE}\s*(?:/\s*\d+)?[\s,;:/]+{_SCORE}\s*(?:/\s*\d+)?\s*(?:$|\n)")
_TWO = r"(?:assistant|answer|response|model|candidate)"
_BETTER = re.compile(
    rf"{_TWO} (?P<which>[12AB])(?:'s (?:answer|response|\w+))? (?:\w+ ){{0,3}}?(?:performed|performs|is|was|did|"
    rf"does|wins|provided)\b(?: \w+){{0,2}}? "
    rf"?(?:better|best|superior|the winner|stronger)|{_TWO} (?P<wins>[12AB]) wins|(?:better|best|winner|"
    rf"prefer(?:red)?)\W{{0,4}}(?:is|:)?\W{{0,4}}(?:{_TWO} )?(?P<choice>[12AB])\b",
    re.IGNORECASE,
)
_TIE = re.compile(r"\b(?:tied?|draw|equally (?:good|well|bad)|neither (?:answer )?is better)\b", re.IGNORECASE)


def triples_in_words(reply: str) -> list[list[str]] | None:
    """Return the triples (subject, predicate, object) of a reply that is no JSON.

    They are read as `relation(subject, object)`, and as `(subject, relation, object)` or `subject | relation | object`
    on a line. If the model continues with texts that it invented, only the triples of the first text are read.

    >>> triples_in_words("Triples:\\n- born\\\\_in(Ada Mirren, Pelluci)\\n\\nText: Bern ...\\n- located_in(Bern, Aar)")
    [['Ada Mirren', 'born in', 'Pelluci']]
    """
    text = without_thinking(reply)[:LONGEST]
    for block in _SENTENCE_LABEL.split(text):
        found = [list(triple) for triple in dict.fromkeys(_triples(block))]
        if found:
            return found
    return None


def _triples(block: str) -> Iterator[tuple[str, str, str]]:
    for line in block.splitlines():
        calls = [(call["relation"].replace("_", " "), *call["inside"].partition(",")) for call in _CALL.finditer(line)]
        told: list[Sequence[str]] = [(subject, relation, target) for relation, subject, _, target in calls]
        told = told or [
            parts for found in _BRACKETED.finditer(line) if len(parts := _PARTS.split(found["inside"], maxsplit=2)) == 3
        ]
        for each in told or [_STRONG_PARTS.split(line.strip(" |"))]:
            bare = [" ".join(_OUTER.sub("", part.replace("\\", "").strip(" -*•")).split()) for part in each]
            if len(bare) == 3 and all(re.search(r"\w", part) for part in bare):
                yield bare[0], bare[1], bare[2]


def list_in_words(reply: str) -> list[str] | None:
    """Return the items of a numbered or bulleted list, without their numbers.

    If items are numbered, bullets below them belong to them and are left out.

    >>> list_in_words("Sure! Here are two:\\n1. Who built it?\\n   - a hint\\n2) When?")
    ['Who built it?', 'When?']
    """
    found = list(_LISTED.finditer(without_thinking(reply)[:LONGEST]))
    numbered = [one for one in found if one["number"]]
    return [without_number(one["item"]) for one in numbered or found] or None


class ListReply(BaseModel):
    """The base of replies that are one list, which may also be numbered or bulleted lines."""

    @classmethod
    def in_words(cls, reply: str) -> Self | None:
        """Parse a list with one item per line."""
        listed = list_in_words(reply)
        return cls.model_validate(dict.fromkeys(cls.model_fields, listed)) if listed else None


def without_number(item: str) -> str:
    """Return an item of a list without a number and markup around it.

    >>> without_number("2. **Who built it?**")
    'Who built it?'
    """
    return _OUTER.sub("", _ITEM_NUMBER.sub("", item.strip(), count=1)).strip() or item.strip()


def comparison_in_words(reply: str) -> str | None:
    """Return which of two answers a judge prefers, "1", "2" or "tie": by its scores, or by its words.

    >>> comparison_in_words("8 9\\nBoth are good."), comparison_in_words("In all, Assistant 1 performed better.")
    ('2', '1')
    """
    text = without_thinking(reply)[:LONGEST].strip().replace("*", "")
    if first := _FIRST_LINE.match(text):
        one, two = float(first[1]), float(first[2])
        return "tie" if one == two else "1" if one > two else "2"
    said = list(_BETTER.finditer(text))
    if said:
        which = next(name for name in said[-1].groups() if name)
        return {"A": "1", "B": "2"}.get(which.upper(), which)
    return "tie" if _TIE.search(text) else None
