"""Lexical ranking: BM25 (Robertson & Zaragoza 2009, Lucene's variant) over our own words, stored by bm25s."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Vectors
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    import bm25s


_VOCABULARY = "vocab.index.json"
_NO_WORDS = b"{}"


def write_bm25(folder: Path, texts: Sequence[str], k1: float, b: float) -> None:
    """Write the BM25 index of texts (row i scores text i) into a folder; the same texts give the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    ranker = _ranker_of(texts, k1, b)
    if ranker is None:
        (folder / _VOCABULARY).write_bytes(_NO_WORDS)
        return
    ranker.save(folder, show_progress=False)


def _ranker_of(texts: Sequence[str], k1: float, b: float) -> "bm25s.BM25 | None":
    """Return the ranker over texts; None where no text has a word, for bm25s takes no empty corpus."""
    import bm25s

    bags = [[word.key for word in words(text)] for text in texts]
    vocabulary = {word: i for i, word in enumerate(sorted({word for bag in bags for word in bag}))}
    if not vocabulary:
        return None
    ranker = bm25s.BM25(method="lucene", k1=k1, b=b)
    ranker.index(([[vocabulary[word] for word in bag] for bag in bags], vocabulary), show_progress=False)
    return ranker


class Bm25:
    """A lexical index over rows. Words that it does not know score nothing."""

    def __init__(self, ranker: "bm25s.BM25 | None", n_rows: int) -> None:
        self._n_rows = n_rows
        self._ranker = ranker

    @classmethod
    def of(cls, texts: Sequence[str], k1: float, b: float) -> "Bm25":
        """Return the index over texts (row i scores text i), held in memory."""
        return cls(_ranker_of(texts, k1, b), len(texts))

    @classmethod
    def open(cls, folder: Path, n_rows: int) -> "Bm25":
        """Return a written index, memory-mapped; IndexCorrupt where the folder holds none of that many rows."""
        import bm25s

        try:
            if (folder / _VOCABULARY).read_bytes() == _NO_WORDS:
                return cls(None, n_rows)
            ranker = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        except (*UNREADABLE_ARRAY, AttributeError) as error:
            raise IndexCorrupt(f"{folder} is no BM25 index: {error}") from error
        _check(ranker, folder, n_rows)
        return cls(ranker, n_rows)

    def scores(self, text: str) -> Vectors:
        """Return the score of every row for the words of `text`; zeros where none is known."""
        if self._ranker is None:
            return np.zeros(self._n_rows, np.float32)
        ids = [self._ranker.vocab_dict[word.key] for word in words(text) if word.key in self._ranker.vocab_dict]
        if not ids:
            return np.zeros(self._n_rows, np.float32)
        return np.asarray(self._ranker.get_scores_from_ids(ids), np.float32)

    @property
    def vocabulary(self) -> dict[str, int]:
        """The column of each known word."""
        return {} if self._ranker is None else self._ranker.vocab_dict

    def rows_with(self, columns: Sequence[int]) -> Ints:
        """Return the rows that hold any of the words of these columns, ascending."""
        if self._ranker is None or not columns:
            return np.zeros(0, np.int64)
        starts, rows = self._ranker.scores["indptr"], self._ranker.scores["indices"]
        return np.unique(np.concatenate([rows[starts[column] : starts[column + 1]] for column in columns])).astype(
            np.int64
        )

    def inverse_document_frequency(self, word: str) -> float:
        """Return log(1 + (n - df + 0.5) / (df + 0.5)) of a word's key; an unknown word has df 0."""
        column = self.vocabulary.get(word)
        frequency = 0 if column is None else len(self.rows_with([column]))
        return float(np.log1p((self._n_rows - frequency + 0.5) / (frequency + 0.5)))


def _check(ranker: "bm25s.BM25", folder: Path, n_rows: int) -> None:
    """Raise IndexCorrupt unless every word has a column, and every column leads to rows that there are."""
    if (ranker.dtype, ranker.int_dtype, ranker.backend) != ("float32", "int32", "numpy"):
        raise IndexCorrupt(f"{folder} is no BM25 index that Conspectus writes")
    found = ranker.scores["num_docs"]
    if found != n_rows:
        raise IndexCorrupt(f"{folder} ranks {found} rows; the table has {n_rows}")
    data, rows, starts = (np.asarray(ranker.scores[name]) for name in ("data", "indices", "indptr"))
    whole = data.ndim == rows.ndim == starts.ndim == 1 and len(data) == len(rows) and len(starts) > 0
    kinds = whole and data.dtype.kind == "f" and rows.dtype.kind in "iu" and starts.dtype.kind in "iu"
    rising = kinds and starts[0] == 0 and starts[-1] == len(rows) and not (starts[1:] < starts[:-1]).any()
    within = rising and (len(rows) == 0 or (rows.min() >= 0 and rows.max() < n_rows))
    columns = [column for word, column in ranker.vocab_dict.items() if word]  # bm25s adds an empty one
    if not within or not all(type(item) is int and 0 <= item < len(starts) - 1 for item in columns):
        raise IndexCorrupt(f"{folder} is no BM25 index: its arrays do not fit one another")
