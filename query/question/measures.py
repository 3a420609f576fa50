"""What a question asks the value of: a weight, price, age, length, author, by its words in ten languages.

`measures.txt` has the words beside such values, the comparatives, and the questions. So "How old is Ada?" finds "born",
and a sentence about Ada without such a word does not seem to answer.
"""

import re
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files

from conspectus.storage.text.names import word_keys

_SHORT = re.compile(r"\b(what|who|where|when|how)['’]s\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Measure:
    """What a question asks the value of.

    Attributes:
        name: The measure.
        phrase: The words of the question that ask for it.
        words: The words beside its values, the usual one first, in all languages.
        less: Whether a comparative asks for the smaller value; None without a comparative.
    """

    name: str
    phrase: tuple[str, ...]
    words: tuple[str, ...]
    less: bool | None


@cache
def _table() -> tuple[Measure, ...]:
    """Return the measures with each phrase that asks for them, the longest phrases first."""
    lines = files("conspectus.query.question").joinpath("measures.txt").read_text("utf-8").splitlines()
    rows = [line.partition(": ") for line in lines if not line.startswith("#")]
    said = {name: [each.strip() for each in text.replace("|", ",").split(",")] for name, _, text in rows}
    found = [
        Measure(name, tuple(word_keys(phrase)), tuple(said[name]), {"less": True, "more": False}.get(way))
        for name, way in (key.split(" ") for key in said if " " in key)
        for phrase in said[f"{name} {way}"]
    ]
    return tuple(sorted(found, key=lambda measure: -len(measure.phrase)))


@lru_cache(maxsize=1_000)
def measure_of(question: str) -> Measure | None:
    """Return what a question asks the value of, None if its words do not say so.

    >>> measure_of("Which tent is lighter, the Ridge or the Dome?").name, measure_of("Wie alt ist die Brücke?").words[0]
    ('weight', 'born')
    """
    whole = _SHORT.sub(r"\1 is", question)
    spoken = f" {' '.join(word_keys(whole))} "
    return next((measure for measure in _table() if f" {' '.join(measure.phrase)} " in spoken), None)
