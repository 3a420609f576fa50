"""Dictionary matching of names: the words of a text, and the longest known names in it.

Names and texts are compared word by word, by the words' keys, and found at their offsets in the original
text. What may appear *between* two words of a name in a text:

- whitespace, a hyphen, apostrophe or quotation mark, and a full stop inside a word or after an initial or an
  abbreviation, make no difference: "Spider-Man" is found as "Spider Man", "J. K. Rowling" as "J.K. Rowling",
  "St Louis" as "St. Louis";
- any other punctuation must match the name's ("Paris, Texas", "AT&T", "Help! (film)"), but
  commas, colons, brackets and sentence-ending marks may be left out ("Paris Texas", not "AT T");
- never a blank line, or more than 40 characters.

So a name does not extend past the end of a sentence: "in Paris. Texas is" does not contain "Paris, Texas".
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import accumulate, islice
from typing import Generic, NamedTuple, TypeVar

import regex
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.sentences import ABBREVIATIONS

Value = TypeVar("Value")

FEWEST_LETTERS = 4  # of a lone word that is searched for: shorter names ("It", "May") are mostly words

_UNSPACED = r"\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}ー"
UNSPACED = regex.compile(rf"[{_UNSPACED}]")
"""A character of a script that is written without spaces."""
_WORD = regex.compile(
    rf"""[[{_UNSPACED}]&&[\p{{L}}\p{{N}}]][\p{{M}}ﾞﾟ]*+    # one character is one word
       | ['’＇][sS](?![\p{{L}}\p{{N}}\p{{M}}])              # the English possessive
       | [[\p{{L}}\p{{N}}]--[{_UNSPACED}]](?:[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]|[+\#＋＃])*+
    """,
    regex.V1 | regex.X,
)
_SIMPLE = "\x00-\u02ff\u2000-\u206f"
"""Characters of European texts without combining marks, and general punctuation."""
_NOT_SIMPLE = re.compile(f"[^{_SIMPLE}]")
_SIMPLE_WORD = re.compile(r"['’][sS](?![^\W_])|[^\W_][^\W_]*(?:[+#][^\W_]*)*")
"""The same words in texts of such characters, in half the time."""
_ASCII_WORD = re.compile(r"'s(?![0-9a-z])|[0-9a-z][0-9a-z+#]*")
"""The same words in ASCII texts in lower case, whose words are their own keys, in a third of the time."""
_PIECES = regex.compile(rf"({_WORD.pattern})", regex.V1 | regex.X)
_SIMPLE_PIECES = re.compile(f"({_SIMPLE_WORD.pattern})")
_ASCII_PIECES = re.compile(r"('[sS](?![0-9a-zA-Z])|[0-9a-zA-Z][0-9a-zA-Z+#]*)")
_FARTHEST = 40
_BLANK_LINE = regex.compile(r"\n\s*\n")
_SAME = str.maketrans("", "", "-‐‑‒–−'’‘`\"“”„«»·・")
_MAY_BE_LEFT_OUT = frozenset(",.:;!?()[]…，、：（）")


class Word(NamedTuple):
    """A word of a text: `text[start:end]`, and the key used to compare it."""

    start: int
    end: int
    key: str


class NameMatch(NamedTuple, Generic[Value]):
    """A known name at `text[start:end]` and its value."""

    start: int
    end: int
    value: Value


def words(text: str, most: int | None = None) -> list[Word]:
    """Return the words of a text, in order, or the first `most`: letters, marks and numbers, + and # after the first.

    In scripts written without spaces every character with its marks is a word. An English 's is a separate
    word. Keys are NFKC and case-folded, and 's has one key for every kind of apostrophe.

    >>> [word.key for word in words("Dickens’s C++ and F#, 3.14 Å: 北京")]
    ['dickens', "'s", 'c++', 'and', 'f#', '3', '14', 'å', '北', '京']
    """
    new = tuple.__new__  # half the time of Word(...)
    if text.isascii():
        return [new(Word, (*found.span(), found[0])) for found in islice(_ASCII_WORD.finditer(text.lower()), most)]
    matches: Iterator[re.Match[str] | regex.Match[str]] = _words_in(text).finditer(text)
    return [new(Word, (*found.span(), _key(found[0]))) for found in islice(matches, most)]


def word_keys(text: str) -> list[str]:
    """Return the keys of the words of a text, in order: those of `words`, in a quarter of the time.

    >>> word_keys("Dickens’s C++")
    ['dickens', "'s", 'c++']
    """
    if text.isascii():
        return _ASCII_WORD.findall(text.lower())
    return list(map(_key, _words_in(text).findall(text)))


def in_pieces(text: str) -> tuple[list[str], list[str]]:
    """Return the keys of the words of a text, and the words as they are written between what stands around them.

    >>> in_pieces("Dickens's book, 1843.")
    (['dickens', "'s", 'book', '1843'], ['', 'Dickens', '', "'s", ' ', 'book', ', ', '1843', '.'])
    """
    if text.isascii():
        pieces = _ASCII_PIECES.split(text)
        return list(map(str.lower, pieces[1::2])), pieces
    pieces = (_PIECES if _NOT_SIMPLE.search(text) else _SIMPLE_PIECES).split(text)
    return list(map(_key, pieces[1::2])), pieces


def _words_in(text: str) -> "re.Pattern[str] | regex.Pattern[str]":
    return _WORD if _NOT_SIMPLE.search(text) else _SIMPLE_WORD


class NameMatcher(Generic[Value]):
    """Finds the names of a mapping in texts; immutable and safe to share between threads.

    A name without a word in it ("!!!") is never found. If the words in a text may be any of several
    names ("Yahoo" and "Yahoo!", "Spider-Man" and "spider man"), the one spelled like the text is found,
    with the signs around it if the text has them; if none is, the first in sorted order.
    """

    def __init__(self, names: Mapping[str, Value]) -> None:
        # The names by their words, joined: one name, or several as a tuple. Most are their own words.
        self._spoken: dict[str, str | tuple[str, ...]] = {}
        # The first word of each name, and each longer part that a name of more words begins with.
        self._begun: set[str] = set()
        for surface in sorted(names):
            if keys := word_keys(surface):
                spoken = " ".join(keys)
                if spoken in self._spoken:
                    self._spoken[spoken] = (*_each(self._spoken[spoken]), surface)
                else:
                    self._spoken[surface if spoken == surface else spoken] = surface
                self._begun.update(accumulate(keys[: max(1, len(keys) - 1)], _joined))
        self._named = lru_cache(_KEPT_NAMES)(partial(_named, self._spoken, names))

    def find(self, text: str, found: Sequence[Word] | None = None) -> list[NameMatch[Value]]:
        """Return the names in a text, in order and without overlaps.

        Of overlapping names the one that begins first is chosen, then the one with the most words. A
        match includes the signs around a name's words ("U.S.", "Apollo (band)") if the text has them too. `found`
        are the words of the text, if they are known already.
        """
        keys, bounds = _bounds(text, found)
        matches: list[NameMatch[Value]] = []
        at = free_from = 0
        begun = self._begun
        for first in [place for place, key in enumerate(keys) if key in begun]:
            if first < at:
                continue
            endings = self._endings(text, keys, bounds, first)
            if endings:
                last, names = endings[-1]
                start, end = bounds[2 * first], bounds[2 * last + 1]
                name = names[0] if len(names) == 1 else _nearest(names, text, start, end)
                if name.head or name.tail:
                    start, end = _with_signs(name, text, start, end, free_from)
                matches.append(NameMatch(start, end, name.value))
                at, free_from = last + 1, end
        return matches

    def _endings(
        self, text: str, keys: Sequence[str], bounds: Sequence[int], first: int
    ) -> "list[tuple[int, list[_Name[Value]]]]":
        """Return the last word, and the possible names, of each name that begins with a word, the longest name last.

        This is the innermost loop of looking for names: what is looked up is bound to local names, and the usual cases
        (a name that is its words, a space between two of them) come first.
        """
        spoken, begun, named = self._spoken, self._begun, self._named
        endings: list[tuple[int, list[_Name[Value]]]] = []
        said = keys[first]
        between: list[str | None] = []
        for last in range(first, len(keys)):
            if said in spoken:
                names = named(said)
                if len(names) > 1 or names[0].between != between:
                    names = [name for name in names if name.between == between or _allowed(between, name.between)]
                if names:
                    endings.append((last, names))
            if said not in begun or last + 1 == len(keys):
                break
            gap: str | None = text[bounds[2 * last + 1] : bounds[2 * last + 2]]
            if gap == " ":
                gap = ""
            elif (gap := _between(gap or "", keys[last])) is None:
                break
            said = f"{said} {keys[last + 1]}"
            between.append(gap)
        return endings


_KEPT_NAMES = 20_000
"""Names of a matcher that are kept in the form in which texts are compared with them: .5 kB each."""


def _joined(said: str, key: str) -> str:
    return f"{said} {key}"


def _bounds(text: str, found: Sequence[Word] | None = None) -> tuple[list[str], list[int]]:
    """Return the keys of the words of a text, and where each begins and ends, one after the other."""
    if found is not None:
        return [word.key for word in found], [bound for word in found for bound in (word.start, word.end)]
    keys, pieces = in_pieces(text)
    return keys, list(accumulate(map(len, pieces)))


class _Name(NamedTuple, Generic[Value]):
    """A name: its key, the text between, before and after its words, and its value."""

    key: str
    between: Sequence[str | None]
    head: str
    tail: str
    value: Value


def _each(names: str | tuple[str, ...]) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else names


def _named(spoken: Mapping[str, str | tuple[str, ...]], values: Mapping[str, Value], said: str) -> list[_Name[Value]]:
    """Return the names that consist of some words."""
    return [_name(surface, values[surface], said) for surface in _each(spoken[said])]


def _name(surface: str, value: Value, said: str) -> _Name[Value]:
    if surface == said and said.isascii():  # nothing but its words
        return _Name(said, [""] * said.count(" "), "", "", value)
    keys, pieces = in_pieces(surface)
    between = list(map(_between, pieces[2:-1:2], keys))
    return _Name(entity_key(surface), between, pieces[0].lstrip(), pieces[-1].rstrip(), value)


def _with_signs(name: _Name[Value], text: str, start: int, end: int, free_from: int) -> tuple[int, int]:
    """Return the span of a name with the signs around its words, if the text has them: those before from a place on."""
    if not name.head and not name.tail:
        return start, end
    if text.startswith(name.tail, end):
        end += len(name.tail)
    if start - len(name.head) >= free_from and text.endswith(name.head, free_from, start):
        start -= len(name.head)
    return start, end


def _nearest(names: Sequence[_Name[Value]], text: str, start: int, end: int) -> _Name[Value]:
    """Return the name spelled most like the text, with most of the signs around the words there."""

    def likeness(name: _Name[Value]) -> int:
        surface = text[max(0, start - len(name.head)) : end + len(name.tail)]
        return 1 + len(name.head) + len(name.tail) if entity_key(surface) == name.key else 0

    return max(names, key=likeness)


def _allowed(in_text: Sequence[str | None], in_name: Sequence[str | None]) -> bool:
    if in_text == in_name:
        return True
    return len(in_text) == len(in_name) and all(  # an Arabic letter may read like several words
        ours == theirs or (not ours and theirs is not None and _MAY_BE_LEFT_OUT.issuperset(theirs))
        for ours, theirs in zip(in_text, in_name, strict=True)
    )


def _between(gap: str, before: str) -> str | None:
    """Return the significant punctuation between two words; None if no name can continue. `before` is the first."""
    if gap in ("", " "):
        return ""
    if len(gap) > _FARTHEST:
        return None
    return _what_counts(gap, len(before) == 1 or before in ABBREVIATIONS)


@lru_cache(10_000)
def _what_counts(gap: str, after_short_form: bool) -> str | None:
    if "\n" in gap and _BLANK_LINE.search(gap):
        return None
    inside = "".join(unicodedata.normalize("NFKC", gap).split())
    if inside.startswith(".") and (after_short_form or gap == "."):
        inside = inside[1:]
    return inside.translate(_SAME) if len(inside) <= 2 else inside


@lru_cache(100_000)
def _key(surface: str) -> str:
    return "'s" if surface[0] in "'’＇" else entity_key(surface)


def is_worth_looking_for(name: str, fewest: int = FEWEST_LETTERS) -> bool:
    """Return whether a name has several words, or one of at least `fewest` characters."""
    found = word_keys(name)
    return len(found) > 1 or (len(found) == 1 and len(found[0]) >= fewest)


def is_capitalised(surfaces: Iterable[str]) -> bool:
    """Return whether a name is always written with a capital (or in a script without capitals)."""
    return all(surface[:1] != surface[:1].lower() for surface in surfaces)


def is_other_word(surface: str, capitalised: bool) -> bool:
    """Return whether a lone word in a text is not the name that it reads like: "speed" is not the film "Speed"."""
    return capitalised and surface[:1] == surface[:1].lower() and len(word_keys(surface)) == 1
