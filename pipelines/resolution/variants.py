"""Pair the variants of one name: in spelling, order and notation, and of a person's first names."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import FAMILY, VARIANT, same_counted, usual_words, without_case
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import agree, sound, spelt_near
from conspectus.pipelines.resolution.rules import NamePair, pair_of
from conspectus.pipelines.resolution.words import TURNED
from conspectus.storage.text.normalise import entity_key

_MOST_OF_A_KEY, _MOST_OF_A_FAMILY = 40, 200
"""A key that more names share is not evidence."""
_TELLING = "%$\\/|*+=#@<>{}^~&_-"
"""Characters that distinguish names of programs' things at their start or end: -x, %x, $x, /x and x= are not x."""


def variants(names: Names) -> Iterator[NamePair]:
    """Yield the pairs whose names differ only in spelling, notation or order."""
    for rows in names.keys[VARIANT].shared(_MOST_OF_A_KEY):
        for left, right in combinations(map(names.at, rows), 2):
            if left.form.letters == right.form.letters:
                yield from _same_letters(left, right, names)
            else:
                yield from _other_letters(left, right)


def _same_letters(left: NameFeatures, right: NameFeatures, names: Names) -> Iterator[NamePair]:
    """Yield the pair of two names with the same letters, by what else differs."""
    mine, yours = left.form, right.form
    if _signs(left.name) != _signs(right.name) or len(mine.letters) < 2:
        return
    near, several = left.shares_document(right), len(mine.words) > 1
    if (mine.form is None) != (yours.form is None):
        company = left.kinds <= {"organisation"} >= right.kinds and left.kinds | right.kinds
        lone = near and company and not left.titles | right.titles
        code = left.name.isupper() and right.name.isupper()  # CREATE TABLE AS
        yield pair_of("legal form", left, right, sure=bool(lone or (several and (company or not code))))
    elif mine.ranks != yours.ranks or mine.epithets != yours.epithets:
        short = max(left, right, key=lambda each: (len(each.form.ranks), len(each.form.epithets), each.id))
        if not several:
            yield pair_of("ranked", left, right, sure=_is_only_bearer(left, right, short, names), short=short)
        elif not mine.epithets and not yours.epithets:
            yield pair_of("rank", left, right, short=short)
    elif several or len(yours.words) > 1:
        yield pair_of("letters", left, right)
    else:
        # A single word without its article or accents may be another name, and a short one another word.
        same = mine.article == yours.article and (
            entity_key(mine.surfaces[0]) == entity_key(yours.surfaces[0]) or (mine.is_acronym and yours.is_acronym)
        )
        plain = near or {"person"} not in (left.kinds, right.kinds)
        long = plain and len(mine.letters) > 2 and mine.article == yours.article
        yield pair_of("letters", left, right, sure=same or long)


def _signs(name: str) -> tuple[str, str]:
    """Return the distinguishing characters that a name begins and ends with."""
    name = name.strip()
    return name[: len(name) - len(name.lstrip(_TELLING))], name[len(name.rstrip(_TELLING)) :]


def _is_only_bearer(left: NameFeatures, right: NameFeatures, short: NameFeatures, names: Names) -> bool:
    """Return whether the documents of "Quist" and "Mr. Quist" name no other bearer."""
    word = left.form.letters
    others = [name for name in names.spelt(word) if name.form.ranks and name not in (left, right)]
    full = (name for name in names.with_short(word) if word in (name.form.words[0], name.form.words[-1]))
    others += [name for name in full if name.is_person]
    others = [name for name in others if name.shares_document(left) or name.shares_document(right)]
    namesakes = any(name.form.qualifier for name in names.spelt(word))
    alone = (
        not namesakes
        and len({name.person and name.person.given for name in others}) < 2
        and not any(name.form.ranks for name in others)
    )
    if not short.form.ranks and not short.name[:1].islower():  # Little Oster is another place than Oster
        alone = alone and any(name.is_person or name.gender for name in (left, right))
    return alone and left.shares_document(right)


def _other_letters(left: NameFeatures, right: NameFeatures) -> Iterator[NamePair]:
    """Yield the pair of two names with the same words in another order or notation, or with the same sounds."""
    mine, yours = left.form, right.form
    near = left.shares_document(right)
    if without_case(mine) == without_case(yours) != "":
        # The nominative is short, and the first in alphabetical order: Иван before Ивана, Анна before Анну.
        oblique = max(left, right, key=lambda each: (len(each.name), each.name))
        yield pair_of("case", left, right, sure=near, short=oblique)
    elif usual_words(mine) == usual_words(yours):
        yield pair_of("state", left, right)
    elif same_counted(mine, yours):
        if len(mine.numbers) == len(yours.numbers) == 1:
            yield pair_of("number", left, right)
        elif (
            mine.numbers or yours.numbers or mine.qualifier or yours.qualifier or mine.after_comma or yours.after_comma
        ):
            return
        elif _is_of(mine, yours) or _is_of(yours, mine):
            yield pair_of("of", left, right)
        elif len(mine.words) == 2 and mine.words == yours.words[::-1]:
            kinds = left.kinds | right.kinds
            yield pair_of("swapped", left, right, sure=near and "person" in kinds <= {"person", "other"})
    elif _sounds_enough(mine, yours):
        exotic = not (left.name.isascii() and right.name.isascii())
        # Single words that sound alike are too often different names: Kannada and Canada.
        yield pair_of("sound", left, right, sure=exotic or (near and len(mine.words) > 1))


def _is_of(one: Form, other: Form) -> bool:
    """Return whether two names are like the Treaty of Versailles and the Versailles Treaty."""
    first = one.words[0]
    return first in TURNED and one.words[1] == "of" and other.words == (*one.words[2:], first)


def _sounds_enough(left: Form, right: Form) -> bool:
    """Return whether two names that sound alike differ only like transliterations: by a few letters of long words."""
    if len(left.words) != len(right.words) or left.after_comma != right.after_comma:
        return False
    if any(each.numbers or each.qualifier or each.is_acronym for each in (left, right)):
        return False
    different = [(mine, yours) for mine, yours in zip(left.words, right.words, strict=True) if mine != yours]
    if any(sound(mine) != sound(yours) for mine, yours in different):
        return False
    if not (left.name.isascii() and right.name.isascii()) and left.name[0].isascii() != right.name[0].isascii():
        return True
    return all(spelt_near(mine, yours) for mine, yours in different)


def same_persons(names: Names) -> Iterator[NamePair]:
    """Yield pairs with the same family name that may be one person: by initials, nicknames or omitted names."""
    for rows in names.keys[FAMILY].shared(_MOST_OF_A_FAMILY):
        agreeing: defaultdict[NameFeatures, dict[NameFeatures, str]] = defaultdict(dict)
        for one, other in combinations(map(names.at, rows), 2):
            if one.person and other.person and (how := agree(one.person, other.person)):
                agreeing[one][other] = agreeing[other][one] = how
        for left, others in agreeing.items():
            for right, how in others.items():
                if left.row < right.row and left.form.words != right.form.words:
                    # Rivals are compatible with one name and conflict with the other.
                    rivals = (others.keys() ^ agreeing[right].keys()) - {left, right}
                    yield _one_person(left, right, how, rivals=bool(rivals))


def _one_person(left: NameFeatures, right: NameFeatures, how: str, *, rivals: bool) -> NamePair:
    shared = left.documents.keys() & right.documents.keys()
    near = len(shared) >= 0.5 * min(len(left.documents), len(right.documents))
    shorter, longer = sorted((left, right), key=lambda item: (_middle_names(item), item.id))
    if rivals or (left.gender and right.gender and left.gender != right.gender):
        sure = False
    elif how == "called":
        sure = near and not shared.isdisjoint(left.titles | right.titles)
    elif how != "equal":
        sure = near
    elif _middle_names(shorter) == _middle_names(longer):
        sure = True
    else:
        # A middle name within one text often distinguishes two persons: John Adams, John Quincy Adams. But a text that
        # gives dates after the longer name introduces it as the full name; a title would have the usual one.
        sure = near and longer.introduced and not longer.titles
    return pair_of("later name" if how == "called" else how, left, right, sure=sure)


def _middle_names(name: NameFeatures) -> int:
    return name.person.middle_names if name.person else 0
