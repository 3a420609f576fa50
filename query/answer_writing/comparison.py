"""Which of two things is lighter, cheaper, older: the measure that a comparative asks for, and its value for each.

`comparatives.txt` has the measures with their words in four languages. A value is the number, quantity or date next to a
word of the measure in the sentence that is quoted for a thing. Only two values on one scale are compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

import regex
from conspectus.query.context import Context
from conspectus.query.question.parts import sides_of
from conspectus.storage.text.literals import Literal, compare, parse_literal
from conspectus.storage.text.names import word_keys, words
from conspectus.storage.text.words import stem

_VALUE = regex.compile(
    r"(?<![\w.,])(?:\p{Sc}\s?)?\d[\d.,]*+(?<=\d)(?:\s?(?:\p{Sc}|%|°?\p{L}[\p{L}²³/]{0,14}))?|\b(?:1\d|20)\d\d\b"
)

_BOTH = regex.compile(
    r"\b(?:(?:the|die|den|der|les|des|los|las) )?(?:two|both|zwei|beiden?|deux|dos|amb[oa]s)(?: the| les| los)? (?P<noun>\p{L}{3,})",
    regex.I,
)
_FEW = 200
"""Documents of an index in which two of them can be meant without their names."""


@dataclass(frozen=True, slots=True)
class Measure:
    """What a comparative asks for.

    Attributes:
        words: The words of the measure, the usual one first, in all languages.
        less: Whether the thing with the smaller value is meant.
        dated: Whether the values are dates: of two ages the greater one is the older.
    """

    words: tuple[str, ...]
    less: bool
    dated: bool


@cache
def _table() -> tuple[tuple[tuple[str, ...], Measure], ...]:
    """Return the phrases of comparatives, as keys of words, with what they ask for; the longest first."""
    lines = files("conspectus.query.question").joinpath("comparatives.txt").read_text("utf-8").splitlines()
    rows = [line.partition(":") for line in lines if line.strip() and not line.startswith("#")]
    said = {name: [each.strip() for each in text.replace("|", ",").split(",")] for name, _, text in rows}
    found = [
        (tuple(word_keys(phrase)), Measure(tuple(said[name]), way == "less", name == "date"))
        for name, way in (key.split(" ") for key in said if " " in key)
        for phrase in said[f"{name} {way}"]
    ]
    return tuple(sorted(found, key=lambda row: -len(row[0])))


@lru_cache(maxsize=1_000)
def measure_of(question: str) -> Measure | None:
    """Return what the comparative of a question asks for, None if it has none.

    >>> measure_of("Which tent is lighter, the Ridge or the Dome?").words[0]
    'weighs'
    """
    keys = f" {' '.join(word_keys(question))} "
    return next((measure for phrase, measure in _table() if f" {' '.join(phrase)} " in keys), None)


def parts_to_compare(context: Context, question: str) -> tuple[str, ...]:
    """Return for each of two things that a question compares a phrase that asks for its value, else ().

    It has the word of the measure that the documents use. "The two tents" are the only two documents of which the title
    has that word.
    """
    sides, measure = sides_of(question), measure_of(question)
    both = _BOTH.search(question) if not sides and len(context.titles) <= _FEW else None
    if both:
        noun = stem(both["noun"].casefold())
        titles = [title for title in context.titles.values() if noun in map(stem, word_keys(title))]
        return tuple(question.replace(both[0], title) for title in titles) if len(titles) == 2 else ()
    if not sides or measure is None:
        return sides
    bm25 = context.bm25
    spoken = [word for word in measure.words if any(len(bm25.rows_with(bm25.analysis.stem(word, language)))
              for language in bm25.analysis.known or ("en",))]  # fmt: skip
    return tuple(f"{side} {spoken[0]}" for side in sides) if spoken else sides


def winner(question: str, sentences: Sequence[str]) -> str:
    """Return the one of two compared things that the sentences, one for each, show to be meant; "" if they do not.

    >>> winner("Which tent is lighter, the Ridge or the Dome?", ["The Ridge weighs 2.4 kg.", "The Dome weighs 3.8 kg."])
    'Ridge'
    """
    sides, measure = sides_of(question), measure_of(question)
    if measure is None or len(sides) != 2 or len(sentences) != len(sides):
        return ""
    one, other = (_value(measure, sentence) for sentence in sentences)
    order = compare(one, other) if one and other else None
    if order not in ("less", "greater") or one is None:
        return ""
    less = measure.less != (measure.dated and one.kind in ("duration", "quantity"))
    return sides[0] if (order == "less") == less else sides[1]


def _value(measure: Measure, sentence: str) -> Literal | None:
    """Return the value next to a word of a measure: the first one after it, else the last one before it."""
    places = [word.start for word in words(sentence) if word.key in measure.words]
    found = [(match.start(), value) for match in _VALUE.finditer(sentence) if (value := parse_literal(match[0]))]
    after = [(at - place, value) for place in places for at, value in found if at > place]
    before = [(place - at, value) for place in places for at, value in found if at < place]
    return min(after or before, key=lambda each: each[0])[1] if after or before else None
