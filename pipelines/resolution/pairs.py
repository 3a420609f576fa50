"""Candidate pairs of names with their evidence, and the cannot-link constraints that veto a merge."""

from collections.abc import Iterable
from dataclasses import dataclass

from conspectus.pipelines.resolution.features import NameFeatures
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import conflict
from conspectus.pipelines.resolution.wordlists import FEMALE, MALE


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


def pair_of(one: str, other: str, reason: str, score: float, *, short: str = "", explicit: bool = False) -> NamePair:
    """Return a pair with its ends in order."""
    left, right = sorted((one, other))
    return NamePair(left, right, reason, round(score, 4), short, explicit)


def best_of(pairs: Iterable[NamePair]) -> dict[tuple[str, str], NamePair]:
    """Return the highest-scoring pair for each two ends; ties go to the first reason in alphabetical order."""
    best: dict[tuple[str, str], NamePair] = {}
    for pair in pairs:
        ends = (pair.left, pair.right)
        held = best.get(ends)
        if held is None or (-pair.score, pair.reason) < (-held.score, held.reason):
            best[ends] = pair
    return best


def barred(left: NameFeatures, right: NameFeatures, *, explicit: bool = False) -> bool:
    """Return whether a cannot-link constraint holds between two names.

    Names are never merged if they have different numbers (Apollo 11 and 13, Henry IV and V), different or one-sided
    parentheses, different generations (Jr., Sr.), different places after a comma, different legal forms of companies,
    ranks of different gender, or conflicting first names; nor a person with a place if each occurs more than once, nor
    the titles of two documents. If a text states the pair (`explicit`), a one-sided parenthesis or generation is no
    veto.
    """
    return _forms_differ(left.form, right.form, explicit=explicit) or _things_differ(left, right)


def _forms_differ(left: Form, right: Form, *, explicit: bool) -> bool:
    if _numbers(left, right) != _numbers(right, left):
        return True
    if left.qualifier != right.qualifier:
        both = bool(left.qualifier and right.qualifier)
        if both or (not explicit and left.letters == right.letters):
            return True
    if left.generation != right.generation and (not explicit or (left.generation and right.generation)):
        return True
    if left.after_comma and right.after_comma and left.after_comma != right.after_comma:
        return True
    if left.form and right.form and left.form != right.form:
        return True
    mine, yours = set(left.ranks), set(right.ranks)
    return bool((mine & MALE and yours & FEMALE) or (mine & FEMALE and yours & MALE))


def _numbers(form: Form, other: Form) -> tuple[str, ...]:
    """Return the numbers of a name; those of an acronym that ends with another's numeral are the other's ("WWII")."""
    if form.is_acronym and other.numbers and not form.numbers:
        numerals = [word for word in other.words if word.isalpha() and len(other.words) > 1]
        if any(form.letters.endswith(word) and len(form.letters) > len(word) for word in numerals[-1:]):
            return other.numbers
    return form.numbers


def _things_differ(left: NameFeatures, right: NameFeatures) -> bool:
    if left.titles and right.titles and left.titles != right.titles:
        return True
    for mine, yours in ((left, right), (right, left)):
        if mine.kinds == {"person"} and yours.kinds == {"place"} and min(mine.frequency, yours.frequency) > 1:
            return True
    return left.is_person and right.is_person and conflict(left.person, right.person)
