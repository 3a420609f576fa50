"""Pair the variants of one name: in spelling, order and notation, and of a person's first names."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import FAMILY, SLIP, VARIANT, same_counted, usual_words
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import agree, sound, spelt_near
from conspectus.pipelines.resolution.rules import NamePair, pair_of
from conspectus.pipelines.resolution.words import COUPLE, NICKNAMES, TURNED
from conspectus.storage.text.normalise import entity_key
from rapidfuzz.distance import OSA

_MOST_OF_A_KEY, _MOST_WITH_A_SLIP, _MOST_OF_A_FAMILY = 40, 30, 200
"""A key that more names share is not evidence."""
_MOST_TIMES = 10
"""How many times more often a company of one word is named without its legal form than with it."""
_TELLING = "%$\\/|*+=#@<>{}^~&_-"
"""Characters that distinguish names of programs' things at their start or end: -x, %x, $x, /x and x= are not x."""
_LEAST_HEARD = 5
"""Letters of a name whose sound tells something."""
_LONG_WORD = 6


def variants(names: Names) -> Iterator[NamePair]:
    """Yield the pairs whose names differ only in spelling, notation or order."""
    for rows in names.keys[VARIANT].shared(_MOST_OF_A_KEY):
        for left, right in combinations(map(names.at, rows), 2):
            if left.form.letters == right.form.letters:
                yield from _same_letters(left, right, names)
            else:
                yield from _other_letters(left, right, names)
    for rows in names.keys[SLIP].shared(_MOST_WITH_A_SLIP):
        for left, right in combinations(map(names.at, rows), 2):
            different = [ends for ends in zip(left.form.words, right.form.words, strict=True) if len(set(ends)) > 1]
            if len(different) == 1 and is_one_edit(*different[0]) and left.shares_document(right):
                yield pair_of("slip", left, right)


def _same_letters(left: NameFeatures, right: NameFeatures, names: Names) -> Iterator[NamePair]:
    """Yield the pair of two names with the same letters, by what else differs."""
    mine, yours = left.form, right.form
    if _signs(left.name) != _signs(right.name) or len(mine.letters) < 2:
        return
    near, several = left.shares_document(right), len(mine.words) > 1
    if (mine.form is None) != (yours.form is None):
        company = left.kinds <= {"organisation"} >= right.kinds and left.kinds | right.kinds
        whole, bare = (left, right) if mine.form is not None else (right, left)
        rare = bare.frequency > _MOST_TIMES * whole.frequency  # one "Git PLC" among many "Git"
        lone = near and company and not left.titles | right.titles and not rare
        code = left.name.isupper() and right.name.isupper() and not company  # CREATE TABLE AS
        person = "person" in left.kinds ^ right.kinds
        yield pair_of("legal form", left, right, sure=bool(not code and ((several and not person) or lone)))
    elif mine.ranks != yours.ranks or mine.epithets != yours.epithets:
        short = max(left, right, key=lambda each: (len(each.form.ranks), len(each.form.epithets), each.id))
        if not several:
            yield from _ranked(left, right, short, names)
        elif not mine.epithets and not yours.epithets:
            yield pair_of("rank", left, right, short=short)
    elif mine.article != yours.article and not several:
        capitals = left.name.isupper() and right.name.isupper()
        yield pair_of("article", left, right, sure=bool(near and (left.kinds & right.kinds or capitals)))
    elif not several and len(yours.words) == 1 and entity_key(mine.surfaces[0]) != entity_key(yours.surfaces[0]):
        # A single word without its accents may be another name, and a short one another word.
        dotted = mine.is_acronym and yours.is_acronym
        plain = near or {"person"} not in (left.kinds, right.kinds)
        yield pair_of("letters", left, right, sure=dotted or (plain and len(mine.letters) > 2))
    else:
        yield pair_of("letters", left, right)


def _signs(name: str) -> tuple[str, str]:
    """Return the distinguishing characters that a name begins and ends with."""
    name = name.strip()
    return name[: len(name) - len(name.lstrip(_TELLING))], name[len(name.rstrip(_TELLING)) :]


def _ranked(left: NameFeatures, right: NameFeatures, short: NameFeatures, names: Names) -> Iterator[NamePair]:
    """Yield "Quist" with "Mr. Quist", if their documents name no other bearer."""
    word, group = left.form.letters, names.spelt(left.form.letters)
    if any(name.form.qualifier for name in group) or left.form.numbers:
        return
    if any(name.form.is_acronym and "person" not in name.kinds for name in group):
        return  # "older GCC" is a different thing
    others = [name for name in group if name.form.ranks and name.id not in {left.id, right.id}]
    others = [
        each for each in others if len({name.gender for name in (each, left, right) if name.form.ranks} - {""}) > 1
    ]
    full = [name for name in names.with_short(word) if word in (name.form.words[0], name.form.words[-1])]
    others += [name for name in full if name.is_person]
    others = [name for name in others if name.shares_document(left) or name.shares_document(right)]
    whole = {name.person and name.person.given for name in others}
    alone = not others or (len(whole) == 1 and not any(name.form.ranks for name in others))
    of_couple = COUPLE.intersection(left.form.ranks + right.form.ranks)
    bare = left if short is right else right
    sure = left.shares_document(right) and alone and not of_couple and "place" not in bare.kinds
    if not short.form.ranks and not short.name[:1].islower():  # Little Oster is another place than Oster
        sure = sure and any(name.is_person or name.gender for name in (left, right))
    yield pair_of("ranked", left, right, sure=sure, short=short)


def _other_letters(left: NameFeatures, right: NameFeatures, names: Names) -> Iterator[NamePair]:
    """Yield the pair of two names with the same words in another order or notation, or with the same sounds."""
    mine, yours = left.form, right.form
    near = left.shares_document(right)
    if usual_words(mine) == usual_words(yours):
        yield pair_of("state", left, right)
    elif same_counted(mine, yours):
        if len(mine.numbers) == len(yours.numbers) == 1 and not mine.after_comma + yours.after_comma:
            yield pair_of("number", left, right)
        elif mine.numbers or yours.numbers or mine.qualifier or yours.qualifier:
            return
        elif bool(mine.after_comma) != bool(yours.after_comma):
            if _turned(mine) == _turned(yours):
                yield pair_of("family first", left, right)
        elif _is_of(mine, yours) or _is_of(yours, mine):
            yield pair_of("of", left, right)
        elif len(mine.words) == 2 and mine.words == yours.words[::-1]:
            kinds = left.kinds | right.kinds
            yield pair_of("swapped", left, right, sure=near and "person" in kinds <= {"person", "other"})
    elif _sounds_enough(mine, yours):
        exotic = not (left.name.isascii() and right.name.isascii())
        together = near or exotic or names.evidence.rare_beside_both(left.row, right.row) > 0
        # Single words that sound alike are too often different names: Kannada and Canada.
        yield pair_of("sound", left, right, sure=together and (exotic or len(mine.words) > 1))


def _turned(form: Form) -> tuple[str, ...]:
    """Return the words of a name in their usual order: Doyle, Arthur."""
    cut = len(form.words) - len(form.after_comma)
    return form.words[cut:] + form.words[:cut] if cut == 1 else form.words


def _is_of(one: Form, other: Form) -> bool:
    """Return whether two names are like the Treaty of Versailles and the Versailles Treaty."""
    first = one.words[0]
    return first in TURNED and one.words[1] == "of" and other.words == (*one.words[2:], first)


def _sounds_enough(left: Form, right: Form) -> bool:
    """Return whether two names that sound alike differ only like transliterations: by a few letters of long words."""
    if len(left.words) != len(right.words) or left.after_comma != right.after_comma:
        return False
    if any(
        len(each.letters) < _LEAST_HEARD or each.numbers or each.qualifier or each.is_acronym for each in (left, right)
    ):
        return False
    different = [(mine, yours) for mine, yours in zip(left.words, right.words, strict=True) if mine != yours]
    if any(sound(mine) != sound(yours) for mine, yours in different):
        return False
    if not (left.name.isascii() and right.name.isascii()) and left.name[0].isascii() != right.name[0].isascii():
        return True
    near = all(spelt_near(mine, yours) for mine, yours in different)
    return near and (len(different) < len(left.words) or min(map(len, left.words)) >= _LONG_WORD)


def is_one_edit(one: str, other: str) -> bool:
    """Return whether one inner letter is inserted, deleted, substituted or transposed.

    >>> is_one_edit("aristophanes", "aristophenes"), is_one_edit("austria", "australia")
    (True, False)
    """
    return one[0] == other[0] and one[-1] == other[-1] and OSA.distance(one, other) == 1


def same_persons(names: Names) -> Iterator[NamePair]:
    """Yield pairs with the same family name that may be one person: by initials, nicknames or omitted names."""
    for rows in names.keys[FAMILY].shared(_MOST_OF_A_FAMILY):
        agreeing: defaultdict[int, dict[int, str]] = defaultdict(dict)
        for one, other in may_agree([names.at(row) for row in rows]):
            if one.person and other.person and (how := agree(one.person, other.person)):
                agreeing[one.row][other.row] = agreeing[other.row][one.row] = how
        for row, others in agreeing.items():
            for other_row, how in others.items():
                left, right = names.at(row), names.at(other_row)
                if row < other_row and left.form.words != right.form.words:
                    # Rivals are compatible with one name and conflict with the other.
                    rivals = [
                        names.at(rival) for rival in (others.keys() ^ agreeing[other_row].keys()) - {row, other_row}
                    ]
                    if not any(rival.shares_document(name) for rival in rivals for name in (left, right)):
                        yield _one_person(left, right, how, names, rivals=bool(rivals))


def may_agree(family: list[NameFeatures]) -> set[tuple[NameFeatures, NameFeatures]]:
    """Return the pairs of some persons whose first names may be one: by sound, nickname or initial."""
    by_name: defaultdict[str, list[NameFeatures]] = defaultdict(list)
    initialled: list[NameFeatures] = []
    for each in family:
        if each.person:
            first = each.person.given[0]
            initialled += [each] if len(first) == 1 else []
            for heard in {sound(name) for name in (*each.person.given, each.person.called, *NICKNAMES.get(first, ()))}:
                by_name[heard].append(each)
    by_name.pop("", None)
    pairs = {pair for group in by_name.values() for pair in combinations(group, 2)}
    return pairs | {(one, other) for one in initialled for other in family if one is not other}


def _one_person(left: NameFeatures, right: NameFeatures, how: str, names: Names, *, rivals: bool) -> NamePair:
    shared = left.documents.keys() & right.documents.keys()
    near = len(shared) >= 0.5 * min(len(left.documents), len(right.documents))
    titled = bool(shared & (left.titles | right.titles))
    if left.gender and right.gender and left.gender != right.gender:
        sure = False
    elif how == "called":
        sure = near and titled
    elif how in ("initial", "nickname"):
        sure = near and (titled or not rivals)
    elif _middle_names(left) == _middle_names(right):
        sure = near or (not rivals and names.evidence.rare_beside_both(left.row, right.row) > 1)
    else:
        # A middle name within one text often distinguishes two persons: John Adams, John Quincy Adams. But a text that
        # gives dates after the longer name introduces it as the full name; a title would have the usual one.
        longer = max((left, right), key=lambda item: (_middle_names(item), item.id))
        in_full = near and longer.introduced and not longer.titles
        sure = not rivals and (in_full or names.evidence.rare_beside_both(left.row, right.row) > 1)
    return pair_of("later name" if how == "called" else how, left, right, sure=sure)


def _middle_names(name: NameFeatures) -> int:
    return name.person.middle_names if name.person else 0
