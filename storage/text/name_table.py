"""The names of a large table by their words and by their keys, mapped from files.

A dictionary of a million names takes a gigabyte and half a minute to make in Python. Here a name is a number in sorted
arrays of 64-bit hashes: of its words, of each beginning of its words, and of its key. Looking up reads some pages of
the arrays. Two names with one hash do no harm: whoever looks up compares the names themselves.
"""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.names import NameMatch, NameMatcher, Word, word_keys, words
from conspectus.storage.text.normalise import entity_key
from numpy.typing import NDArray

Value = TypeVar("Value")
Hashes = NDArray[np.uint64]

_ARRAYS = ("beginnings", "wholes", "numbers_of_wholes", "keys", "numbers_of_keys")


def _loose_key(name: str) -> str:
    """Return the key of a name, with spaces for underscores."""
    return entity_key(entity_key(name).replace("_", " "))


class NameTable:
    """Numbers of names by their words and by their keys."""

    def __init__(self, arrays: Mapping[str, NDArray[np.uint64]]) -> None:
        self._arrays = arrays

    @staticmethod
    def write(folder: Path, names: Iterable[tuple[str, bool]]) -> None:
        """Write the table of names into an existing folder.

        Args:
            folder: The folder.
            names: Each name, numbered from 0, and whether it is found in texts; all are found by their keys.
        """
        beginnings, wholes, keys = array("Q"), array("Q"), array("Q")
        numbers_of_wholes, numbers_of_keys = array("Q"), array("Q")
        for number, (name, in_texts) in enumerate(names):
            keys.append(_hash(_loose_key(name)))
            numbers_of_keys.append(number)
            found = word_keys(name) if in_texts else ()
            said = ""
            for key in found:
                said = f"{said} {key}"
                beginnings.append(_hash(said))
            if found:
                wholes.append(_hash(said))
                numbers_of_wholes.append(number)
        np.save(folder / "beginnings.npy", np.unique(np.array(beginnings, np.uint64)))
        for hashes, numbers, name in ((wholes, numbers_of_wholes, "wholes"), (keys, numbers_of_keys, "keys")):
            order = np.argsort(np.array(hashes, np.uint64), kind="stable")
            np.save(folder / f"{name}.npy", np.array(hashes, np.uint64)[order])
            np.save(folder / f"numbers_of_{name}.npy", np.array(numbers, np.uint64)[order])

    @classmethod
    def open(cls, folder: Path) -> "NameTable":
        """Return a written table, memory-mapped; IndexCorrupt if it cannot be read."""
        try:
            return cls({name: np.load(folder / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in _ARRAYS})
        except UNREADABLE_ARRAY as error:
            raise IndexCorrupt(f"{folder} cannot be read ({error}); delete it, and it is made again") from error

    def in_words(self, found: Sequence[Word]) -> list[int]:
        """Return the numbers of the names that consist of consecutive words of a text, ascending."""
        numbers: set[int] = set()
        said = {start: f" {word.key}" for start, word in enumerate(found)}
        length = 1
        while said:
            hashes = np.array([_hash(text) for text in said.values()], np.uint64)
            begun = self._contains("beginnings", hashes)
            numbers.update(self._numbers("wholes", hashes[begun]))
            said = {
                start: f"{text} {found[start + length].key}"
                for (start, text), more in zip(said.items(), begun.tolist(), strict=True)
                if more and start + length < len(found)
            }
            length += 1
        return sorted(numbers)

    def like(self, name: str) -> list[int]:
        """Return the numbers of the names that differ from one by case, underscores and form of letters, ascending.

        Others may be among them: compare the keys.
        """
        return sorted(self._numbers("keys", np.array([_hash(_loose_key(name))], np.uint64)))

    def _contains(self, name: str, hashes: Hashes) -> NDArray[np.bool_]:
        held = self._arrays[name]
        if not len(held):
            return np.zeros(len(hashes), np.bool_)
        places = np.minimum(np.searchsorted(held, hashes), len(held) - 1)
        found: NDArray[np.bool_] = held[places] == hashes
        return found

    def _numbers(self, name: str, hashes: Hashes) -> list[int]:
        held, numbers = self._arrays[name], self._arrays[f"numbers_of_{name}"]
        first, last = np.searchsorted(held, hashes, "left"), np.searchsorted(held, hashes, "right")
        return [int(number) for start, end in zip(first, last, strict=True) for number in numbers[start:end]]


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest())


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
