"""The parts of a question that asks for several things, compares two, or asks what connects two."""

from functools import cache, lru_cache
from importlib.resources import files

import regex
import regex as re
from conspectus.storage.text.language_tables import by_language


def _pattern(*keys: str) -> str:
    """Return a pattern that matches what any of the patterns of some keys of `parts.txt` matches."""
    table = by_language("conspectus.query.question", "parts.txt")
    text = "|".join(pattern for key in keys for pattern in table[key].values())
    for name in ("asking", "leading", "and"):
        text = text.replace(f"<{name}>", "|".join(table[name].values()))
    return text.replace("<one>", "(?P<one>.{1,200}?)").replace("<other>", "(?P<other>.+)")


_BOUNDARY = re.compile(rf"[,;]?\s+(?:{_pattern('boundary')})", re.IGNORECASE)
_SIDES = re.compile(_pattern("difference", "comparison", "choice"), re.IGNORECASE)
_ARTICLE = re.compile(rf"^{_pattern('article')}", re.IGNORECASE)
_LEAST_WORDS = 3
_MOST_OF_SIDE = 6
"""Most words of a compared thing; anything longer is more than a name, and so are 200 characters."""


@lru_cache(maxsize=1_000)
def sides_of(question: str) -> tuple[str, ...]:
    """Return the two things that a question compares; empty if its words do not show them.

    >>> sides_of("What is the difference between a sluice and a weir?")
    ('sluice', 'weir')
    >>> sides_of("Worin unterscheiden sich Schleuse und Wehr?")
    ('Schleuse', 'Wehr')
    >>> sides_of("Wat is het verschil tussen een sluis en een stuw?")
    ('sluis', 'stuw')
    """
    found = _SIDES.search(_one_spaced(question))
    if found is None:
        return ()
    sides = tuple(
        _ARTICLE.sub("", re.split(r"[?!,;:]", side, maxsplit=1)[0].strip()) for side in (found["one"], found["other"])
    )
    return sides if all(side and len(side.split()) <= _MOST_OF_SIDE for side in sides) else ()


@lru_cache(maxsize=1_000)
def parts_of(question: str) -> tuple[str, ...]:
    """Return the parts of a question: questions, or two things that it compares; else the question itself.

    >>> parts_of("Who built the pier, and in which year was it opened?")
    ('Who built the pier', 'in which year was it opened?')
    >>> parts_of("Who built the pier and the gate?")
    ('Who built the pier and the gate?',)
    >>> parts_of("How does a sluice differ from a weir?")
    ('sluice', 'weir')
    """
    sides = sides_of(question)
    if sides:
        return sides
    parts = tuple(part.strip() for part in _BOUNDARY.split(_one_spaced(question)))
    return parts if all(len(part.split()) >= _LEAST_WORDS for part in parts) else (question,)


def _one_spaced(text: str) -> str:
    """Return a text with single spaces: at each place of a long run of them, a pattern would read the rest of it."""
    return " ".join(text.split())


# Bounded: of a question full of "and", every pair of places would be tried.
_NAMES = {"<one>": r"(?P<one>\S.{0,200}?)", "<other>": r"(?P<other>\S.{0,200}?)"}


def connected_things(question: str) -> tuple[str, str] | None:
    """Return the names of the two things whose connection a question asks for; None for any other question.

    >>> connected_things("How is Ada Mirren connected to Mary Quill?")
    ('Ada Mirren', 'Mary Quill')
    >>> connected_things("Was verbindet Ada Mirren mit Tarn?"), connected_things("How is bread made?")
    (('Ada Mirren', 'Tarn'), None)
    """
    text = " ".join(question.split()).strip(" ¿¡?.!")
    for pattern in _patterns():
        if found := pattern.fullmatch(text):
            return found["one"].strip(" \"'“”„"), found["other"].strip(" \"'“”„")
    return None


@cache
def _patterns() -> tuple["regex.Pattern[str]", ...]:
    found = []
    for line in files("conspectus.query.question").joinpath("connections.txt").read_text("utf-8").splitlines():
        if line and not line.startswith(("#", "[")):
            for name, group in _NAMES.items():
                line = line.replace(name, group)
            found.append(regex.compile(line, regex.IGNORECASE))
    return tuple(found)
