"""Compare names of persons: first names, initials, nicknames and transliterations agree or conflict."""

import re
from dataclasses import dataclass
from functools import lru_cache

from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.words import NICKNAMES, NO_FIRST_NAMES, PARTICLES, SOUNDS
from rapidfuzz.distance import Levenshtein

_TWICE = re.compile(r"(.)\1+", re.DOTALL)
_VOWELS = str.maketrans("aiyo", "eeeu")
"""Vowels that vary between transliterations."""
_NOT_VOWELS = str.maketrans("", "", "aeiouy")
_LONG_WORD, _SHORT_WORD = 6, 4
_MOST_WORDS = 6


@lru_cache(100_000)
def sound(word: str) -> str:
    """Return a rough phonetic key of a folded word.

    >>> sound("tchaikovsky") == sound("chaikovskii"), sound("mohammed") == sound("muhammad")
    (True, True)
    """
    if len(word) < _SHORT_WORD:
        return word
    heard = word
    for letters, sign in SOUNDS:
        heard = heard.replace(letters, sign)
    return _TWICE.sub(r"\1", heard.replace("x", "ks").translate(_VOWELS))


def spelt_near(mine: str, yours: str) -> bool:
    """Return whether two folded words may be transliterations of one word.

    Words that differ only in vowels must be long: Anna and Anne differ, Mohammed and Muhammad match.

    >>> spelt_near("karl", "carl"), spelt_near("anna", "anne"), spelt_near("mohammed", "muhammad")
    (True, False, True)
    """
    shorter, longer = sorted((len(mine), len(yours)))
    if sound(mine) != sound(yours) or Levenshtein.distance(mine, yours) > max(1, longer // 3):  # Jaycee and Jackie
        return False
    only_vowels = mine.translate(_NOT_VOWELS) == yours.translate(_NOT_VOWELS)
    return shorter >= (_LONG_WORD if only_vowels else _SHORT_WORD)


@dataclass(frozen=True, slots=True)
class Person:
    """First names and initials, the family name (the last word), and the nickname in quotation marks."""

    given: tuple[str, ...]
    family: str
    called: str = ""

    @property
    def middle_names(self) -> int:
        """The number of names, not initials, between the first and the family name."""
        return sum(len(name) > 1 for name in self.given[1:])


def person_of(form: Form) -> Person | None:
    """Parse a person's name; None if it has too few or too many words. "Doyle, Arthur" is reordered."""
    cut = len(form.words) - len(form.after_comma)
    words, surfaces = (part[cut:] + part[:cut] for part in (form.words, form.surfaces))
    if not 2 <= len(words) <= _MOST_WORDS or form.numbers or words[0] in NO_FIRST_NAMES:
        return None
    if any(surface[:1].islower() and word not in PARTICLES for word, surface in zip(words, surfaces, strict=True)):
        return None
    given: list[str] = []
    for word, surface in zip(words[:-1], surfaces[:-1], strict=True):
        if word in PARTICLES and given:
            continue
        plain = surface.replace(".", "")
        together = 1 < len(plain) <= 3 and plain.isupper() and not form.name.isupper()  # "JRR Tolkien"
        given += list(word) if together else [word]
    return Person(tuple(given), words[-1], form.called)


def same_first(left: str, right: str) -> str:
    """Return how two first names agree: "equal", "nickname", "initial", or "" if they do not."""
    if len(left) == 1 or len(right) == 1:
        return "initial" if left[0] == right[0] else ""
    if left == right or spelt_near(left, right):
        return "equal"
    return "nickname" if right in NICKNAMES.get(left, ()) or left in NICKNAMES.get(right, ()) else ""


def agree(left: Person, right: Person) -> str:
    """Return how two names with the same family name agree, "" if they belong to different persons.

    "equal": same first name and no conflicting other name; "nickname"; "initial": one has only an initial; "called":
    the first name of one is a later name of the other ("Thomas Woodrow Wilson", "Woodrow Wilson").
    """
    if left.family != right.family or not left.given or not right.given:
        return ""
    first = same_first(left.given[0], right.given[0])
    if not first and {left.given[0], left.called} & {right.given[0], right.called} - {""}:
        first = "nickname"
    mine, yours = left.given[1:], right.given[1:]
    if not first:
        shorter, longer = sorted((left.given, right.given), key=len)
        later = len(longer) > len(shorter) and longer[-len(shorter) :] == shorter and len(shorter[0]) > 1
        return "called" if later else ""
    if mine and yours and (len(mine) != len(yours) or not all(map(same_first, mine, yours))):
        return ""
    return first
