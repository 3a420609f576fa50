"""Lexical ranking: BM25 (Robertson & Zaragoza 2009, Lucene's variant) over our own words, kept by bm25s."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from storage.errors import IndexCorrupt
from storage.text.names import words

Scores = npt.NDArray[np.float32]

_VOCABULARY = "vocab.index.json"
_NO_WORDS = b"{}"


def write_bm25(folder: Path, texts: Sequence[str], k1: float, b: float) -> None:
    """Write the BM25 index of texts (row i scores text i) into a folder; the same texts give the same bytes."""
    import bm25s

    folder.mkdir(parents=True, exist_ok=True)
    bags = [[word.key for word in words(text)] for text in texts]
    vocabulary = {word: i for i, word in enumerate(sorted({word for bag in bags for word in bag}))}
    if not vocabulary:
        (folder / _VOCABULARY).write_bytes(_NO_WORDS)  # bm25s takes no empty corpus
        return
    ranker = bm25s.BM25(method="lucene", k1=k1, b=b)
    ranker.index(([[vocabulary[word] for word in bag] for bag in bags], vocabulary), show_progress=False)
    ranker.save(folder, show_progress=False)


class Bm25:
    """A written BM25 index, memory-mapped. Words that it does not know score nothing.

    Raises IndexCorrupt where the folder holds none, or one of another number of rows.
    """

    def __init__(self, folder: Path, n_rows: int) -> None:
        import bm25s

        self._n_rows = n_rows
        self._ranker = None
        try:
            if (folder / _VOCABULARY).read_bytes() == _NO_WORDS:
                return
            self._ranker = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        except (OSError, ValueError, KeyError, TypeError, EOFError) as error:
            raise IndexCorrupt(f"{folder} is no BM25 index: {error}") from error
        found = self._ranker.scores["num_docs"]
        if found != n_rows:
            raise IndexCorrupt(f"{folder} ranks {found} rows; the table has {n_rows}")

    def scores(self, text: str) -> Scores:
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

    def rows_with(self, columns: Sequence[int]) -> npt.NDArray[np.int64]:
        """Return the rows that hold any of the words of these columns, ascending."""
        if self._ranker is None or not columns:
            return np.zeros(0, np.int64)
        starts, rows = self._ranker.scores["indptr"], self._ranker.scores["indices"]
        return np.unique(np.concatenate([rows[starts[each] : starts[each + 1]] for each in columns])).astype(np.int64)

    def inverse_document_frequency(self, word: str) -> float:
        """Return log(1 + (n - df + 0.5) / (df + 0.5)) of a word's key; an unknown word has df 0."""
        column = self.vocabulary.get(word)
        frequency = 0 if column is None else len(self.rows_with([column]))
        return float(np.log1p((self._n_rows - frequency + 0.5) / (frequency + 0.5)))
