"""Short answers: the name, year or number in a quoted sentence that answers the question.

The expected type is read from the words of the question (English only; other languages get no short answer). The names
in a sentence and their types come from the index. A short answer is a literal part of a quoted sentence.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conspectus.query.context import Context
from conspectus.storage.index import per_index
from conspectus.storage.records import Entity, Mention, Span
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    import pyarrow as pa

_LATER = 0.25
"""The bonus per sentence: a later sentence is about what an earlier one names, the second hop."""
_CHARACTERS = 100
"""The distance from the nearest word of the question that costs 1; half of it if the sentence has no such word."""
_STAND_IN = 3.0
"""The cost of a type that is only a substitute for the wanted one: extractors confuse them."""
_LEAST_LETTERS = 4
"""Shorter words of a question are mostly function words."""

_PERSON = frozenset({"person", "people"})
_PLACE = frozenset({"gpe", "loc", "fac", "geo", "location", "place"})
_GROUP = frozenset({"org", "organization", "organisation", "company"})
_WORK = frozenset({"work_of_art", "work", "product"})
_PEOPLE = frozenset({"norp", "language"})
_DATE = frozenset({"date", "time"})
_UNSURE = frozenset({"name", "title"})
_NAMES = _PERSON | _PLACE | _GROUP | _WORK | _PEOPLE | _UNSURE | {"event", "law"}

_YEAR = re.compile(r"\b(?:1\d{3}|20\d{2})\b")
_NUMBER = re.compile(
    r"\b\d[\d,.]*(?<![,.])(?:\s(?:thousand|million|billion|percent))?"
    r"|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected answer of a question: names of some types, else of substitute types, or matches of a pattern."""

    types: frozenset[str] = frozenset()
    stand_ins: frozenset[str] = frozenset()
    pattern: re.Pattern[str] | None = None


def _which(*nouns: str) -> str:
    return rf"\b(?:what|which)\b(?:\s[\w'’-]+){{0,4}}?\s(?:{'|'.join(nouns)})\b"


_KINDS: tuple[tuple[re.Pattern[str], Expected], ...] = tuple(
    (re.compile(asked, re.IGNORECASE), wanted)
    for asked, wanted in (
        (r"\b(?:what|which) (?:year|decade)\b", Expected(pattern=_YEAR)),
        (r"\bwhen\b|\b(?:what|which) (?:date|day|month|time)\b", Expected(_DATE, pattern=_YEAR)),
        (r"\bhow (?:many|much|old|long|far|tall|large|big)\b|\bwhat (?:number|is the pop)", Expected(pattern=_NUMBER)),
        (r"\bwho(?:m|se)?\b", Expected(_PERSON, _GROUP | _UNSURE)),
        (
            r"\bwhere\b|\bbirthplace\b|"
            + _which(
                "city", "cities", "country", "countries", "state", "county", "town", "village", "place", "location",
                "continent", "region", "province", "river", "island", "borough", "district", "municipality", "capital",
            ),
            Expected(_PLACE, _GROUP | _UNSURE),
        ),
        (r"\bnationality\b|\bwhat language\b|\bethnic", Expected(_PEOPLE)),
        (
            _which(
                "company", "band", "team", "club", "university", "college", "school", "organi[sz]ation", "label",
                "network", "agency", "party", "group", "studio", "airline", "league", "publisher", "manufacturer",
            ),
            Expected(_GROUP, _UNSURE | _PERSON | _PLACE),
        ),
        (
            _which(
                "film", "movie", "album", "song", "book", "novel", "show", "series", "game", "magazine", "opera",
                "musical", "play", "newspaper", "episode", "single",
            ),
            Expected(_WORK, _UNSURE | _GROUP),
        ),
        (
            _which(
                "actor", "actress", "singer", "author", "writer", "director", "player", "president", "king", "queen",
                "man", "woman", "person", "politician", "composer", "musician", "artist", "poet", "scientist",
                "footballer", "founder", "coach", "performer", "producer",
            ),
            Expected(_PERSON, _GROUP | _UNSURE),
        ),
        (r"\b(?:what|which)\b", Expected(_NAMES)),
    )
)  # fmt: skip


def expected_answer(question: str) -> Expected | None:
    """Return what a question asks for; None if its words do not show it ("Are both of them rivers?")."""
    return next((wanted for asked, wanted in _KINDS if asked.search(question)), None)


def short_answer(context: Context, question: str, sentences: Sequence[Span]) -> str:
    """Return the words in the sentences (best first) that answer a question; "" if none has the expected type.

    Among all names of the expected type, or matches of its pattern, that the question does not contain, the one nearest
    to a word of the question wins; a later sentence is preferred to an earlier one.
    """
    kind = expected_answer(question)
    if kind is None or not sentences:
        return ""
    asked = {word.key for word in words(question)}
    best, least = "", float("inf")
    for place, span in enumerate(sentences):
        chunk = context.chunks[context.chunk_rows[span.chunk_id]]
        start, end = span.start - chunk.start, span.end - chunk.start
        sentence = chunk.text[start:end]
        known = [word.start for word in words(sentence) if word.key in asked and len(word.key) >= _LEAST_LETTERS]
        for at, text, extra in _candidates(context, kind, span.chunk_id, sentence, start):
            if {word.key for word in words(text)} <= asked:
                continue
            far = min((abs(position - at) for position in known), default=_CHARACTERS / 2) / _CHARACTERS
            cost = far + extra - _LATER * place
            if cost < least:
                best, least = text, cost
    return " ".join(best.split())


def _candidates(
    context: Context, kind: Expected, chunk_id: str, sentence: str, start: int
) -> Iterator[tuple[int, str, float]]:
    """Yield the start of a candidate in the sentence, its text, and the cost of its type."""
    named = False
    for first, last, types in _names(context, chunk_id):
        text = sentence[first - start : last - start] if first >= start and last <= start + len(sentence) else ""
        if kind.types & types and (kind.types != _DATE or _YEAR.search(text)):
            named = named or bool(text)
            yield first - start, text, 0.0
        elif kind.stand_ins & types:
            yield first - start, text, _STAND_IN
    if kind.pattern and not named:
        yield from ((found.start(), found.group(), 0.0) for found in kind.pattern.finditer(sentence))


def _names(context: Context, chunk_id: str) -> list[tuple[int, int, frozenset[str]]]:
    """Return the names in a chunk: start, end and types in lower case."""
    from pyarrow import compute

    mentions, entities = _tables(context)
    found = mentions.filter(compute.equal(mentions.column("chunk_id"), chunk_id)).drop_null()
    held = entities.filter(compute.is_in(entities.column("id"), value_set=found.column("entity_id")))
    types_of = {
        row["id"]: frozenset(type_.casefold() for type_ in (row["type"], *row["types"])) for row in held.to_pylist()
    }
    return [(row["start"], row["end"], types_of[row["entity_id"]]) for row in found.to_pylist()]


@per_index
def _tables(context: Context) -> tuple["pa.Table", "pa.Table"]:
    index = context.index
    return index.arrow(Mention, "chunk_id", "entity_id", "start", "end"), index.arrow(Entity, "id", "type", "types")
