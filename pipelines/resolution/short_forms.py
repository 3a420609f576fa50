"""Pair short forms of names (NASA, "Holmes", "Mr. Holmes", "Marrow") with the full names that they stand for.

A short form is ambiguous, so it is paired with a full name only if its documents contain no rival.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, Names
from conspectus.pipelines.resolution.keys import before_comma, initials, state_in
from conspectus.pipelines.resolution.person_names import agree
from conspectus.pipelines.resolution.rules import NamePair, pair_of
from conspectus.pipelines.resolution.words import FAMILY, FEMALE, WITH_FIRST_NAME
from conspectus.storage.text.normalise import entity_key

_OFTEN = 3
"""Number of chunks from which a single word that is not a person's name counts as a name."""


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
    for found in (names.with_short(letters, short), names.with_short(letters)):
        long = [name for name in found if letters in initials(name.form)]
        if long:
            near = len({name.form.words for name in long}) == 1 and long[0].shares_document(short)
            yield from (pair_of("initials", short, name, sure=near) for name in long)
            return


def _places(short: NameFeatures, near: Sequence[NameFeatures], names: Names) -> Iterator[NamePair]:
    """Yield "Marrow" with "Marrow, Vey" if there is no other Marrow in its documents; a state with its full name."""
    words = short.form.words
    head = entity_key(" ".join(short.form.surfaces))
    full = [name for name in near if before_comma(name.form) == words and not name.is_persons]
    full = [name for name in full if entity_key(" ".join(name.form.surfaces)).startswith(head)]  # accents too
    if len({name.form.words for name in full}) == 1 and not (
        short.is_persons or short.titles or short.form.begins_small
    ):
        yield from (pair_of("place", short, name) for name in full if short.is_only_beside(name))
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
    of_person = "person" in short.kinds or short.is_untyped
    if of_person or ("place" not in short.kinds and (short.gender or _introduced(short, beside))):
        yield from _person(short, word, beside, names)


def _main_word(short: NameFeatures, near: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield "Lion" with "Cowardly Lion" if its documents contain no other name with that word."""
    if max(name.frequency for name in near) >= _OFTEN:
        near = [name for name in near if name.frequency > 1]  # drops names that a recogniser cut wrongly
    if len({name.form.words for name in near}) == 1 and not short.form.is_acronym:
        for long in near:
            head = len(long.name.split()) == 2 and long.form.words == (long.form.words[0], short.form.letters)
            often = min(short.frequency, long.frequency) >= _OFTEN
            if head and often and not long.titles and short.is_only_beside(long):
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
    whole = [
        name
        for name in whole
        if name.form.qualifier or sum(bool(other.form.qualifier) for other in names.spelt(name.form.letters)) < 2
    ]
    # A person whose known gender contradicts the rank is not a rival.
    bearers = [name for name in whole if not (ranks and short.gender and name.gender and short.gender != name.gender)]
    others = any(not name.is_person and _may_be_meant(name, word) for name in beside)
    alone = not (others or _are_several(bearers))
    for long in bearers:
        family = long.form.words[-1] == word
        if not family and ranks - WITH_FIRST_NAME:
            continue
        sure = alone and short.is_only_beside(long)
        if ranks & FEMALE:
            sure = sure and long.gender == "f"
        elif not family:
            sure = sure and _named_in_full_first(short, long) and _is_known_person(short, long, names)
        rule = f"{'ranked ' if ranks else ''}{'family' if family else 'first'} name"
        yield pair_of(rule, short, long, sure=sure, short=short)


def _is_known_person(short: NameFeatures, long: NameFeatures, names: Names) -> bool:
    """Return whether pronouns, or use of the family name alone, show that a name is a person's."""
    alone = (name for name in names.spelt(long.form.words[-1]) if name.shares_document(long))
    return bool(short.gender or long.gender) or any(name.is_person or name.is_untyped for name in alone)


def _are_several(bearers: Sequence[NameFeatures]) -> bool:
    """Return whether any two of these names belong to different persons."""
    return any(
        left.form.words != right.form.words and not (left.person and right.person and agree(left.person, right.person))
        for left, right in combinations(bearers, 2)
    )


def _is_other(name: NameFeatures) -> bool:
    return not FAMILY.union({"and", "of"}).isdisjoint(name.form.words)


def _may_be_meant(name: NameFeatures, word: str) -> bool:
    """Return whether a single word may refer to a name that is not a person's: Ford for the Ford Motor Company."""
    return name.form.words[0] == word and not _is_other(name) and "other" not in name.kinds


def _named_in_full_first(short: NameFeatures, long: NameFeatures) -> bool:
    """Return whether each document of a short name mentions the long one first, or is titled with it."""
    first = ((long.documents.get(id_), start) for id_, start in short.documents.items())
    return all(at is not None and (at < start or at == -1) for at, start in first)
