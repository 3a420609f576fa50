"""Pair partial names ("Holmes", "Mr. Holmes", "J. Watson", "Marrow") with the full names they refer to.

A partial name is ambiguous, so it is paired with a full name only if its documents contain no rival.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.evidence import Evidence
from conspectus.pipelines.resolution.features import NameFeatures, Names, share_document, share_of_documents
from conspectus.pipelines.resolution.keys import before_comma
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.wordlists import COUPLE, FEMALE, WITH_FIRST_NAME

_OFTEN = 3
"""Number of chunks from which a single word that is not a person's name counts as a name."""

_MOST_OF_A_WORD, _MOST_OF_A_FAMILY = 20, 200
"""A word or a family name that more names share is not evidence."""


def places(names: Names) -> Iterator[NamePair]:
    """Yield "Marrow" with "Marrow, Vey" if there is no other Marrow in its documents; "pi" is not "Pi, Ei"."""
    keys = names.keys
    qualified = {before_comma(names.at(row).form) for row in keys.before_comma.rows.tolist()}
    for place in sorted(qualified):
        for short in map(names.at, keys.without_comma[place].tolist()):
            near = [names.at(row) for row in names.evidence.sharing(short.row, keys.before_comma[place]).tolist()]
            if len({item.form.words for item in near}) == 1:
                for item in near:
                    if share_of_documents(short, item) == 1:
                        reason = "the place without what it lies in; its documents name no other"
                        yield pair_of(short.id, item.id, reason, 0.8)


def thing(short: NameFeatures, held: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield "Lion" with "Cowardly Lion" if its documents contain no other name `held` with that word."""
    word = short.form.words[0]
    most = max((item.frequency for item in held), default=0)
    held = [item for item in held if item.frequency > 1 or most < _OFTEN]  # drops names that a recogniser cut wrongly
    if len({item.form.words for item in held}) != 1 or short.form.ranks or short.form.epithets:
        return
    for long in held:
        often = min(short.frequency, long.frequency) >= _OFTEN
        if often and _is_head(word, long) and share_of_documents(short, long) == 1:
            reason = "its main word alone; its documents have no other name with that word"
            yield pair_of(short.id, long.id, reason, 0.77, short=short.id)


def _is_head(word: str, long: NameFeatures) -> bool:
    """Return whether a word is the head noun of a name of two words."""
    form = long.form
    if form.after_comma or form.numbers or form.form is not None or long.titles or form.surfaces[0][:1].islower():
        return False
    if len(long.name.split()) == 1:  # M-DEL is not the DEL key
        return False
    return len(form.words) == 2 and form.words[1] == word


_LEAST_SHARE = 0.8
_FAMILY = frozenset({"family", "brothers", "sisters", "children", "house", "household"})


def parts(names: Names) -> Iterator[NamePair]:
    """Yield each name of one word, with or without a rank, with the full name it refers to in its documents."""
    keys = names.keys
    for short in map(names.at, keys.parts):
        form, word = short.form, short.form.words[0]
        if len(keys.qualified[word]):
            continue
        held = [names.at(row) for row in names.evidence.sharing(short.row, keys.words[word]).tolist()]
        beside = [name for name in held if word in (name.form.words[0], name.form.words[-1])]
        if not beside:
            continue
        yield from thing(short, held)
        if (
            form.ranks
            or form.epithets
            or short.kinds & {"person"}
            or _is_one(short)
            or short.is_untyped
            or _about_bearer(short, beside)
            or _introduced(short, beside)
        ):
            yield from _person(short, word, beside, names)
    yield from _ranked_only(names)
    yield from places(names)


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


def _person(short: NameFeatures, word: str, beside: Sequence[NameFeatures], names: Names) -> Iterator[NamePair]:
    ranks = set(short.form.ranks)
    whole = [neighbour for neighbour in beside if neighbour.is_person and neighbour.person and not _is_other(neighbour)]
    # Without its parenthesis a name is shared by all its namesakes.
    whole = [bearer for bearer in whole if bearer.form.qualifier or len(names.keys.qualified[bearer.form.letters]) < 2]
    others = any(not neighbour.is_person and _may_be_meant(neighbour, word) for neighbour in beside)
    female = ranks & FEMALE
    # A person whose known gender contradicts the rank is not a rival.
    bearers = [bearer for bearer in whole if _fits(short, bearer)]
    rivals = _are_several(bearers) or (others and not ranks)
    several = rivals or _are_several(whole)
    for long in bearers:
        family = long.form.words[-1] == word
        if not family and ranks - WITH_FIRST_NAME:
            continue
        share = 0.0 if rivals else share_of_documents(short, long)
        if share < _LEAST_SHARE:
            score = 0.45
        elif ranks & COUPLE or (female and long.gender != "f"):
            score = 0.78 if long.gender == "f" and not several else 0.6
        elif family:
            score = 0.84 if share == 1 else 0.77
        else:
            usual = share == 1 and _named_in_full_first(short, long)
            score = 0.78 if usual and _is_known_person(short, long, names) else 0.62
        reason = "the family name alone" if family else "the first name alone"
        if ranks:
            reason = f"{reason}, with a rank" if family else "the first name with a rank"
        yield pair_of(short.id, long.id, f"{reason}; its documents name no other bearer", score, short=short.id)


def _is_known_person(short: NameFeatures, long: NameFeatures, names: Names) -> bool:
    """Return whether pronouns, or use of the family name alone, show that a name is a person's."""
    if short.gender or long.gender:
        return True
    alone = names.evidence.sharing(long.row, names.keys.alone[long.form.words[-1]])
    return any(name.is_person or name.is_untyped for name in map(names.at, alone.tolist()))


def _fits(short: NameFeatures, long: NameFeatures) -> bool:
    return not (short.form.ranks and short.gender and long.gender and short.gender != long.gender)


def _are_several(bearers: Sequence[NameFeatures]) -> bool:
    """Return whether any two of these names belong to different persons."""
    return any(not _one_person(left, right) for left, right in combinations(bearers, 2))


def _one_person(left: NameFeatures, right: NameFeatures) -> bool:
    if left.form.qualifier and right.form.qualifier and left.form.qualifier != right.form.qualifier:
        return False
    if left.form.words == right.form.words:
        return True
    return bool(left.person and right.person and agree(left.person, right.person))


def _is_other(name: NameFeatures) -> bool:
    return bool({"and", "of"} & set(name.form.words)) or bool(_FAMILY & set(name.form.words))


def _may_be_meant(name: NameFeatures, word: str) -> bool:
    """Return whether a single word may refer to a name that is not a person's: Ford for the Ford Motor Company."""
    return name.form.words[0] == word and not _is_other(name) and "other" not in name.kinds


def _named_in_full_first(short: NameFeatures, long: NameFeatures) -> bool:
    """Return whether each document of a short name mentions the long one first, or is titled with it."""
    first = ((long.documents.get(id_), start) for id_, start in short.documents.items())
    return all(at is not None and (at < start or at == -1) for at, start in first)


def _ranked_only(names: Names) -> Iterator[NamePair]:
    """Yield pairs of a single name with and without a rank ("Quist", "Mr. Quist")."""
    keys = names.keys
    for word in sorted({names.at(row).form.words[0] for row in keys.ranked}):
        group = [names.at(row) for row in keys.alone[word].tolist()]
        group = [name for name in group if not name.form.qualifier and not name.form.numbers]
        ranked = [member for member in group if member.form.ranks or member.form.epithets]
        if len(keys.qualified[word]) or not 1 < len(group) <= _MOST_OF_A_WORD:
            continue
        if any(member.form.is_acronym and "person" not in member.kinds for member in group):
            continue  # "older GCC" is a different thing
        full = [names.at(row) for row in keys.words[word].tolist()]
        full = [name for name in full if word in (name.form.words[0], name.form.words[-1]) and name.is_person]
        for one in ranked:
            for other in group:
                if other.id == one.id or (other in ranked and other.id < one.id):
                    continue
                bearers = [
                    name for name in ranked if name.id not in {one.id, other.id} and _sexes_differ(name, one, other)
                ]
                bearers = [
                    bearer
                    for bearer in [*bearers, *full]
                    if share_document(bearer, one) or share_document(bearer, other)
                ]
                whole = {bearer.person.given for bearer in bearers if bearer.person is not None}
                alone = not bearers or (len(whole) == 1 and not any(bearer.form.ranks for bearer in bearers))
                of_couple = set(one.form.ranks) & COUPLE or set(other.form.ranks) & COUPLE
                near = share_document(one, other)
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


def initialled(names: Names) -> Iterator[NamePair]:
    """Yield pairs with the same family name that may be one person: by initials, nicknames or omitted names."""
    for rows in names.keys.families.shared(_MOST_OF_A_FAMILY):
        agreeing: defaultdict[int, dict[int, str]] = defaultdict(dict)
        for one, other in names.keys.namesakes(rows):
            mine, yours = names.at(one).person, names.at(other).person
            if mine and yours and (how := agree(mine, yours)):
                agreeing[one][other] = agreeing[other][one] = how
        for one, others in agreeing.items():
            for other, how in others.items():
                left, right = names.at(one), names.at(other)
                if one < other and left.form.words != right.form.words:
                    # Rivals are compatible with one name and conflict with the other.
                    rivals = (others.keys() ^ agreeing[other].keys()) - {one, other}
                    yield _two_of_family(left, right, how, [names.at(rival) for rival in rivals], names.evidence)


def _two_of_family(
    left: NameFeatures, right: NameFeatures, how: str, rivals: Sequence[NameFeatures], evidence: Evidence
) -> NamePair:
    shared = left.documents.keys() & right.documents.keys()
    near = len(shared) >= 0.5 * min(len(left.documents), len(right.documents))
    if any(share_document(rival, name) for rival in rivals for name in (left, right)):
        score = 0.4
    else:
        base = {"equal": 0.66, "nickname": 0.6, "initial": 0.56, "called": 0.5}[how]
        together = min(evidence.rare_beside_both(left.row, right.row), 3)
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
    return sum(len(name) > 1 for name in item.person.given[1:]) if item.person else 0
