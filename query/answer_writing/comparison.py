"""Which of two things is lighter, cheaper, older: the values of the measure that a comparative asks for.

A value is the number, quantity or date next to a word of the measure (`question/measures.py`) in the sentence that is
quoted for a thing. Only two values on one scale are compared.
"""

from collections.abc import Sequence

import regex
from conspectus.query.context import Context
from conspectus.query.question.measures import Measure, measure_of
from conspectus.query.question.parts import parts_of, sides_of
from conspectus.storage.text.dates import DATE
from conspectus.storage.text.literals import Literal, compare, parse_literal
from conspectus.storage.text.names import word_keys, words
from conspectus.storage.text.words import stem

_VALUE = regex.compile(
    r"(?<![\w.,])(?:\p{Sc}\s?)?(?P<number>\d(?:[\d.,]*\d)?)(?:\s?(?:\p{Sc}|%|°?\p{L}[\p{L}²³/]{0,14}))?"
)

_BOTH = regex.compile(
    r"\b(?:(?:the|die|den|der|les|des|los|las) )?(?:two|both|zwei|beiden?|deux|dos|amb[oa]s)(?: the| les| los)?"
    r" (?P<noun>\p{L}{3,})",
    regex.I,
)
_FEW = 200
"""Documents of an index in which two of them can be meant without their names."""


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


def parts_asked(context: Context, question: str) -> tuple[str, ...]:
    """Return the parts of a question that asks for several things or compares two; else none."""
    parts = parts_to_compare(context, question) or parts_of(question)
    return parts if len(parts) > 1 else ()


def winner(question: str, sentences: Sequence[str]) -> str:
    """Return the one of two compared things that the sentences, one for each, show to be meant; "" if they do not.

    >>> winner("Which tent is lighter, the Ridge or the Dome?", ["The Ridge weighs 2.4 kg.", "The Dome weighs 3.8 kg."])
    'Ridge'
    """
    sides, measure = sides_of(question), measure_of(question)
    if measure is None or measure.less is None or len(sides) != 2 or len(sentences) != len(sides):
        return ""
    one, other = (_value(measure, sentence) for sentence in sentences)
    order = compare(one, other) if one and other else None
    if order not in ("less", "greater") or one is None:
        return ""
    less = measure.less != (measure.name == "date" and one.kind in ("duration", "quantity"))
    return sides[0] if (order == "less") == less else sides[1]


def tells_value(question: str, sentence: str) -> bool:
    """Return whether a sentence has a value of the measure that a question compares."""
    measure = measure_of(question)
    return measure is not None and _value(measure, sentence) is not None


def _value(measure: Measure, sentence: str) -> Literal | None:
    """Return the value with a unit that is a word of a measure, else the one next to such a word, behind it if any is.

    "It gives 4.5 kilowatts and takes logs of 25 centimetres" has the power 4.5 kilowatts.
    """
    places = [word.start for word in words(sentence) if word.key in measure.words]
    dates = [(match.start(), parse_literal(match[0])) for match in DATE.finditer(sentence)]
    rest = DATE.sub(lambda date: " " * len(date[0]), sentence)
    numbers = [(match, parse_literal(match[0]) or parse_literal(match["number"])) for match in _VALUE.finditer(rest)]
    units = (value for match, value in numbers if value and set(word_keys(match[0])) & {*measure.words})
    if unit := next(units, None):
        return unit
    found = [(at, value) for at, value in (*dates, *((match.start(), value) for match, value in numbers)) if value]
    after = [(at - place, value) for place in places for at, value in found if at > place]
    before = [(place - at, value) for place in places for at, value in found if at < place]
    return min(after or before, key=lambda each: each[0])[1] if after or before else None
