"""Compare names of persons: first names, initials, nicknames and transliterations agree or conflict."""

import re
from dataclasses import dataclass
from functools import lru_cache

from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.wordlists import NICKNAMES, NO_FIRST_NAMES, SOUNDS, WORKS
from rapidfuzz.distance import Levenshtein

_STARTS = (
    {"tch", "ch", "tsch", "cz"}, {"k", "c", "q", "g"}, {"y", "j", "i", "e"}, {"h", "kh", "ch"}, {"v", "w"},
    {"z", "ts", "tz", "cz"}, {"ph", "f"}, {"zh", "j"},
)  # fmt: skip
"""Initial letters that may represent the same sound."""


_TWICE = re.compile(r"(.)\1+", re.DOTALL)
_VOWELS = str.maketrans("aiyo", "eeeu")
"""Vowels that vary between transliterations."""


@lru_cache(100_000)
def sound(word: str) -> str:
    """Return a rough phonetic key of a folded word.

    >>> sound("tchaikovsky") == sound("chaikovskii"), sound("mohammed") == sound("muhammad")
    (True, True)
    """
    if len(word) < 4:
        return word
    heard = word
    for letters, sign in SOUNDS:
        heard = heard.replace(letters, sign)
    return _TWICE.sub(r"\1", heard.replace("x", "ks").translate(_VOWELS))


def same_start(mine: str, yours: str) -> bool:
    """Return whether two words begin with the same letter, or with letters for the same sound."""
    return mine[:1] == yours[:1] or any(
        any(mine.startswith(member) for member in group) and any(yours.startswith(member) for member in group)
        for group in _STARTS
    )


def spelt_near(mine: str, yours: str) -> bool:
    """Return whether two folded words may be transliterations of one word.

    Words that differ only in vowels must be long: Anna and Anne differ, Mohammed and Muhammad match.

    >>> spelt_near("karl", "carl"), spelt_near("anna", "anne"), spelt_near("mohammed", "muhammad")
    (True, False, True)
    """
    if sound(mine) != sound(yours) or not same_start(mine, yours):
        return False
    if Levenshtein.distance(mine, yours) > max(1, max(len(mine), len(yours)) // 3):  # Jaycee and Jackie
        return False
    if _consonants(mine) == _consonants(yours):
        return min(len(mine), len(yours)) >= _LONG_WORD
    return min(len(mine), len(yours)) >= _SHORT_WORD


_LONG_WORD, _SHORT_WORD = 6, 4


def _consonants(word: str) -> str:
    return "".join(sign for sign in word if sign not in "aeiouy")


_PARTICLES = frozenset({"van", "von", "der", "den", "de", "da", "di", "du", "del", "dos", "das", "la", "le", "bin",
                        "ibn",
                        "al", "el", "ben", "bint", "ter", "ten", "zu", "und", "y", "e"})  # fmt: skip
_NO_PART = frozenset({"of", "and", "the", "in", "for", "on", "at", "to", "with", "&"})


@dataclass(frozen=True, slots=True)
class Person:
    """First names and initials, the family name (the last word), and the nickname in quotation marks."""

    given: tuple[str, ...]
    family: str
    called: str = ""


def person_of(form: Form) -> Person | None:
    """Parse a person's name; None if it has too few or too many words. "Doyle, Arthur" is reordered."""
    words, surfaces = form.words, form.surfaces
    if form.after_comma:
        cut = len(words) - len(form.after_comma)
        words, surfaces = words[cut:] + words[:cut], surfaces[cut:] + surfaces[:cut]
    if (
        not 2 <= len(words) <= 6
        or form.numbers
        or not _NO_PART.isdisjoint(words)
        or words[0] in NO_FIRST_NAMES
        or not WORKS.isdisjoint(form.qualifier.split())
    ):
        return None
    if len(surfaces[-1]) > 1 and surfaces[-1].isupper() and not form.name.isupper():  # "Cork GAA"
        return None
    if any(surface[:1].islower() and word not in _PARTICLES for word, surface in zip(words, surfaces, strict=True)):
        return None
    given: list[str] = []
    for word, surface in zip(words[:-1], surfaces[:-1], strict=True):
        if word in _PARTICLES and given:
            continue
        plain = surface.replace(".", "")
        together = 1 < len(plain) <= 3 and plain.isupper() and not form.name.isupper()
        given += list(word) if together else [word]
    return Person(tuple(given), words[-1], form.called)


def same_first(left: str, right: str) -> str:
    """Return how two first names agree: "equal", "nickname", "initial", or "" if they do not."""
    if left == right:
        return "equal" if len(left) > 1 else "initial"
    if len(left) == 1 or len(right) == 1:
        return "initial" if left[0] == right[0] else ""
    if spelt_near(left, right):
        return "equal"
    if right in NICKNAMES.get(left, ()) or left in NICKNAMES.get(right, ()):
        return "nickname"
    return ""


def agree(left: Person, right: Person) -> str:
    """Return how two names with the same family name agree, "" if they belong to different persons.

    "equal": same first name and no conflicting other name; "nickname"; "initial": one has only an initial; "called":
    the first name of one is a later name of the other ("Thomas Woodrow Wilson", "Woodrow Wilson").
    """
    if left.family != right.family or not left.given or not right.given:
        return ""
    first = same_first(left.given[0], right.given[0])
    if not first and (left.called or right.called):
        names = ({left.given[0], left.called}, {right.given[0], right.called})
        first = "nickname" if (names[0] & names[1]) - {""} else ""
    mine, yours = left.given[1:], right.given[1:]
    if not first:
        longer, shorter = (left.given, right.given) if len(left.given) > len(right.given) else (right.given, left.given)
        if len(longer) > len(shorter) and longer[-len(shorter) :] == shorter and len(shorter[0]) > 1:
            return "called"
        return ""
    if mine and yours and (len(mine) != len(yours) or not all(map(same_first, mine, yours))):
        return ""
    return first


def conflict(left: Person | None, right: Person | None) -> bool:
    """Return whether two names share a family name and belong to different persons."""
    return bool(left and right and left.family == right.family and not agree(left, right))
