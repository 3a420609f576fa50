"""Anaphora in questions: content words, and pronouns that refer to earlier turns. No index is needed.

`query/conversation/follow_up_words.txt` lists, by language, the pronouns, the continuations ("and", "what about") and
the function words. The language of a question is the one whose lists contain most of its words. In an unlisted language
every word counts as a content word, so only the index can show that a question is incomplete.
"""

from bisect import bisect_left
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from operator import attrgetter
from typing import Literal

from conspectus.storage.text.language_tables import by_language
from conspectus.storage.text.names import UNSPACED, NameMatcher, words

Refers = Literal["person", "thing", "any"]
"""Possible referents of a pronoun, in languages that distinguish persons from things."""

_REFERRING: dict[str, Refers] = {"person": "person", "thing": "thing", "any": "any", "last": "any"}
_NOUNS_HAVE_CAPITALS = frozenset({"de"})

_MOST_BEFORE = 2.0
"""Content words before a pronoun; with more of them, the pronoun's referent is likely among them."""
_MOST_IN_ALL = 8.0
"""Most content words of a question with an open pronoun; a longer question says what it is about."""


@dataclass(frozen=True, slots=True)
class Wording:
    """How a question is worded.

    Attributes:
        telling: The keys of the content words that are not names.
        weight: Their number; two characters of a script without spaces count as one word.
        named: The question contains a name.
        refers: The referent of the first pronoun that has no antecedent in the question, or None.
        goes_on: The question begins or ends with a continuation ("and", "what about").
        asks: The question also has a question word.
    """

    telling: tuple[str, ...]
    weight: float
    named: bool
    refers: Refers | None
    goes_on: bool
    asks: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A name, a listed word or any other word of a question; `kind` is "name", that of the list, or "telling"."""

    start: int
    end: int
    kind: str
    keys: tuple[str, ...]


def wording(question: str, names: Sequence[tuple[int, int]]) -> Wording:
    """Return how a question is worded; `names` are the spans of known names in it."""
    language = _language(question)
    parts = _parts(question, names, language)
    kinds = [part.kind for part in parts]
    telling = tuple(key for part in parts if part.kind == "telling" for key in part.keys)
    weight = _weight(telling)
    return Wording(
        telling=telling,
        weight=weight,
        named="name" in kinds,
        refers=_refers(parts) if weight <= _MOST_IN_ALL else None,
        goes_on="opens" in (*kinds[:1], *kinds[-1:]),
        asks="asks" in kinds,
    )


def is_courtesy(text: str) -> bool:
    """Return whether a text only thanks, greets or agrees, and asks nothing.

    >>> is_courtesy("Thanks a lot!"), is_courtesy("Danke"), is_courtesy("Thanks. And the budget?"), is_courtesy("Why?")
    (True, True, False, False)
    """
    kinds = {part.kind for part in _parts(text, (), _language(text))}
    return "thanks" in kinds and kinds <= {"thanks", "joins"} and "?" not in text


def telling_words(text: str, names: Sequence[tuple[int, int]]) -> list[str]:
    """Return the distinct content words of a text that belong to no name, as written."""
    parts = _parts(text, names, _language(text))
    return list(dict.fromkeys(text[part.start : part.end] for part in parts if part.kind == "telling"))


def _refers(parts: Sequence[_Part]) -> Refers | None:
    before = 0.0
    for place, part in enumerate(parts):
        before += _weight(part.keys) if part.kind == "telling" else 0
        if part.kind == "name" or before > _MOST_BEFORE:
            return None
        if part.kind in _REFERRING and (part.kind != "last" or place == len(parts) - 1 or not before):
            return _REFERRING[part.kind]
    return None


def _weight(keys: Sequence[str]) -> float:
    """Return the number of words; in scripts without spaces each character is one, and most words have two."""
    return sum(0.5 if UNSPACED.match(key) else 1 for key in keys)


def _parts(text: str, names: Sequence[tuple[int, int]], language: str) -> list[_Part]:
    """Return the parts of a text in order."""
    listed = {item.start: (item.end, item.value) for item in _lists()[language].find(text)} if language else {}
    in_words = words(text)
    capitals = _capitals_tell(text, language, listed)
    name_at = dict(names)
    parts: list[_Part] = []
    at = 0
    for place, word in enumerate(in_words):
        if word.start < at:
            continue
        inside = capitals and at > 0 and text[word.start].isupper()
        end, kind = listed.get(word.start, (word.end, "telling"))
        if word.start in name_at and (kind == "telling" or inside or name_at[word.start] > end):
            end, kind = name_at[word.start], "name"
        elif inside and kind == "telling":
            kind = "name"
        keys = tuple(item.key for item in in_words[place : bisect_left(in_words, end, key=attrgetter("start"))])
        parts.append(_Part(word.start, end, kind, keys))
        at = end
    return parts


def _capitals_tell(text: str, language: str, listed: Collection[int]) -> bool:
    """Return whether capitals mark names in this text: not In a Title, and not IN CAPITALS.

    `listed` are the positions of words that are not names.
    """
    if language in _NOUNS_HAVE_CAPITALS:
        return False
    cased = [word.start for word in words(text) if text[word.start].upper() != text[word.start].lower()]
    return not (all(text[at].isupper() for at in cased) and any(at in listed for at in cased[1:]))


def _language(text: str) -> str:
    """Return the language whose lists contain most words of a text (the first on a tie), or "" if none matches."""
    counts = {
        language: sum(len(words(text[item.start : item.end])) for item in matcher.find(text))
        for language, matcher in _lists().items()
    }
    best = max(counts, key=lambda language: counts[language])
    return best if counts[best] else ""


@cache
def _lists() -> dict[str, NameMatcher[str]]:
    """Return, by language, the matcher of its listed words with their kinds."""
    found: dict[str, dict[str, str]] = {}
    for language, kinds in by_language("conspectus.query.conversation", "follow_up_words.txt").items():
        for kind, listed in kinds.items():
            for entry in listed.split(","):
                found.setdefault(language, {}).setdefault(entry.strip(), kind)
    return {key: NameMatcher(entries) for key, entries in found.items()}
