"""The names of a large table by their words and by their keys, mapped from files.

A dictionary of a million names takes a gigabyte and half a minute to make in Python.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from conspectus.storage.arrays import UNREADABLE_ARRAY
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.names import NameMatch, NameMatcher, Word, word_keys, words
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.postings import Postings, PostingsMaker

Value = TypeVar("Value")


def _loose_key(name: str) -> str:
    """Return the key of a name, with spaces for underscores."""
    return entity_key(entity_key(name).replace("_", " "))


def _said(keys: Iterable[str]) -> str:
    """Return words as one text, in which no word is the beginning of another."""
    return "".join(f"{key} " for key in keys)


class NameTable:
    """Numbers of names by their words and by their keys."""

    def __init__(self, by_words: Postings, by_key: Postings) -> None:
        self._by_words = by_words
        self._by_key = by_key

    @staticmethod
    def write(folder: Path, names: Iterable[tuple[str, bool]]) -> None:
        """Write the table of names into an existing folder.

        Args:
            folder: The folder.
            names: Each name, numbered from 0, and whether it is found in texts; all are found by their keys.
        """
        by_words, by_key = PostingsMaker(), PostingsMaker()
        for number, (name, in_texts) in enumerate(names):
            by_key.add(_loose_key(name), number)
            if said := _said(word_keys(name)) if in_texts else "":
                by_words.add(said, number)
        by_words.postings().save(folder / "words.arrow")
        by_key.postings().save(folder / "keys.arrow")

    @classmethod
    def open(cls, folder: Path) -> "NameTable":
        """Return a written table, memory-mapped; IndexCorrupt if it cannot be read."""
        try:
            return cls(Postings.load(folder / "words.arrow"), Postings.load(folder / "keys.arrow"))
        except UNREADABLE_ARRAY as error:
            raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error

    def in_words(self, found: Sequence[Word]) -> list[int]:
        """Return the numbers of the names that consist of consecutive words of a text, ascending."""
        numbers: set[int] = set()
        for start in range(len(found)):
            said = ""
            for word in islice(found, start, None):
                said += _said([word.key])
                if not self._by_words.begins(said):
                    break
                numbers.update(self._by_words.get(said))
        return sorted(numbers)

    def like(self, name: str) -> list[int]:
        """Return the numbers of the names that differ from one by case, underscores and form of letters, ascending."""
        return self._by_key.get(_loose_key(name))


class HasNames(Protocol):
    """A table of names that may be too large for a dictionary."""

    def in_words(self, found: Sequence[Word]) -> list[int]:
        """Return the numbers of the names that consist of consecutive words of a text, ascending; or of more."""


class TableMatcher(Generic[Value]):
    """Finds the names of a table in texts, like `NameMatcher`, whose dictionary is made of the names that are near.

    `named` returns the names of some numbers with their values.
    """

    def __init__(self, table: HasNames, named: Callable[[Sequence[int]], Mapping[str, Value]]) -> None:
        self._table = table
        self._named = named

    def find(self, text: str, found: Sequence[Word] | None = None) -> list[NameMatch[Value]]:
        """Return the names in a text (see `NameMatcher.find`)."""
        found = words(text) if found is None else found
        return NameMatcher(self._named(self._table.in_words(found))).find(text, found)
