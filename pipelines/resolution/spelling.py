"""Pair spelling variants of a name: accents, punctuation, articles, ranks, legal forms, numerals, transliterations."""

from collections.abc import Callable, Iterator

from conspectus.pipelines.resolution.features import NameFeatures, Names, share_document
from conspectus.pipelines.resolution.keys import (
    Key,
    numbered_key,
    of_key,
    sound_key,
    state_in,
    swapped_key,
    turned_key,
    well_known_key,
    words_key,
)
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import spelt_near
from conspectus.storage.text.normalise import entity_key
from rapidfuzz.distance import OSA

_MOST_OF_A_KEY = 40
"""A key shared by more names than this is not evidence."""


def spelt_alike(names: Names) -> Iterator[NamePair]:
    """Yield the pairs whose names differ only in spelling."""
    for left, right in _with_one_key(names, words_key):
        yield _same_words(left, right)
    for left, right in _with_one_key(names, numbered_key):
        if left.form.words != right.form.words:
            yield pair_of(left.id, right.id, "the same words and the same number, written in two ways", 0.88)
    for left, right in _with_one_key(names, well_known_key):
        yield pair_of(left.id, right.id, "two usual names of one state or union", 0.9)
    for left, right in _with_one_key(names, sound_key):
        if left.form.letters != right.form.letters and _sounds_enough(left.form, right.form):
            near = share_document(left, right)
            exotic = not (left.name.isascii() and right.name.isascii())
            together = 0 if near or exotic else min(names.evidence.rare_beside_both(left.row, right.row), 2)
            # Single words that sound alike are too often different names: Kannada and Canada.
            base = 0.7 if exotic or len(left.form.words) > 1 else 0.5
            score = base + (0.1 if near or exotic else 0.05 * together)
            yield pair_of(left.id, right.id, "one name spelt from another alphabet in two ways", score)
    for left, right in _with_one_key(names, of_key):
        if ("of" in left.form.words) != ("of" in right.form.words):
            yield pair_of(left.id, right.id, 'the same words, with "of" and without', 0.82)
    yield from _states(names)
    for left, right in _with_one_key(names, swapped_key):
        if left.form.words == right.form.words[::-1] and left.form.words[0] != left.form.words[1]:
            kinds = left.kinds | right.kinds
            near = share_document(left, right) and "person" in kinds <= {"person", "other"}
            yield pair_of(left.id, right.id, "the same two names in the other order", 0.8 if near else 0.6)
    for left, right in _with_one_key(names, turned_key):
        if bool(left.form.after_comma) != bool(right.form.after_comma):
            yield pair_of(left.id, right.id, "the same name with the family name first", 0.88)


def _with_one_key(names: Names, key_of: Callable[[Form], Key | None]) -> Iterator[tuple[NameFeatures, NameFeatures]]:
    for left, right in names.keys.spelt[key_of].pairs(_MOST_OF_A_KEY):
        yield from zip(map(names.at, left.tolist()), map(names.at, right.tolist()), strict=True)


def _same_words(left: NameFeatures, right: NameFeatures) -> NamePair:
    """Return the pair of two names with the same words; its score depends on what differs."""
    mine, yours = left.form, right.form
    if _signs(left.name) != _signs(right.name) or len(mine.letters) < 2:
        return pair_of(left.id, right.id, "the same letters, but other signs or a single one", 0.3)
    near = share_document(left, right)
    several = len(mine.words) > 1 or len(mine.letters) != len(left.name)
    if mine.form is not None or yours.form is not None:
        several = len(mine.words) > 1
        company = left.kinds <= {"organisation"} >= right.kinds and left.kinds | right.kinds
        person = "person" in left.kinds ^ right.kinds
        whole, bare = (left, right) if mine.form is not None else (right, left)
        rare = bare.frequency > _MOST_TIMES * whole.frequency  # one "Git PLC" among many "Git"
        lone = near and company and not left.titles | right.titles and not rare
        code = left.name.isupper() and right.name.isupper() and not company  # CREATE TABLE AS
        score = 0.55 if code else 0.88 if several and not person else 0.8 if lone else 0.55
        return pair_of(left.id, right.id, "the same name with and without its legal form", score)
    if mine.ranks != yours.ranks or mine.epithets != yours.epithets:
        if len(mine.words) > 1 and not mine.epithets and not yours.epithets:
            return pair_of(left.id, right.id, "the same name with and without a rank", 0.92, short=_ranked(left, right))
        # One word next to a rank or epithet: "Mr. Holmes" and "Holmes" are handled with the other short names.
        return pair_of(left.id, right.id, "the same word with and without a rank", 0.4, short=_ranked(left, right))
    if mine.article != yours.article and len(mine.words) == 1:
        capitals = left.name.isupper() and right.name.isupper()
        score = 0.8 if near and (left.kinds & right.kinds or capitals) else 0.5
        return pair_of(left.id, right.id, "the same name with and without its article", score)
    if mine.qualifier != yours.qualifier:
        return pair_of(left.id, right.id, "the same name with and without a parenthesis", 0.5)
    if len(mine.words) == len(yours.words) == 1 and entity_key(mine.surfaces[0]) != entity_key(yours.surfaces[0]):
        # A single word without its accents may be another name, and a short one another word.
        plain = len(mine.letters) > 2 and ({"person"} not in (left.kinds, right.kinds))
        dotted = mine.is_acronym and yours.is_acronym
        score = 0.92 if near or plain or dotted else 0.6
        return pair_of(
            left.id,
            right.id,
            "the same word: only accents or signs differ",
            score if len(mine.letters) > 2 or dotted else 0.4,
        )
    return pair_of(
        left.id, right.id, "the same letters: only accents, signs, spaces, articles or usual abbreviations differ", 0.95
    )


_MOST_TIMES = 10
"""How many times more often a company of one word is named without its legal form than with it."""
_TELLING = "%$\\/|*+=#@<>{}^~&_-"
"""Characters that distinguish names of programs' things at their start or end: -x, %x, $x, /x and x= are not x."""


def _signs(name: str) -> tuple[str, str]:
    """Return the distinguishing characters that a name begins and ends with."""
    name = name.strip()
    return name[: len(name) - len(name.lstrip(_TELLING))], name[len(name.rstrip(_TELLING)) :]


def _ranked(left: NameFeatures, right: NameFeatures) -> str:
    return left.id if len(left.form.ranks) > len(right.form.ranks) else right.id


def _sounds_enough(left: Form, right: Form) -> bool:
    """Return whether two names that sound alike differ only like transliterations: by a few letters of long words."""
    if len(left.words) != len(right.words) or left.after_comma != right.after_comma:
        return False
    different = [(mine, yours) for mine, yours in zip(left.words, right.words, strict=True) if mine != yours]
    if not (left.name.isascii() and right.name.isascii()) and left.name[0].isascii() != right.name[0].isascii():
        return True
    near = all(spelt_near(mine, yours) for mine, yours in different)
    return near and (len(different) < len(left.words) or min(map(len, left.words)) >= 6)


def _states(names: Names) -> Iterator[NamePair]:
    """Yield a state's full name with its short one if a document has both and no other state has that short name."""
    for row in names.keys.states.rows.tolist():
        left = names.at(row)
        short = state_in(left.form)
        if len({names.at(each).form.words for each in names.keys.states[short].tolist()}) == 1:
            for right in map(names.at, names.evidence.sharing(row, names.keys.state_names[short]).tolist()):
                yield pair_of(left.id, right.id, "a state by its full name and by its short one", 0.78)


_MOST_WITH_A_TYPO = 30


def slips(names: Names) -> Iterator[NamePair]:
    """Yield the pairs of names of several words that differ in one letter of a long word."""
    for left, right in names.keys.slips.pairs(_MOST_WITH_A_TYPO):
        near = names.evidence.share_document(left, right)
        for one, other in zip(left[near].tolist(), right[near].tolist(), strict=True):
            if _one_slip(names.at(one), names.at(other)):
                yield pair_of(
                    names.at(one).id, names.at(other).id, "spelt the same but for one letter of a long word", 0.77
                )


def _one_slip(left: NameFeatures, right: NameFeatures) -> bool:
    different = [(a, b) for a, b in zip(left.form.words, right.form.words, strict=True) if a != b]
    return len(different) == 1 and is_one_edit(*different[0])


def is_one_edit(one: str, other: str) -> bool:
    """Return whether one inner letter is inserted, deleted, substituted or transposed.

    >>> is_one_edit("aristophanes", "aristophenes"), is_one_edit("austria", "australia")
    (True, False)
    """
    return one[0] == other[0] and one[-1] == other[-1] and OSA.distance(one, other) == 1
