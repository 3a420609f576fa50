"""How often each term occurs in each text, as arrays: what BM25 is computed from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import UNREADABLE_ARRAY, Floats, Ints, Rows, SmallInts, Vectors, gather, runs
from conspectus.storage.errors import IndexCorrupt
from numpy.typing import DTypeLike, NDArray

K1, B = 1.2, 0.75  # BM25's saturation of counts and normalisation by length: those of Lucene
_ARRAYS = ("starts", "columns", "counts")
_TEXTS_AT_ONCE = 1024
_ENTRIES_AT_ONCE = 1 << 20


def _in_memory(_name: str, dtype: DTypeLike, length: int) -> NDArray[Any]:
    return np.empty(length, dtype)


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """The terms of n texts: those of text i are `columns[starts[i]:starts[i + 1]]`, each with its count beside it.

    Attributes:
        starts: int64 (n + 1,).
        columns: int32 (e,) the column of each term.
        counts: int32 (e,) how often the text has it.
    """

    NAME = "term-counts"
    FORM = 1
    """Raised when the content of the files changes."""

    starts: Ints
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(
        cls, bags: Iterable[Sequence[str]], vocabulary: Mapping[str, int], folder: Path | None = None
    ) -> "TermCounts":
        """Return the counts of bags of terms.

        Args:
            bags: the terms of each text.
            vocabulary: the column of each term.
            folder: a folder on whose disk the counts are, in unnamed files; None for memory.

        >>> TermCounts.of([["a", "b", "a"], []], {"a": 0, "b": 1})
        TermCounts(starts=array([0, 2, 2]), columns=array([0, 1], dtype=int32), counts=array([2, 1], dtype=int32))
        """
        sizes = [np.zeros(1, np.int64)]
        parts = AppendedArray(folder), AppendedArray(folder)
        bags = iter(bags)
        while block := list(islice(bags, _TEXTS_AT_ONCE)):
            texts = np.repeat(np.arange(len(block)), [len(bag) for bag in block])
            columns = np.fromiter(map(vocabulary.__getitem__, chain.from_iterable(block)), np.int64, len(texts))
            distinct, counts = np.unique(texts << 32 | columns, return_counts=True)
            sizes.append(np.bincount(distinct >> 32, minlength=len(block)))
            for part, array in zip(parts, (distinct & 0xFFFFFFFF, counts), strict=True):
                part.append(array)
        return cls(np.cumsum(np.concatenate(sizes)), *(part.array() for part in parts))

    def write(self, place: Path) -> None:
        """Write the counts into a new folder."""
        place.mkdir()
        for name in _ARRAYS:
            np.save(place / f"{name}.npy", getattr(self, name))

    @classmethod
    def open(cls, place: Path) -> "TermCounts":
        """Return written counts, memory-mapped; IndexCorrupt if they cannot be read."""
        try:
            return cls(*(np.load(place / f"{name}.npy", mmap_mode="r").view(np.ndarray) for name in _ARRAYS))
        except UNREADABLE_ARRAY as error:
            raise IndexCorrupt(f"{place} cannot be read ({error}); delete it, and it is made again") from error

    @property
    def n_texts(self) -> int:
        """The number of texts."""
        return len(self.starts) - 1

    def of_rows(self, rows: Rows) -> "TermCounts":
        """Return the counts of some texts."""
        sizes, entries = gather(self.starts, rows)
        return TermCounts(np.append(0, np.cumsum(sizes)), self.columns[entries], self.counts[entries])

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give column i the number `numbers[i]`, in place."""
        for _, entries, _ in self._blocks():
            self.columns[entries] = numbers[self.columns[entries]]

    def renumbered(self, columns: NDArray[np.int32], numbers: NDArray[np.int32]) -> "TermCounts":
        """Return the counts with other numbers for all their columns, which ascend."""
        return TermCounts(self.starts, numbers[np.searchsorted(columns, self.columns)], self.counts)

    def followed_by(self, other: "TermCounts") -> "TermCounts":
        """Return the counts of these texts and after them of others."""
        starts = np.append(self.starts, self.starts[-1] + other.starts[1:])
        columns, counts = (self.columns, other.columns), (self.counts, other.counts)
        return TermCounts(starts, np.concatenate(columns), np.concatenate(counts))

    def weights(
        self, n_terms: int, make: Callable[[str, DTypeLike, int], NDArray[Any]] = _in_memory
    ) -> tuple[Vectors, NDArray[np.int32], Ints]:
        """Return BM25's contributions of terms to scores: (data (e,), rows (e,), starts (n_terms + 1,)).

        Args:
            n_terms: the number of columns.
            make: returns an array to fill, "data" or "indices", given its name, type and length.

        Lucene's variant: idf tf / (k1 (1 - b + b length / mean length) + tf), idf = log(1 + (n - df + .5) / (df + .5)).
        """
        n_entries, found, shift = len(self.columns), np.zeros(n_terms, np.int64), self.shift()
        for _, entries, _ in self._blocks():
            found += np.bincount(self.columns[entries], minlength=n_terms)
        idf = self._inverse_document_frequency(found)
        data, of_rows = make("data", np.float32, n_entries), make("indices", np.int32, n_entries)
        starts = np.append(0, np.cumsum(found))
        free = starts[:-1].copy()
        for texts, entries, rows in self._blocks():
            columns = self.columns[entries]
            order, first = runs(columns)
            columns, rows, counts = columns[order], rows[order] + texts.start, self.counts[entries][order]
            sizes = np.diff(first, append=len(columns))
            places = np.repeat(free[columns[first]] - first, sizes) + np.arange(len(columns))
            free[columns[first]] += sizes
            data[places] = idf[columns] * (counts / (shift[rows] + counts))
            of_rows[places] = rows
        return data, of_rows, starts

    def weights_of(self, column: int, rows: SmallInts, shift: Floats) -> Vectors:
        """Return the contribution of one term to the score of each text that has it, as `weights` does.

        Args:
            column: its column.
            rows: (k,) the texts, ascending.
            shift: (n_texts,) see `shift`.
        """
        entries = gather(self.starts, rows.astype(np.int64))[1]
        counts = self.counts[entries[self.columns[entries] == column]]
        idf = self._inverse_document_frequency(np.array([len(rows)]))
        weights: Vectors = (idf * (counts / (shift[rows] + counts))).astype(np.float32)
        return weights

    def shift(self) -> Floats:
        """Return what BM25 adds to a term's count in the denominator, by the length of the text, (n_texts,)."""
        lengths = np.zeros(self.n_texts)
        for texts, entries, rows in self._blocks():
            lengths[texts] = np.bincount(rows, self.counts[entries], texts.stop - texts.start)
        found: Floats = K1 * ((1 - B) + B * lengths / lengths.mean())
        return found

    def _inverse_document_frequency(self, found: Ints) -> Vectors:
        """Return the weight of terms that so many texts have."""
        weights: Vectors = np.log(1 + (self.n_texts - found + 0.5) / (found + 0.5)).astype(np.float32)
        return weights

    def _blocks(self) -> Iterator[tuple[slice, slice, Ints]]:
        """Yield some texts after the others: (texts, their entries, the number of the text of each entry)."""
        first = 0
        while first < self.n_texts:
            last = int(np.searchsorted(self.starts, self.starts[first] + _ENTRIES_AT_ONCE, "right")) - 1
            last = min(max(last, first + 1), self.n_texts)
            sizes = np.diff(self.starts[first : last + 1])
            entries = slice(int(self.starts[first]), int(self.starts[last]))
            yield slice(first, last), entries, np.repeat(np.arange(last - first), sizes)
            first = last
