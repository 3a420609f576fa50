"""How often each term occurs in each text, as arrays: what BM25 is computed from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import Ints, Vectors, runs
from numpy.typing import DTypeLike, NDArray

K1, B = 1.2, 0.75  # BM25's saturation of counts and normalisation by length: those of Lucene
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

    @property
    def n_texts(self) -> int:
        """The number of texts."""
        return len(self.starts) - 1

    def renumber(self, numbers: NDArray[np.int32]) -> None:
        """Give column i the number `numbers[i]`, in place."""
        for _, entries, _ in self._blocks():
            self.columns[entries] = numbers[self.columns[entries]]

    def weights(
        self, n_terms: int, make: Callable[[str, DTypeLike, int], NDArray[Any]] = _in_memory
    ) -> tuple[Vectors, NDArray[np.int32], Ints]:
        """Return BM25's contributions of terms to scores: (data (e,), rows (e,), starts (n_terms + 1,)).

        Args:
            n_terms: the number of columns.
            make: returns an array to fill, "data" or "indices", given its name, type and length.

        Lucene's variant: idf tf / (k1 (1 - b + b length / mean length) + tf), idf = log(1 + (n - df + .5) / (df + .5)).
        """
        n_entries, found, lengths = len(self.columns), np.zeros(n_terms, np.int64), np.zeros(self.n_texts)
        for texts, entries, rows in self._blocks():
            found += np.bincount(self.columns[entries], minlength=n_terms)
            lengths[texts] = np.bincount(rows, self.counts[entries], texts.stop - texts.start)
        shift = K1 * ((1 - B) + B * lengths / lengths.mean())
        idf = np.log(1 + (self.n_texts - found + 0.5) / (found + 0.5)).astype(np.float32)
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
