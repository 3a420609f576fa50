"""Pair spelling variants of a name: accents, punctuation, articles, ranks, legal forms, numerals, transliterations."""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import combinations

from conspectus.pipelines.resolution.features import NameFeatures, Neighbours
from conspectus.pipelines.resolution.pairs import NamePair, pair_of
from conspectus.pipelines.resolution.parsed_name import Form
from conspectus.pipelines.resolution.person_names import sound, spelt_near
from conspectus.pipelines.resolution.wordlists import STATES, TURNED, WELL_KNOWN
from conspectus.storage.text.normalise import entity_key
from rapidfuzz.distance import OSA

_MOST_OF_A_KEY = 40
"""A key shared by more names than this is not evidence."""


def spelt_alike(known: Sequence[NameFeatures], neighbours: Neighbours) -> Iterator[NamePair]:
    """Yield the pairs whose names differ only in spelling."""
    for left, right in _with_one_key(known, _words_key):
        yield _same_words(left, right)
    for left, right in _with_one_key(known, _numbered_key):
        if left.form.words != right.form.words:
            yield pair_of(left.id, right.id, "the same words and the same number, written in two ways", 0.88)
    for left, right in _with_one_key(known, _well_known_key):
        yield pair_of(left.id, right.id, "two usual names of one state or union", 0.9)
    for left, right in _with_one_key(known, _sound_key):
        if left.form.letters != right.form.letters and _sounds_enough(left.form, right.form):
            near = bool(left.documents.keys() & right.documents.keys())
            exotic = not (left.entity.name.isascii() and right.entity.name.isascii())
            together = min(neighbours.shared(left.id, right.id), 2)
            # Single words that sound alike are too often different names: Kannada and Canada.
            base = 0.7 if exotic or len(left.form.words) > 1 else 0.5
            score = base + (0.1 if near or exotic else 0.05 * together)
            yield pair_of(left.id, right.id, "one name spelt from another alphabet in two ways", score)
    for left, right in _with_one_key(known, _of_key):
        if ("of" in left.form.words) != ("of" in right.form.words):
            yield pair_of(left.id, right.id, 'the same words, with "of" and without', 0.82)
    yield from _states(known)
    for left, right in _with_one_key(known, _swapped_key):
        if left.form.words == right.form.words[::-1] and left.form.words[0] != left.form.words[1]:
            kinds = left.kinds | right.kinds
            near = bool(left.documents.keys() & right.documents.keys()) and "person" in kinds <= {"person", "other"}
            yield pair_of(left.id, right.id, "the same two names in the other order", 0.8 if near else 0.6)
    for left, right in _with_one_key(known, _turned_key):
        if bool(left.form.after_comma) != bool(right.form.after_comma):
            yield pair_of(left.id, right.id, "the same name with the family name first", 0.88)


def _with_one_key(
    known: Iterable[NameFeatures], key_of: Callable[[Form], Hashable | None]
) -> Iterator[tuple[NameFeatures, NameFeatures]]:
    of_key: defaultdict[Hashable, list[NameFeatures]] = defaultdict(list)
    for name in known:
        key = key_of(name.form)
        if key:
            of_key[key].append(name)
    for group in of_key.values():
        if len(group) <= _MOST_OF_A_KEY:
            yield from combinations(group, 2)


def _words_key(form: Form) -> Hashable | None:
    spaced = all(len(word) == 1 and surface.isupper() for word, surface in zip(form.words, form.surfaces, strict=True))
    return form.letters if len(form.letters) > 2 or len(form.words) == 1 or spaced else None


def _same_words(left: NameFeatures, right: NameFeatures) -> NamePair:
    """Return the pair of two names with the same words; its score depends on what differs."""
    mine, yours = left.form, right.form
    if _signs(left.entity.name) != _signs(right.entity.name) or len(mine.letters) < 2:
        return pair_of(left.id, right.id, "the same letters, but other signs or a single one", 0.3)
    near = bool(left.documents.keys() & right.documents.keys())
    several = len(mine.words) > 1 or len(mine.letters) != len(left.entity.name)
    if mine.form is not None or yours.form is not None:
        several = len(mine.words) > 1
        company = left.kinds <= {"organisation"} >= right.kinds and left.kinds | right.kinds
        person = "person" in left.kinds ^ right.kinds
        whole, bare = (left, right) if mine.form is not None else (right, left)
        rare = bare.entity.frequency > _MOST_TIMES * whole.entity.frequency  # one "Git PLC" among many "Git"
        lone = near and company and not left.titles | right.titles and not rare
        code = left.entity.name.isupper() and right.entity.name.isupper() and not company  # CREATE TABLE AS
        score = 0.55 if code else 0.88 if several and not person else 0.8 if lone else 0.55
        return pair_of(left.id, right.id, "the same name with and without its legal form", score)
    if mine.ranks != yours.ranks or mine.epithets != yours.epithets:
        if len(mine.words) > 1 and not mine.epithets and not yours.epithets:
            return pair_of(left.id, right.id, "the same name with and without a rank", 0.92, short=_ranked(left, right))
        # One word next to a rank or epithet: "Mr. Holmes" and "Holmes" are handled with the other short names.
        return pair_of(left.id, right.id, "the same word with and without a rank", 0.4, short=_ranked(left, right))
    if mine.article != yours.article and len(mine.words) == 1:
        capitals = left.entity.name.isupper() and right.entity.name.isupper()
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


def _numbered_key(form: Form) -> Hashable | None:
    """Return the words and numbers of a name that has a number, regardless of order and notation."""
    if len(form.numbers) != 1 or len(form.words) < 2 or form.after_comma:
        return None
    number = form.numbers[0]
    rest = sorted(word for word in form.words if _value(word) != number and word not in {"the", "of"})
    return (number, *rest) if len(rest) == len(form.words) - 1 - sum(w in {"the", "of"} for w in form.words) else None


def _value(word: str) -> str | None:
    from conspectus.pipelines.resolution.parsed_name import number_of

    return number_of(word) or {"v": "5", "x": "10", "i": "1"}.get(word)


def _well_known_key(form: Form) -> Hashable | None:
    if form.qualifier or form.numbers or form.after_comma or form.ranks:
        return None
    written = " ".join(form.words)
    if written in WELL_KNOWN and len(form.words) == 1 and not form.is_acronym:
        return None  # the word "us"
    return WELL_KNOWN.get(written, written if written in WELL_KNOWN.values() else None)


def _sound_key(form: Form) -> Hashable | None:
    """Return a phonetic key across alphabets: the same for Tchaikovsky, Chaikovskii and Чайковский."""
    if sum(map(len, form.words)) < 5 or form.numbers or form.qualifier or form.is_acronym:
        return None
    return tuple(map(sound, form.words))


def _sounds_enough(left: Form, right: Form) -> bool:
    """Return whether two names that sound alike differ only like transliterations: by a few letters of long words."""
    if len(left.words) != len(right.words) or left.after_comma != right.after_comma:
        return False
    different = [(mine, yours) for mine, yours in zip(left.words, right.words, strict=True) if mine != yours]
    if not (left.name.isascii() and right.name.isascii()) and left.name[0].isascii() != right.name[0].isascii():
        return True
    near = all(spelt_near(mine, yours) for mine, yours in different)
    return near and (len(different) < len(left.words) or min(map(len, left.words)) >= 6)


def _of_key(form: Form) -> Hashable | None:
    """Return a key that is the same for "Treaty of Versailles" and "Versailles Treaty"."""
    words = form.words
    if form.qualifier or form.after_comma or len(words) not in (2, 3):
        return None
    if len(words) == 3 and words[1] == "of" and words[0] in TURNED:
        return words[0], words[2]
    return (words[1], words[0]) if len(words) == 2 and words[1] in TURNED else None


def _states(known: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield a state's full name with its short one if a document has both and no other state has that short name."""
    plain: defaultdict[tuple[str, ...], list[NameFeatures]] = defaultdict(list)
    full: defaultdict[tuple[str, ...], list[NameFeatures]] = defaultdict(list)
    for name in known:
        words = name.form.words
        at = words.index("of") if "of" in words else 0
        if at and words[at - 1] in STATES and len(words) > at + 1:
            full[words[at + 1 :]].append(name)
        elif "place" in name.kinds and not name.form.qualifier and not name.form.after_comma:
            plain[words].append(name)
    for words, names in full.items():
        for left in names:
            for right in plain.get(words, ()) if len({name.form.words for name in names}) == 1 else ():
                if left.documents.keys() & right.documents.keys():
                    yield pair_of(left.id, right.id, "a state by its full name and by its short one", 0.78)


def _swapped_key(form: Form) -> Hashable | None:
    plain = len(form.words) == 2 and not (form.numbers or form.qualifier or form.after_comma)
    return tuple(sorted(form.words)) if plain else None


def _turned_key(form: Form) -> Hashable | None:
    if form.numbers or form.qualifier or not 2 <= len(form.words) <= 5:
        return None
    if not form.after_comma:
        return ("", *form.words)
    cut = len(form.words) - len(form.after_comma)
    return ("", *form.words[cut:], *form.words[:cut]) if cut == 1 else None


_LONG_SLIP = 7
_MOST_WITH_A_TYPO = 30


def slips(known: Sequence[NameFeatures]) -> Iterator[NamePair]:
    """Yield the pairs of names of several words that differ in one letter of a long word."""
    of_key: defaultdict[tuple[str, ...], list[NameFeatures]] = defaultdict(list)
    for name in known:
        words = name.form.words
        if len(words) > 1 and not name.form.numbers:
            for place, word in enumerate(words):
                if len(word) >= _LONG_SLIP:
                    of_key[(*words[:place], f"{word[0]}{word[-1]}*", *words[place + 1 :])].append(name)
    for group in of_key.values():
        if len(group) <= _MOST_WITH_A_TYPO:
            for left, right in combinations(group, 2):
                if left.documents.keys() & right.documents.keys() and _one_slip(left, right):
                    yield pair_of(left.id, right.id, "spelt the same but for one letter of a long word", 0.77)


def _one_slip(left: NameFeatures, right: NameFeatures) -> bool:
    different = [(a, b) for a, b in zip(left.form.words, right.form.words, strict=True) if a != b]
    return len(different) == 1 and is_one_edit(*different[0])


def is_one_edit(one: str, other: str) -> bool:
    """Return whether one inner letter is inserted, deleted, substituted or transposed.

    >>> is_one_edit("aristophanes", "aristophenes"), is_one_edit("austria", "australia")
    (True, False)
    """
    return one[0] == other[0] and one[-1] == other[-1] and OSA.distance(one, other) == 1
