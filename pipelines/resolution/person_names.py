"""Names of persons: which first names, initials and nicknames may be one person's, and which cannot."""

from dataclasses import dataclass
from functools import lru_cache

from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.phonetics import spelt_near
from conspectus.pipelines.resolution.wordlists import NICKNAMES, NO_FIRST_NAMES, WORKS

_PARTICLES = frozenset({"van", "von", "der", "den", "de", "da", "di", "du", "del", "dos", "das", "la", "le", "bin",
                        "ibn",
                        "al", "el", "ben", "bint", "ter", "ten", "zu", "und", "y", "e"})  # fmt: skip
_NO_PART = frozenset({"of", "and", "the", "in", "for", "on", "at", "to", "with", "&"})


@dataclass(frozen=True, slots=True)
class Person:
    """First names and initials, the family name (the last word), and what stands between in quotation marks."""

    given: tuple[str, ...]
    family: str
    called: str = ""


@lru_cache(maxsize=100_000)
def person_of(form: Form) -> Person | None:
    """Return a name as a person's: None where it has no two words, or too many. "Doyle, Arthur" is turned round."""
    words, surfaces = form.words, form.surfaces
    if form.after_comma:
        cut = len(words) - len(form.after_comma)
        words, surfaces = words[cut:] + words[:cut], surfaces[cut:] + surfaces[:cut]
    if (
        not 2 <= len(words) <= 6
        or form.numbers
        or _NO_PART & set(words)
        or words[0] in NO_FIRST_NAMES
        or WORKS & set(form.qualifier.split())
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
    """Return how two first names agree: "equal", "nickname", "initial", or "" where they do not."""
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
    """Return how two names of one family agree, "" where they cannot be one person's.

    "equal": the same first name, and no other that differs; "nickname"; "initial": one is told by an initial only;
    "called": the first name of the one is a later name of the other ("Thomas Woodrow Wilson", "Woodrow Wilson").
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


def conflict(left: Form, right: Form) -> bool:
    """Return whether two names are of one family and of two persons."""
    mine, yours = person_of(left), person_of(right)
    return bool(mine and yours and mine.family == yours.family and not agree(mine, yours))
