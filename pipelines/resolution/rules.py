"""The rules that pair two names, with the score and the reason of each; and the constraints that veto a merge."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.pipelines.resolution.features import NameFeatures
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.words import FEMALE, MALE


class Rule(NamedTuple):
    """What a pair is worth that a rule finds and its context supports, and the reason that users read.

    `explicit`: a text states the pair in words.
    """

    score: float
    reason: str
    explicit: bool = False


RULES = {
    "letters": Rule(0.95, "the same letters: only accents, signs, spaces, articles or usual abbreviations differ"),
    "called": Rule(0.93, "a text says that the one is also called the other", explicit=True),
    "brackets": Rule(0.93, "a text gives the one in brackets as the short form of the other", explicit=True),
    "language": Rule(0.93, "a text gives the one as the other in its own language", explicit=True),
    "rank": Rule(0.92, "the same name with and without a rank"),
    "state": Rule(0.9, "two usual names of one state or union"),
    "full title": Rule(0.9, "the text of that title begins with the full name", explicit=True),
    "legal form": Rule(0.88, "the same name with and without its legal form"),
    "number": Rule(0.88, "the same words and the same number, written in two ways"),
    "equal": Rule(0.86, "the same first and family name, with and without another name between"),
    "bare title": Rule(0.85, "the text of that title begins with the name", explicit=True),
    "initials": Rule(0.85, "its initial letters"),
    "family name": Rule(0.82, "the family name alone; its documents name no other bearer"),
    "ranked family name": Rule(0.82, "the family name alone, with a rank; its documents name no other bearer"),
    "ranked": Rule(0.82, "one name with and without a rank; its documents name no other bearer"),
    "of": Rule(0.82, 'the same words, with "of" and without'),
    "nickname": Rule(0.8, "the same family name, and a usual short form of the first name"),
    "case": Rule(0.8, "one name in two grammatical cases"),
    "sound": Rule(0.8, "one name spelt from another alphabet in two ways"),
    "swapped": Rule(0.8, "the same two names in the other order"),
    "place": Rule(0.8, "the place without what it lies in; its documents name no other"),
    "full state": Rule(0.78, "a state by its full name and by its short one"),
    "first name": Rule(0.78, "the first name alone; its documents name no other bearer"),
    "ranked first name": Rule(0.78, "the first name with a rank; its documents name no other bearer"),
    "main word": Rule(0.77, "its main word alone; its documents have no other name with that word"),
    "initial": Rule(0.77, "the same family name, and the first name's initial"),
    "later name": Rule(0.77, "the same family name, and one of the first names"),
    "meaning": Rule(0.5, "near in meaning"),
}
OPEN = 0.5
"""The score of a pair that a rule finds and its context does not support: only a model's vote merges it."""
_TYPES_AGREE, _TYPES_DIFFER = 0.02, -0.06
"""What the types of two names add to the score of a pair that no text states."""


@dataclass(frozen=True, slots=True)
class NamePair:
    """A candidate pair of entity ids, `left` < `right`, with a readable `reason` and a `score` from 0 to 1.

    `explicit` marks a pair that a text states in words. `short` is the id of the name that is only a short form and can
    therefore not be the canonical name; "" if neither is.
    """

    left: str
    right: str
    reason: str
    score: float
    short: str = ""
    explicit: bool = False
    vote: str | None = None


def pair_of(
    rule: str, one: NameFeatures, other: NameFeatures, *, sure: bool = True, short: NameFeatures | None = None
) -> NamePair:
    """Return the pair of two names that a rule finds; `sure` if its context supports it."""
    score, reason, explicit = RULES[rule]
    types = 0.0
    if one.kinds and other.kinds and not explicit:
        if one.kinds & other.kinds:
            types = _TYPES_AGREE
        elif "organisation" not in one.kinds | other.kinds:  # which recognisers take for anything
            types = _TYPES_DIFFER
    left, right = sorted((one.id, other.id))
    return NamePair(
        left, right, reason, round((score if sure else OPEN) + types, 4), short.id if short else "", explicit
    )


def best_of(pairs: Iterable[NamePair]) -> list[NamePair]:
    """Return the best pair for each two ends, sorted by them; ties go to the first reason in alphabetical order."""
    best: dict[tuple[str, str], NamePair] = {}
    for pair in sorted(pairs, key=lambda pair: (pair.left, pair.right, -pair.score, pair.reason, pair.short)):
        best.setdefault((pair.left, pair.right), pair)
    return list(best.values())


def barred(left: NameFeatures, right: NameFeatures, *, explicit: bool = False) -> bool:
    """Return whether a cannot-link constraint holds between two names.

    Names are never merged if they have different numbers (Apollo 11 and 13, Henry IV and V), different or one-sided
    parentheses, different generations (Jr., Sr.), different places after a comma, different legal forms of companies,
    ranks of different gender, or conflicting first names; nor a person with a place if each occurs more than once, nor
    the titles of two documents. If a text states the pair (`explicit`), a one-sided parenthesis or generation is no
    veto.
    """
    mine, yours = left.form, right.form
    ranks, others = set(mine.ranks), set(yours.ranks)
    stated = (
        (mine.qualifier, yours.qualifier),
        (mine.generation, yours.generation),
        (mine.after_comma, yours.after_comma),
        (mine.form, yours.form),
        (left.titles, right.titles),
    )
    one_sided = mine.generation != yours.generation or (
        mine.qualifier != yours.qualifier and mine.letters == yours.letters
    )
    return bool(
        mine.numbers != yours.numbers
        or any(one and other and one != other for one, other in stated)
        or (one_sided and not explicit)
        or (ranks & MALE and others & FEMALE)
        or (ranks & FEMALE and others & MALE)
        or (
            {left.kinds, right.kinds} == {frozenset({"person"}), frozenset({"place"})}
            and min(left.frequency, right.frequency) > 1
        )
        or (
            left.person is not None
            and right.person is not None
            and left.person.family == right.person.family
            and not agree(left.person, right.person)
            and left.is_person
            and right.is_person
        )
    )
