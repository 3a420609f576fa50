"""Two names of one family that may be one person's: by initials, nicknames, names left out."""

from collections.abc import Iterator, Sequence

from conspectus.pipelines.resolution.candidate_pair import Pair, pair_of
from conspectus.pipelines.resolution.features import Known, Neighbours
from conspectus.pipelines.resolution.name_index import Names
from conspectus.pipelines.resolution.person_names import Person, agree, person_of


def initialled(names: Names, neighbours: Neighbours) -> Iterator[Pair]:
    """Yield two names of one family that may be one person's: by initials, nicknames, names left out."""
    for group in names.persons.values():
        if len(group) > 200:
            continue
        for place, (left, mine) in enumerate(group):
            for right, yours in group[place + 1 :]:
                how = agree(mine, yours)
                if not how or left.form.words == right.form.words:
                    continue
                rivals = _third(left, right, group)
                yield _two_of_family(left, right, how, rivals, neighbours)


def _third(left: Known, right: Known, group: Sequence[tuple[Known, Person]]) -> list[Known]:
    """Return who may be the one and cannot be the other."""
    found = []
    mine, yours = person_of(left.form), person_of(right.form)
    if not mine or not yours:
        return []
    for other, person in group:
        if other.id not in {left.id, right.id} and bool(agree(mine, person)) != bool(agree(yours, person)):
            found.append(other)
    return found


def _two_of_family(left: Known, right: Known, how: str, rivals: Sequence[Known], neighbours: Neighbours) -> Pair:
    shared = left.documents.keys() & right.documents.keys()
    near = len(shared) >= 0.5 * min(len(left.documents), len(right.documents))
    if any(each.documents.keys() & (left.documents.keys() | right.documents.keys()) for each in rivals):
        score = 0.4
    else:
        base = {"equal": 0.66, "nickname": 0.6, "initial": 0.56, "called": 0.5}[how]
        together = min(neighbours.shared(left.id, right.id), 3)
        # Who is told apart by a whole name between in one text is often another: John Adams, John Quincy Adams.
        doubt = how == "equal" and _full_between(left) != _full_between(right)
        score = base + (0.2 if near and not doubt else 0.05 * together) - 0.08 * bool(rivals)
        if not doubt:
            score += 0.07 * bool(shared & (left.titles | right.titles))
        elif near and _in_full(left, right):
            score += 0.09
        if left.gender and right.gender and left.gender != right.gender:
            score -= 0.2
    reasons = {
        "equal": "the same first and family name, with and without another name between",
        "nickname": "the same family name, and a usual short form of the first name",
        "initial": "the same family name, and the first name's initial",
        "called": "the same family name, and one of the first names",
    }
    return pair_of(left.id, right.id, reasons[how], score)


def _in_full(left: Known, right: Known) -> bool:
    """Return whether the one with more names is told with dates, as a name in full, and is no title: there the usual
    name stands.
    """
    longer = max((left, right), key=lambda each: (_full_between(each), each.id))
    return longer.introduced and not longer.titles


def _full_between(each: Known) -> int:
    person = person_of(each.form)
    return sum(len(name) > 1 for name in person.given[1:]) if person else 0
