"""How often each term occurs in each text, as arrays: what BM25 is computed from."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Rows, Vectors, gather
from conspectus.storage.errors import IndexCorrupt
from numpy.typing import NDArray

_ARRAYS = ("starts", "columns", "counts")


@dataclass(frozen=True, slots=True, eq=False)
class TermCounts:
    """The terms of n texts: those of text i are `columns[starts[i]:starts[i + 1]]`, each with its count beside it.

    Attributes:
        starts: int64 (n + 1,).
        columns: int32 (e,) the column of each term.
        counts: int32 (e,) how often the text has it.
    """

    FORM = 1
    """Raised when the content of the files changes."""

    starts: Ints
    columns: NDArray[np.int32]
    counts: NDArray[np.int32]

    @classmethod
    def of(cls, bags: Iterable[Sequence[str]], vocabulary: Mapping[str, int]) -> "TermCounts":
        """Return the counts of bags of terms that have columns in a vocabulary.

        >>> TermCounts.of([["a", "b", "a"], []], {"a": 0, "b": 1})
        TermCounts(starts=array([0, 2, 2]), columns=array([0, 1], dtype=int32), counts=array([2, 1], dtype=int32))
        """
        sizes, columns, counts = [0], list[int](), list[int]()
        for bag in bags:
            found = Counter(bag)
            sizes.append(len(found))
            columns += [vocabulary[term] for term in found]
            counts += found.values()
        return cls(np.cumsum(sizes), np.array(columns, np.int32), np.array(counts, np.int32))

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

    def renumbered(self, columns: NDArray[np.int32], numbers: NDArray[np.int32]) -> "TermCounts":
        """Return the counts with other numbers for all their columns, which ascend."""
        return TermCounts(self.starts, numbers[np.searchsorted(columns, self.columns)], self.counts)

    def followed_by(self, other: "TermCounts") -> "TermCounts":
        """Return the counts of these texts and after them of others."""
        starts = np.append(self.starts, self.starts[-1] + other.starts[1:])
        columns, counts = (self.columns, other.columns), (self.counts, other.counts)
        return TermCounts(starts, np.concatenate(columns), np.concatenate(counts))

    def weights(self, n_terms: int, k1: float, b: float) -> tuple[Vectors, NDArray[np.int32], Ints]:
        """Return BM25's contributions of terms to scores: (data (e,), rows (e,), starts (n_terms + 1,)).

        Lucene's variant: idf tf / (k1 (1 - b + b length / mean length) + tf), idf = log(1 + (n - df + .5) / (df + .5)).
        """
        n_texts = self.n_texts
        rows = np.repeat(np.arange(n_texts, dtype=np.int32), np.diff(self.starts))
        lengths = np.bincount(rows, self.counts, n_texts)
        found = np.bincount(self.columns, minlength=n_terms)
        idf = np.log(1 + (n_texts - found + 0.5) / (found + 0.5)).astype(np.float32)
        order = np.argsort(self.columns, kind="stable")
        rows, columns, counts = rows[order], self.columns[order], self.counts[order]
        shift = k1 * ((1 - b) + b * lengths / lengths.mean())
        data = idf[columns] * (counts / (shift[rows] + counts))
        return data.astype(np.float32), rows, np.append(0, np.cumsum(found))
