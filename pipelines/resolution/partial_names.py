"""Pair partial names ("Holmes", "Mr. Holmes", "J. Watson", "Marrow") with the full names they refer to.

A partial name is ambiguous, so it is paired with a full name only if its documents contain no rival.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, NameIndex, Neighbours, is_name, share_of_documents
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.person_names import Person, agree, person_of
from conspectus.pipelines.resolution.wordlists import COUPLE, FEMALE, NO_FIRST_NAMES, WITH_FIRST_NAME
from conspectus.storage.text.normalise import entity_key

_OFTEN = 3
"""Number of chunks from which a single word that is not a person's name counts as a name."""


def places(known: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield "Marrow" with "Marrow, Vey" if there is no other Marrow in its documents; "pi" is not "Pi, Ei"."""
    qualified: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    for name in known:
        if _is_qualified(name) and not _is_persons(name):
            qualified[_before_comma(name)].append(name)
    for short in known:
        form = short.form
        if form.after_comma or form.qualifier or form.ranks or _is_persons(short) or short.titles:
            continue
        if form.surfaces[0][:1].islower():
            continue
        found = qualified.get(entity_key(" ".join(form.surfaces)), ())
        near = [item for item in found if item.documents.keys() & short.documents.keys()]
        if len({item.form.words for item in near}) == 1:
            for item in near:
                if share_of_documents(short, item) == 1:
                    reason = "the place without what it lies in; its documents name no other"
                    yield pair_of(short.id, item.id, reason, 0.8)


def _is_persons(name: NameFeatures) -> bool:
    return "person" in name.kinds and name.form.words[0] not in NO_FIRST_NAMES


def _before_comma(name: NameFeatures) -> str:
    return entity_key(" ".join(name.form.surfaces[: len(name.form.words) - len(name.form.after_comma)]))


def _is_qualified(name: NameFeatures) -> bool:
    words = name.form.words
    return bool(name.form.after_comma) and len(words) > len(name.form.after_comma) and not {"and", "of"} & set(words)


def thing(short: NameFeatures, names: NameIndex) -> Iterator[NamePair]:
    """Yield "Lion" with "Cowardly Lion" if its documents contain no other name with that word."""
    word = short.form.words[0]
    held = [name for name in names.holding.get(word, ()) if name.documents.keys() & short.documents.keys()]
    most = max((item.entity.frequency for item in held), default=0)
    held = [
        item for item in held if item.entity.frequency > 1 or most < _OFTEN
    ]  # drops names that a recogniser cut wrongly
    if len({item.form.words for item in held}) != 1 or short.form.ranks or short.form.epithets:
        return
    for long in held:
        often = min(short.entity.frequency, long.entity.frequency) >= _OFTEN
        if often and _is_head(word, long) and share_of_documents(short, long) == 1:
            reason = "its main word alone; its documents have no other name with that word"
            yield pair_of(short.id, long.id, reason, 0.77, short=short.id)


def _is_head(word: str, long: NameFeatures) -> bool:
    """Return whether a word is the head noun of a name of two words."""
    form = long.form
    if form.after_comma or form.numbers or form.form is not None or long.titles or form.surfaces[0][:1].islower():
        return False
    if len(long.entity.name.split()) == 1:  # M-DEL is not the DEL key
        return False
    return len(form.words) == 2 and form.words[1] == word


_LEAST_SHARE = 0.8
_FAMILY = frozenset({"family", "brothers", "sisters", "children", "house", "household"})


def parts(known: Sequence[NameFeatures], names: NameIndex) -> Iterator[NamePair]:
    """Yield each name of one word, with or without a rank, with the full name it refers to in its documents."""
    for short in known:
        form = short.form
        if len(form.words) != 1 or form.qualifier or form.numbers or short.titles or len(form.words[0]) < 2:
            continue
        word = form.words[0]
        if word in names.heads or form.surfaces[0][:1].islower():
            continue
        beside = [name for name in names.of_word.get(word, ()) if name.documents.keys() & short.documents.keys()]
        if not beside:
            continue
        yield from thing(short, names)
        if (
            form.ranks
            or form.epithets
            or short.kinds & {"person"}
            or _is_one(short)
            or is_name(short)
            or _about_bearer(short, beside)
            or _introduced(short, beside)
        ):
            yield from _person(short, word, beside, names)
    yield from _ranked_only(known, names)
    yield from places(known)


def _introduced(short: NameFeatures, beside: Sequence[NameFeatures]) -> bool:
    """Return whether the only document of a short name mentions the full name of a person before it."""
    if len(short.documents) > 1 or short.kinds - {"organisation", "person"}:
        return False
    bearers = [
        neighbour
        for neighbour in beside
        if "person" in neighbour.kinds and neighbour.form.words[-1] == short.form.words[0]
    ]
    return any(_named_in_full_first(short, bearer) for bearer in bearers)


def _about_bearer(short: NameFeatures, beside: Sequence[NameFeatures]) -> bool:
    """Return whether the only document of a short name is titled with a person's name that ends with it."""
    return any(
        neighbour.titles
        and short.documents.keys() <= neighbour.titles
        and neighbour.is_person
        and neighbour.form.words[-1] == short.form.words[0]
        for neighbour in beside
    ) and not short.kinds & {"place"}


def _is_one(short: NameFeatures) -> bool:
    """Return whether pronouns show that a name is a person's, regardless of its type."""
    return bool(short.gender) and "place" not in short.kinds


def _person(short: NameFeatures, word: str, beside: Sequence[NameFeatures], names: NameIndex) -> Iterator[NamePair]:
    ranks = set(short.form.ranks)
    whole = [
        neighbour
        for neighbour in beside
        if neighbour.is_person and person_of(neighbour.form) and not _is_other(neighbour)
    ]
    # Without its parenthesis a name is shared by all its namesakes.
    whole = [bearer for bearer in whole if bearer.form.qualifier or names.heads[bearer.form.letters] < 2]
    others = [neighbour for neighbour in beside if not neighbour.is_person and _may_be_meant(neighbour, word)]
    female = ranks & FEMALE
    for long in whole:
        family = long.form.words[-1] == word
        if (not family and ranks - WITH_FIRST_NAME) or not _fits(short, long):
            continue
        # A person whose known gender contradicts the rank is not a rival.
        bearers = [bearer for bearer in whole if _fits(short, bearer)]
        rivals = bool(_are_several(bearers) or (others and not ranks))
        share = share_of_documents(short, long)
        if share < _LEAST_SHARE or rivals:
            score = 0.45
        elif ranks & COUPLE or (female and long.gender != "f"):
            score = 0.78 if long.gender == "f" and not _are_several(whole) else 0.6
        elif family:
            score = 0.84 if share == 1 else 0.77
        else:
            # Pronouns, or use of the family name alone, show that it is a person.
            known = bool(short.gender or long.gender) or _called_by_family(long, names)
            score = 0.78 if known and share == 1 and _named_in_full_first(short, long) else 0.62
        reason = "the family name alone" if family else "the first name alone"
        if ranks:
            reason = f"{reason}, with a rank" if family else "the first name with a rank"
        yield pair_of(short.id, long.id, f"{reason}; its documents name no other bearer", score, short=short.id)


def _called_by_family(long: NameFeatures, names: NameIndex) -> bool:
    return any(word.documents.keys() & long.documents.keys() for word in names.alone.get(long.form.words[-1], ()))


def _fits(short: NameFeatures, long: NameFeatures) -> bool:
    return not (short.gender and long.gender and short.gender != long.gender and short.form.ranks)


def _are_several(bearers: Sequence[NameFeatures]) -> bool:
    """Return whether any two of these names belong to different persons."""
    return any(not _one_person(left, right) for left, right in combinations(bearers, 2))


def _one_person(left: NameFeatures, right: NameFeatures) -> bool:
    if left.form.qualifier and right.form.qualifier and left.form.qualifier != right.form.qualifier:
        return False
    if left.form.words == right.form.words:
        return True
    mine, yours = person_of(left.form), person_of(right.form)
    return bool(mine and yours and agree(mine, yours))


def _is_other(name: NameFeatures) -> bool:
    return bool({"and", "of"} & set(name.form.words)) or bool(_FAMILY & set(name.form.words))


def _may_be_meant(name: NameFeatures, word: str) -> bool:
    """Return whether a single word may refer to a name that is not a person's: Ford for the Ford Motor Company."""
    return name.form.words[0] == word and not _is_other(name) and "other" not in name.kinds


def _named_in_full_first(short: NameFeatures, long: NameFeatures) -> bool:
    """Return whether each document of a short name mentions the long one first, or is titled with it."""
    first = ((long.documents.get(id_), start) for id_, start in short.documents.items())
    return all(at is not None and (at < start or at == -1) for at, start in first)


def _ranked_only(known: Sequence[NameFeatures], names: NameIndex) -> Iterator[NamePair]:
    """Yield pairs of a single name with and without a rank ("Quist", "Mr. Quist")."""
    of_word: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    for name in known:
        if len(name.form.words) == 1 and not name.form.qualifier and not name.form.numbers:
            of_word[name.form.words[0]].append(name)
    for word, group in of_word.items():
        ranked = [member for member in group if member.form.ranks or member.form.epithets]
        if not ranked or word in names.heads or len(group) > 20:
            continue
        if any(member.form.is_acronym and "person" not in member.kinds for member in group):
            continue  # "older GCC" is a different thing
        for one in ranked:
            for other in group:
                if other.id == one.id or (other in ranked and other.id < one.id):
                    continue
                near = one.documents.keys() & other.documents.keys()
                bearers = [
                    name for name in ranked if name.id not in {one.id, other.id} and _sexes_differ(name, one, other)
                ]
                bearers += [name for name in names.of_word.get(word, ()) if name.is_person]
                bearers = [
                    bearer
                    for bearer in bearers
                    if bearer.documents.keys() & (one.documents.keys() | other.documents.keys())
                ]
                whole = {person.given for bearer in bearers if (person := person_of(bearer.form)) is not None}
                alone = not bearers or (len(whole) == 1 and not any(bearer.form.ranks for bearer in bearers))
                of_couple = set(one.form.ranks) & COUPLE or set(other.form.ranks) & COUPLE
                score = 0.82 if near and alone and not of_couple and "place" not in other.kinds else 0.45
                short = one.id if len(one.form.ranks) >= len(other.form.ranks) else other.id
                yield pair_of(
                    one.id,
                    other.id,
                    "one name with and without a rank; its documents name no other bearer",
                    score,
                    short=short,
                )


def _sexes_differ(name: NameFeatures, one: NameFeatures, other: NameFeatures) -> bool:
    sexes = {found.gender for found in (name, one, other) if found.form.ranks and found.gender}
    return len(sexes) > 1


def initialled(names: NameIndex, neighbours: Neighbours) -> Iterator[NamePair]:
    """Yield pairs with the same family name that may be one person: by initials, nicknames or omitted names."""
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


def _third(left: NameFeatures, right: NameFeatures, group: Sequence[tuple[NameFeatures, Person]]) -> list[NameFeatures]:
    """Return the persons who are compatible with one name and conflict with the other."""
    found = []
    mine, yours = person_of(left.form), person_of(right.form)
    if not mine or not yours:
        return []
    for other, person in group:
        if other.id not in {left.id, right.id} and bool(agree(mine, person)) != bool(agree(yours, person)):
            found.append(other)
    return found


def _two_of_family(
    left: NameFeatures, right: NameFeatures, how: str, rivals: Sequence[NameFeatures], neighbours: Neighbours
) -> NamePair:
    shared = left.documents.keys() & right.documents.keys()
    near = len(shared) >= 0.5 * min(len(left.documents), len(right.documents))
    if any(rival.documents.keys() & (left.documents.keys() | right.documents.keys()) for rival in rivals):
        score = 0.4
    else:
        base = {"equal": 0.66, "nickname": 0.6, "initial": 0.56, "called": 0.5}[how]
        together = min(neighbours.shared(left.id, right.id), 3)
        # A middle name within one text often distinguishes two persons: John Adams, John Quincy Adams.
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


def _in_full(left: NameFeatures, right: NameFeatures) -> bool:
    """Return whether the longer name is introduced with dates, as a full name, and is not a title.

    A title contains the usual name.
    """
    longer = max((left, right), key=lambda item: (_full_between(item), item.id))
    return longer.introduced and not longer.titles


def _full_between(item: NameFeatures) -> int:
    person = person_of(item.form)
    return sum(len(name) > 1 for name in person.given[1:]) if person else 0
