"""A part of a name for the whole: "Holmes", "Mr. Holmes", "J. Watson" and "Leland" for what was named in full.

Such a name may be many things', so it joins a whole one only where its documents name that one and no other.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.candidate_pair import Pair, pair_of
from conspectus.pipelines.resolution.features import Known, share_of_documents
from conspectus.pipelines.resolution.name_index import Names, is_name
from conspectus.pipelines.resolution.person_names import agree, person_of
from conspectus.pipelines.resolution.place_names import places, thing
from conspectus.pipelines.resolution.wordlists import COUPLE, FEMALE, WITH_FIRST_NAME

_LEAST_SHARE = 0.8
_FAMILY = frozenset({"family", "brothers", "sisters", "children", "house", "household"})


def parts(known: Sequence[Known], names: Names) -> Iterator[Pair]:
    """Yield each name of one word, with or without a rank, and the whole name that it stands for in its documents."""
    for short in known:
        form = short.form
        if len(form.words) != 1 or form.qualifier or form.numbers or short.titles or len(form.words[0]) < 2:
            continue
        word = form.words[0]
        if word in names.heads or form.surfaces[0][:1].islower():
            continue
        beside = [each for each in names.of_word.get(word, ()) if each.documents.keys() & short.documents.keys()]
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


def _introduced(short: Known, beside: Sequence[Known]) -> bool:
    """Return whether the one document of a short name names a person in full before it."""
    if len(short.documents) > 1 or short.kinds - {"organisation", "person"}:
        return False
    bearers = [each for each in beside if "person" in each.kinds and each.form.words[-1] == short.form.words[0]]
    return any(_named_in_full_first(short, each) for each in bearers)


def _about_bearer(short: Known, beside: Sequence[Known]) -> bool:
    """Return whether the only document of a short name is titled with a person's name that ends so."""
    return any(
        each.titles
        and short.documents.keys() <= each.titles
        and each.is_person
        and each.form.words[-1] == short.form.words[0]
        for each in beside
    ) and not short.kinds & {"place"}


def _is_one(short: Known) -> bool:
    """Return whether pronouns show that a name is a person's, whatever it was taken for."""
    return bool(short.gender) and "place" not in short.kinds


def _person(short: Known, word: str, beside: Sequence[Known], names: Names) -> Iterator[Pair]:
    ranks = set(short.form.ranks)
    whole = [each for each in beside if each.is_person and person_of(each.form) and not _is_other(each)]
    # Without its parenthesis a name is that of all who are told apart by one.
    whole = [each for each in whole if each.form.qualifier or names.heads[each.form.letters] < 2]
    others = [each for each in beside if not each.is_person and _may_be_meant(each, word)]
    female = ranks & FEMALE
    for long in whole:
        family = long.form.words[-1] == word
        if (not family and ranks - WITH_FIRST_NAME) or not _fits(short, long):
            continue
        # Who is known to be of the other sex than a rank says is no rival.
        bearers = [each for each in whole if _fits(short, each)]
        rivals = bool(_are_several(bearers) or (others and not ranks))
        share = share_of_documents(short, long)
        if share < _LEAST_SHARE or rivals:
            score = 0.45
        elif ranks & COUPLE or (female and long.gender != "f"):
            score = 0.78 if long.gender == "f" and not _are_several(whole) else 0.6
        elif family:
            score = 0.84 if share == 1 else 0.77
        else:
            # That it is a person at all, pronouns show, or that the family name alone stands for it too.
            known = bool(short.gender or long.gender) or _called_by_family(long, names)
            score = 0.78 if known and share == 1 and _named_in_full_first(short, long) else 0.62
        reason = "the family name alone" if family else "the first name alone"
        if ranks:
            reason = f"{reason}, with a rank" if family else "the first name with a rank"
        yield pair_of(short.id, long.id, f"{reason}; its documents name no other bearer", score, short=short.id)


def _called_by_family(long: Known, names: Names) -> bool:
    return any(each.documents.keys() & long.documents.keys() for each in names.alone.get(long.form.words[-1], ()))


def _fits(short: Known, long: Known) -> bool:
    return not (short.gender and long.gender and short.gender != long.gender and short.form.ranks)


def _are_several(bearers: Sequence[Known]) -> bool:
    """Return whether any two of these names are of two persons."""
    return any(not _one_person(left, right) for left, right in combinations(bearers, 2))


def _one_person(left: Known, right: Known) -> bool:
    if left.form.qualifier and right.form.qualifier and left.form.qualifier != right.form.qualifier:
        return False
    if left.form.words == right.form.words:
        return True
    mine, yours = person_of(left.form), person_of(right.form)
    return bool(mine and yours and agree(mine, yours))


def _is_other(each: Known) -> bool:
    return bool({"and", "of"} & set(each.form.words)) or bool(_FAMILY & set(each.form.words))


def _may_be_meant(each: Known, word: str) -> bool:
    """Return whether a lone word may stand for a name that is no person's: Ford for the Ford Motor Company."""
    return each.form.words[0] == word and not _is_other(each) and "other" not in each.kinds


def _named_in_full_first(short: Known, long: Known) -> bool:
    """Return whether each document of a short name names the long one before it, or is titled with it."""
    first = ((long.documents.get(id_), start) for id_, start in short.documents.items())
    return all(at is not None and (at < start or at == -1) for at, start in first)


def _ranked_only(known: Sequence[Known], names: Names) -> Iterator[Pair]:
    """Yield a lone name with and without a rank ("Fezziwig", "Mr. Fezziwig")."""
    of_word: defaultdict[str, list[Known]] = defaultdict(list)
    for each in known:
        if len(each.form.words) == 1 and not each.form.qualifier and not each.form.numbers:
            of_word[each.form.words[0]].append(each)
    for word, group in of_word.items():
        ranked = [each for each in group if each.form.ranks or each.form.epithets]
        if not ranked or word in names.heads or len(group) > 20:
            continue
        for one in ranked:
            for other in group:
                if other.id == one.id or (other in ranked and other.id < one.id):
                    continue
                near = one.documents.keys() & other.documents.keys()
                bearers = [
                    each for each in ranked if each.id not in {one.id, other.id} and _sexes_differ(each, one, other)
                ]
                bearers += [each for each in names.of_word.get(word, ()) if each.is_person]
                bearers = [
                    each for each in bearers if each.documents.keys() & (one.documents.keys() | other.documents.keys())
                ]
                whole = {person.given for each in bearers if (person := person_of(each.form)) is not None}
                alone = not bearers or (len(whole) == 1 and not any(each.form.ranks for each in bearers))
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


def _sexes_differ(each: Known, one: Known, other: Known) -> bool:
    sexes = {found.gender for found in (each, one, other) if found.form.ranks and found.gender}
    return len(sexes) > 1
