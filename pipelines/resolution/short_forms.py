"""Pair short forms of names (NASA, "Holmes", "Mr. Holmes", "Marrow") with the full names that they stand for.

A short form is ambiguous, so it is paired with a full name only if its documents contain no rival.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import before_comma, initials, state_in
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.rules import NamePair, pair_of
from conspectus.pipelines.resolution.words import COUPLE, FAMILY, FEMALE, SMALL_WORDS, WITH_FIRST_NAME
from conspectus.storage.text.normalise import entity_key

_OFTEN = 3
"""Number of chunks from which a single word that is not a person's name counts as a name."""
_LEAST_SHARE = 0.8
"""Share of the documents of a short form that must contain the full name."""
_LONG_ACRONYM = 4
"""Letters of an acronym that is known without its full name nearby."""


def short_forms(names: Names) -> Iterator[NamePair]:
    """Yield each name that is a short form of others with those that it stands for."""
    for short in names.shortened():
        form = short.form
        if len(form.words) == 1 and form.is_acronym and len(form.letters) > 2 and not form.ranks:
            yield from _acronym(short, names)
        near = names.with_short(form.letters, short)
        if near and not (form.qualifier or form.after_comma):
            yield from _places(short, near, names)
            if len(form.words) == 1 < len(form.letters) and not (form.numbers or short.titles or form.begins_small):
                yield from _words(short, near, names)


def _acronym(short: NameFeatures, names: Names) -> Iterator[NamePair]:
    """Yield an acronym with the names whose initials it has; if several are possible, only with one nearby."""
    letters = short.form.letters
    every, near = (
        [name for name in found if letters in initials(name.form) and _is_capitalised(name)]
        for found in (names.with_short(letters), names.with_short(letters, short))
    )
    several = len({name.form.words for name in every}) > 1
    lone = len({name.form.words for name in near}) == 1
    for name in near or every:
        known = not several and len(letters) >= _LONG_ACRONYM
        yield pair_of("initials", short, name, sure=known or (lone and bool(near)))


def _is_capitalised(name: NameFeatures) -> bool:
    return all(word[:1].isupper() for word in name.form.surfaces if word.casefold() not in SMALL_WORDS)


def _places(short: NameFeatures, near: Sequence[NameFeatures], names: Names) -> Iterator[NamePair]:
    """Yield "Marrow" with "Marrow, Vey" if there is no other Marrow in its documents; a state with its full name."""
    words = short.form.words
    head = entity_key(" ".join(short.form.surfaces))
    full = [name for name in near if before_comma(name.form) == words and not name.is_persons]
    full = [name for name in full if entity_key(" ".join(name.form.surfaces)).startswith(head)]  # accents too
    if len({name.form.words for name in full}) == 1 and not (
        short.is_persons or short.titles or short.form.begins_small
    ):
        yield from (pair_of("place", short, name) for name in full if short.share_with(name) == 1)
    if "place" in short.kinds:
        states = [name for name in near if state_in(name.form) == words]
        every = names.with_short(short.form.letters) if states else []
        if len({name.form.words for name in every if state_in(name.form) == words}) == 1:
            yield from (pair_of("full state", short, name) for name in states)


def _words(short: NameFeatures, near: Sequence[NameFeatures], names: Names) -> Iterator[NamePair]:
    """Yield a name of one word, with or without a rank, with the names that begin or end with it."""
    form, word = short.form, short.form.letters
    near = [name for name in near if word in name.form.words]
    beside = [name for name in near if word in (name.form.words[0], name.form.words[-1])]
    if not beside or any(name.form.qualifier for name in names.spelt(word)):
        return
    if not (form.ranks or form.epithets):
        yield from _main_word(short, near)
    of_person = form.ranks or form.epithets or "person" in short.kinds or short.is_untyped
    if of_person or ("place" not in short.kinds and (short.gender or _introduced(short, beside))):
        yield from _person(short, word, beside, names)


def _main_word(short: NameFeatures, near: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield "Lion" with "Cowardly Lion" if its documents contain no other name with that word."""
    if max(name.frequency for name in near) >= _OFTEN:
        near = [name for name in near if name.frequency > 1]  # drops names that a recogniser cut wrongly
    if len({name.form.words for name in near}) == 1 and not short.form.is_acronym:
        for long in near:
            plain = not (long.form.after_comma or long.form.numbers or long.form.form is not None or long.titles)
            first, *others = long.name.split()
            head = len(others) == 1 and long.form.words == (long.form.words[0], short.form.letters)
            often = min(short.frequency, long.frequency) >= _OFTEN
            if plain and head and often and not first[:1].islower() and short.share_with(long) == 1:
                yield pair_of("main word", short, long, short=short)


def _introduced(short: NameFeatures, beside: Sequence[NameFeatures]) -> bool:
    """Return whether the only document of a short form names a person in full before it, or is titled with one."""
    return len(short.documents) == 1 and any(
        name.is_person
        and name.form.words[-1] == short.form.letters
        and (name.titles or "other" not in short.kinds)
        and _named_in_full_first(short, name)
        for name in beside
    )


def _person(short: NameFeatures, word: str, beside: Sequence[NameFeatures], names: Names) -> Iterator[NamePair]:
    ranks = set(short.form.ranks)
    whole = [name for name in beside if name.is_person and name.person and not _is_other(name)]
    # Without its parenthesis a name is shared by all its namesakes.
    whole = [name for name in whole if name.form.qualifier or _namesakes(name, names) < 2]
    # A person whose known gender contradicts the rank is not a rival.
    bearers = [name for name in whole if not (ranks and short.gender and name.gender and short.gender != name.gender)]
    others = any(not name.is_person and _may_be_meant(name, word) for name in beside)
    rivals = _are_several(bearers) or (others and not ranks)
    for long in bearers:
        family = long.form.words[-1] == word
        if not family and ranks - WITH_FIRST_NAME:
            continue
        share = short.share_with(long)
        sure = not rivals and share >= _LEAST_SHARE
        if ranks & COUPLE or (ranks & FEMALE and long.gender != "f"):
            sure = sure and long.gender == "f" and not _are_several(whole)
        elif not family:
            first = share == 1 and _named_in_full_first(short, long)
            sure = sure and first and _is_known_person(short, long, names)
        rule = f"{'ranked ' if ranks else ''}{'family' if family else 'first'} name"
        yield pair_of(rule, short, long, sure=sure, short=short)


def _namesakes(name: NameFeatures, names: Names) -> int:
    return sum(bool(other.form.qualifier) for other in names.spelt(name.form.letters))


def _is_known_person(short: NameFeatures, long: NameFeatures, names: Names) -> bool:
    """Return whether pronouns, or use of the family name alone, show that a name is a person's."""
    alone = (name for name in names.spelt(long.form.words[-1]) if name.shares_document(long))
    return bool(short.gender or long.gender) or any(name.is_person or name.is_untyped for name in alone)


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
    return not FAMILY.union({"and", "of"}).isdisjoint(name.form.words)


def _may_be_meant(name: NameFeatures, word: str) -> bool:
    """Return whether a single word may refer to a name that is not a person's: Ford for the Ford Motor Company."""
    return name.form.words[0] == word and not _is_other(name) and "other" not in name.kinds


def _named_in_full_first(short: NameFeatures, long: NameFeatures) -> bool:
    """Return whether each document of a short name mentions the long one first, or is titled with it."""
    first = ((long.documents.get(id_), start) for id_, start in short.documents.items())
    return all(at is not None and (at < start or at == -1) for at, start in first)
