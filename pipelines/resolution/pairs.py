"""Candidate pairs of names with their evidence, and the cannot-link constraints that veto a merge."""

from collections.abc import Iterable
from dataclasses import dataclass

from conspectus.pipelines.resolution.features import NameFeatures
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import conflict
from conspectus.pipelines.resolution.wordlists import FEMALE, MALE


@dataclass(frozen=True, slots=True)
class NamePair:
    """Two entity ids, `left` < `right`. `reason` is for a reader, `score` 0-1; `told`: a text says it in words.

    `short` is the id of the one that is only a short form, and so never what both are called; "" where neither is.
    """

    left: str
    right: str
    reason: str
    score: float
    short: str = ""
    told: bool = False
    vote: str | None = None


def pair_of(one: str, other: str, reason: str, score: float, *, short: str = "", told: bool = False) -> NamePair:
    """Return a pair, its ends in order."""
    left, right = sorted((one, other))
    return NamePair(left, right, reason, round(score, 4), short, told)


def best_of(pairs: Iterable[NamePair]) -> dict[tuple[str, str], NamePair]:
    """Return, by its ends, the pair with the highest score; of those with the same the first reason."""
    best: dict[tuple[str, str], NamePair] = {}
    for pair in pairs:
        ends = (pair.left, pair.right)
        held = best.get(ends)
        if held is None or (-pair.score, pair.reason) < (-held.score, held.reason):
            best[ends] = pair
    return best


def barred(left: NameFeatures, right: NameFeatures, *, told: bool = False) -> bool:
    """Return whether two names are never one thing's.

    Never joined are names with different numbers (Apollo 11 and 13, Henry IV and V), with different or one-sided
    parentheses, generations (Jr., Sr.) or places behind a comma, companies of different legal forms, a man and a woman
    by their ranks, first names that conflict, a person and a place each seen more than once, and titles of two
    documents. `told`: a text says that the two are one, which outweighs what stands at one of them only.
    """
    return _forms_differ(left.form, right.form, told=told) or _things_differ(left, right)


def _forms_differ(left: Form, right: Form, *, told: bool) -> bool:
    if _numbers(left, right) != _numbers(right, left):
        return True
    if left.qualifier != right.qualifier:
        both = bool(left.qualifier and right.qualifier)
        if both or (not told and left.letters == right.letters):
            return True
    if left.generation != right.generation and (not told or (left.generation and right.generation)):
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
        if (
            mine.kinds == {"person"}
            and yours.kinds == {"place"}
            and min(mine.entity.frequency, yours.entity.frequency) > 1
        ):
            return True
    return left.is_person and right.is_person and conflict(left.form, right.form)
