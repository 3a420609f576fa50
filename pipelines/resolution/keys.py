"""Keys of names: names that share one may be variants of each other, so that never all are compared with all.

A key is kept as its 64-bit hash with the row of its name. Two keys have one hash as rarely as two entities have one id.
"""

from array import array
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from conspectus.pipelines.resolution.parsed_name import Form, number_of
from conspectus.pipelines.resolution.person_names import person_of, sound
from conspectus.pipelines.resolution.wordlists import NICKNAMES, NO_FIRST_NAMES, SMALL_WORDS, STATES, TURNED, WELL_KNOWN
from conspectus.storage.arrays import Ints, Rows, SmallInts
from conspectus.storage.hashing import short_id
from conspectus.storage.text.normalise import entity_key

if TYPE_CHECKING:
    from conspectus.pipelines.resolution.features import NameFeatures

_MOST_WORDS = 12
_LONG_SLIP = 7
"""Letters of a word in which one letter may be wrong."""
_USUAL = frozenset(WELL_KNOWN.values())
_BLOCKS_AT_ONCE = 256
_INITIAL = 0
"""The token of a person whose first name is an initial."""

Key = str | tuple[str, ...]


def hash_of(key: Key) -> int:
    """Return the 64-bit hash of a key; unlike Python's own, it is the same in every process.

    >>> hash_of(("a", "b"))
    4367745140043581558
    """
    parts = (key,) if isinstance(key, str) else key
    return int.from_bytes(bytes.fromhex(short_id(*parts)), "big", signed=True)


class Blocks:
    """The rows of names by key."""

    def __init__(self) -> None:
        self._added = array("q"), array("i")
        self._hashes, self._rows = np.zeros(0, np.int64), np.zeros(0, np.int32)

    def add(self, key: Key | None, row: int) -> None:
        """Add a name, in the order of rows. Keys that are empty or None are left out."""
        if key:
            self._added[0].append(hash_of(key))
            self._added[1].append(row)

    def close(self) -> None:
        """Sort the rows by key; to be called once, after all were added."""
        hashes, rows = (
            np.frombuffer(column, dtype) for column, dtype in zip(self._added, (np.int64, np.int32), strict=True)
        )
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._rows = hashes[order], rows[order]
        self._added = array("q"), array("i")

    def __getitem__(self, key: Key) -> SmallInts:
        """Return the rows of the names with a key, ascending."""
        wanted = np.int64(hash_of(key))
        return self._rows[np.searchsorted(self._hashes, wanted) : np.searchsorted(self._hashes, wanted, "right")]

    @property
    def rows(self) -> SmallInts:
        """The rows of all names with a key, by key."""
        return self._rows

    def shared(self, most: int) -> Iterator[SmallInts]:
        """Yield the rows of each key that several names have, at most so many; by their first row."""
        starts, sizes = self._runs(most)
        for place in np.argsort(self._rows[starts], kind="stable").tolist():
            yield self._rows[starts[place] : starts[place] + sizes[place]]

    def pairs(self, most: int) -> Iterator[tuple[SmallInts, SmallInts]]:
        """Yield the pairs (p,) of the names that share a key with at most so many; many pairs at once."""
        starts, sizes = self._runs(most)
        for size in range(2, most + 1):
            left, right = np.triu_indices(size, 1)
            of_size = starts[sizes == size]
            for part in np.split(of_size, range(_BLOCKS_AT_ONCE, len(of_size), _BLOCKS_AT_ONCE)):
                yield self._rows[part[:, None] + left].ravel(), self._rows[part[:, None] + right].ravel()

    def _runs(self, most: int) -> tuple[Rows, Ints]:
        """Return where the rows of each key begin that 2 to `most` names have, and how many they are."""
        bounds = np.flatnonzero(np.diff(self._hashes, prepend=~self._hashes[:1], append=~self._hashes[-1:]))
        sizes = np.diff(bounds)
        several = (sizes > 1) & (sizes <= most)
        return bounds[:-1][several], sizes[several]


class NameKeys:
    """The keys of all names, by the rule that looks for them.

    Attributes:
        spelt: By function: what names have in common that differ in spelling.
        slips: A name of several words, of one of which only the first and last letter count.
        initials: The initials of a name of several words that is no person's.
        acronyms: The rows of the names that may be initials of others.
        words: Each word of a name of several words.
        alone: The word of a name of one word.
        parts: The rows of the names of one word that may be a part of another.
        ranked: The rows of the names of one word with a rank.
        qualified: The letters of a name with a parenthesis.
        titles: The letters of a name that is the title of a document.
        families: The family name of a person.
        before_comma, without_comma: What stands before the comma of a place, and the names that may be such a place.
        states, state_names: The name of a state in its full name, and the names that may be such a name.
    """

    def __init__(self) -> None:
        self.spelt: Mapping[Callable[[Form], Key | None], Blocks] = {key_of: Blocks() for key_of in SPELT_ALIKE}
        self.slips, self.initials, self.words, self.alone = (Blocks() for _ in range(4))
        self.qualified, self.titles, self.families = (Blocks() for _ in range(3))
        self.before_comma, self.without_comma, self.states, self.state_names = (Blocks() for _ in range(4))
        self.acronyms, self.parts, self.ranked = (array("i") for _ in range(3))
        self._tokens = array("q"), array("i")

    def add(self, name: "NameFeatures") -> None:
        """Add the keys of a name, in the order of rows."""
        row, form, titles = name.row, name.form, name.titles
        for key_of, blocks in self.spelt.items():
            blocks.add(key_of(form), row)
        if len(form.words) > 1:
            self._add_words(name)
        elif form.words:
            self._add_word(name)
        if form.qualifier:
            self.qualified.add(form.letters, row)
        if titles:
            self.titles.add(form.letters, row)
        if state := state_in(form):
            self.states.add(state, row)
        elif "place" in name.kinds and not form.qualifier and not form.after_comma:
            self.state_names.add(form.words, row)
        if not is_persons(name):
            if is_qualified(form):
                self.before_comma.add(before_comma(form), row)
            if not (form.after_comma or form.qualifier or form.ranks or titles or form.begins_small):
                self.without_comma.add(entity_key(" ".join(form.surfaces)), row)

    def _add_words(self, name: "NameFeatures") -> None:
        row, words = name.row, name.form.words
        for word in set(words):
            self.words.add(word, row)
        if not name.form.numbers:
            for place, word in enumerate(words):
                if len(word) >= _LONG_SLIP:
                    self.slips.add((*words[:place], f"{word[0]}{word[-1]}*", *words[place + 1 :]), row)
        if len(words) <= _MOST_WORDS and name.kinds != {"person"}:
            for letters in initials(name.form):
                self.initials.add(letters, row)
        person = person_of(name.form)
        if person is not None and name.is_person:
            self.families.add(person.family, row)
            first = person.given[0]
            heard = {*person.given, person.called, *NICKNAMES.get(first, ())} - {""}
            for token in {hash_of(sound(word)) for word in heard} | ({_INITIAL} if len(first) == 1 else set()):
                self._tokens[0].append(token)
                self._tokens[1].append(row)

    def _add_word(self, name: "NameFeatures") -> None:
        row, form = name.row, name.form
        word = form.words[0]
        self.alone.add(word, row)
        if form.is_acronym and len(form.letters) > 2 and not form.ranks:
            self.acronyms.append(row)
        if form.qualifier or form.numbers:
            return
        if form.ranks or form.epithets:
            self.ranked.append(row)
        if not name.titles and len(word) > 1 and not form.begins_small:
            self.parts.append(row)

    def close(self) -> None:
        """Sort the keys; to be called once, after all names were added."""
        for blocks in (*self.spelt.values(), *(each for each in vars(self).values() if isinstance(each, Blocks))):
            blocks.close()

    def namesakes(self, rows: SmallInts) -> list[tuple[int, int]]:
        """Return the pairs of some persons whose first names may be one: by sound, nickname or initial."""
        tokens, owners = (
            np.frombuffer(column, dtype) for column, dtype in zip(self._tokens, (np.int64, np.int32), strict=True)
        )
        first, last = np.searchsorted(owners, rows), np.searchsorted(owners, rows + 1)
        of_token: dict[int, list[int]] = {}
        for row, start, end in zip(rows.tolist(), first.tolist(), last.tolist(), strict=True):
            for token in tokens[start:end].tolist():
                of_token.setdefault(token, []).append(row)
        pairs = {
            (min(one, other), max(one, other))
            for one in of_token.pop(_INITIAL, ())
            for other in rows.tolist()
            if one != other
        }
        return sorted(pairs.union(*(combinations(each, 2) for each in of_token.values())))


def initials(form: Form) -> set[str]:
    """Return the acronyms of a name: with and without its small words; a numeral stays whole.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> sorted(initials(form_of("World War II"))), sorted(initials(form_of("Bank of England")))
    (['wwii'], ['be', 'boe'])
    """
    words = form.words
    numeral = words[-1] if form.numbers and len(words) > 2 and words[-1].isalpha() else ""
    plain = words[:-1] if numeral else words
    every = "".join(word[0] for word in plain) + numeral
    main = "".join(word[0] for word in plain if word not in SMALL_WORDS) + numeral
    return {item for item in (every, main) if len(item) > 1}


def state_in(form: Form) -> tuple[str, ...]:
    """Return the name of a state in its full name, () for another name.

    >>> from conspectus.pipelines.resolution.parsed_name import form_of
    >>> state_in(form_of("Republic of Ireland"))
    ('ireland',)
    """
    at = form.words.index("of") if "of" in form.words else 0
    return form.words[at + 1 :] if at and form.words[at - 1] in STATES else ()


def is_persons(name: "NameFeatures") -> bool:
    """Return whether a name is a person's by type and first word."""
    return "person" in name.kinds and name.form.words[0] not in NO_FIRST_NAMES


def is_qualified(form: Form) -> bool:
    """Return whether a place is named with what it lies in: Marrow, Vey."""
    words = form.words
    return bool(form.after_comma) and len(words) > len(form.after_comma) and not {"and", "of"} & set(words)


def before_comma(form: Form) -> str:
    """Return the name of a place without what it lies in."""
    return entity_key(" ".join(form.surfaces[: len(form.words) - len(form.after_comma)]))


def words_key(form: Form) -> Key | None:
    """Return the letters of a name, if they tell something."""
    spaced = all(len(word) == 1 and surface.isupper() for word, surface in zip(form.words, form.surfaces, strict=True))
    return form.letters if len(form.letters) > 2 or len(form.words) == 1 or spaced else None


def numbered_key(form: Form) -> Key | None:
    """Return the words and numbers of a name that has a number, regardless of order and notation."""
    if len(form.numbers) != 1 or len(form.words) < 2 or form.after_comma:
        return None
    number = form.numbers[0]
    rest = sorted(word for word in form.words if _value(word) != number and word not in {"the", "of"})
    return (number, *rest) if len(rest) == len(form.words) - 1 - sum(w in {"the", "of"} for w in form.words) else None


def _value(word: str) -> str | None:
    return number_of(word) or {"v": "5", "x": "10", "i": "1"}.get(word)


def well_known_key(form: Form) -> Key | None:
    """Return one name of a state or union that has several usual ones."""
    if form.qualifier or form.numbers or form.after_comma or form.ranks:
        return None
    written = " ".join(form.words)
    if written in WELL_KNOWN and len(form.words) == 1 and not form.is_acronym:
        return None  # the word "us"
    return WELL_KNOWN.get(written, written if written in _USUAL else None)


def sound_key(form: Form) -> Key | None:
    """Return a phonetic key across alphabets: the same for Tchaikovsky, Chaikovskii and Чайковский."""
    if sum(map(len, form.words)) < 5 or form.numbers or form.qualifier or form.is_acronym:
        return None
    return tuple(map(sound, form.words))


def of_key(form: Form) -> Key | None:
    """Return a key that is the same for "Treaty of Versailles" and "Versailles Treaty"."""
    words = form.words
    if form.qualifier or form.after_comma or len(words) not in (2, 3):
        return None
    if len(words) == 3 and words[1] == "of" and words[0] in TURNED:
        return words[0], words[2]
    return (words[1], words[0]) if len(words) == 2 and words[1] in TURNED else None


def swapped_key(form: Form) -> Key | None:
    """Return the two words of a name in alphabetical order."""
    plain = len(form.words) == 2 and not (form.numbers or form.qualifier or form.after_comma)
    return tuple(sorted(form.words)) if plain else None


def turned_key(form: Form) -> Key | None:
    """Return the words of a name in their usual order: the same for "Doyle, Arthur" and "Arthur Doyle"."""
    if form.numbers or form.qualifier or not 2 <= len(form.words) <= 5:
        return None
    if not form.after_comma:
        return ("", *form.words)
    cut = len(form.words) - len(form.after_comma)
    return ("", *form.words[cut:], *form.words[:cut]) if cut == 1 else None


SPELT_ALIKE = (words_key, numbered_key, well_known_key, sound_key, of_key, swapped_key, turned_key)
"""The keys of names that may differ only in spelling."""
