"""Lexical ranking: BM25 (Robertson & Zaragoza 2009, Lucene's variant) over the terms of `analysis`, stored by bm25s."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Vectors
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.text.analysis import PLAIN, Analysis
from conspectus.storage.text.names import words

if TYPE_CHECKING:
    import bm25s
    from scipy.sparse import csc_array


_VOCABULARY = "vocab.index.json"
_NO_WORDS = b"{}"
_ANALYSIS = "analysis.json"


def write_bm25(folder: Path, texts: Sequence[str], languages: Sequence[str], k1: float, b: float) -> None:
    """Write the BM25 index of texts into a folder; the same texts give the same bytes.

    Args:
        folder: The folder, which is created.
        texts: The texts; row i scores text i.
        languages: The language of each text, "" if unknown.
        k1: BM25's k1, the weight of repetitions.
        b: BM25's b, the weight of lengths.
    """
    folder.mkdir(parents=True, exist_ok=True)
    analysis = Analysis.of(texts, languages)
    (folder / _ANALYSIS).write_bytes(analysis.packed())
    ranker = _ranker_of(texts, analysis, k1, b)
    if ranker is None:
        (folder / _VOCABULARY).write_bytes(_NO_WORDS)
        return
    ranker.save(folder, show_progress=False)


def _library() -> Any:  # noqa: ANN401  (bm25s has no types)
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it sets DEBUG, whose lines go to the log of a host program
    return bm25s


def _ranker_of(texts: Sequence[str], analysis: Analysis, k1: float, b: float) -> "bm25s.BM25 | None":
    """Return the ranker over texts; None if no text has a word, because bm25s rejects an empty corpus."""
    bm25s = _library()
    bags = [analysis.terms(text, row) for row, text in enumerate(texts)]
    vocabulary = {word: i for i, word in enumerate(sorted({word for bag in bags for word in bag}))}
    if not vocabulary:
        return None
    ranker = bm25s.BM25(method="lucene", k1=k1, b=b)
    ranker.index(([[vocabulary[word] for word in bag] for bag in bags], vocabulary), show_progress=False)
    return ranker


class Bm25:
    """A lexical index over rows. Unknown words score 0."""

    def __init__(self, ranker: "bm25s.BM25 | None", n_rows: int, analysis: Analysis = PLAIN) -> None:
        self._n_rows = n_rows
        self._ranker = ranker
        self.analysis = analysis

    @classmethod
    def of(cls, texts: Sequence[str], languages: Sequence[str] | None, k1: float, b: float) -> "Bm25":
        """Return an in-memory index over texts (row i scores text i); without languages, words are not stemmed."""
        analysis = PLAIN if languages is None else Analysis.of(texts, languages)
        return cls(_ranker_of(texts, analysis, k1, b), len(texts), analysis)

    @classmethod
    def open(cls, folder: Path, n_rows: int) -> "Bm25":
        """Return a written index, memory-mapped; IndexCorrupt if the folder contains no index of that many rows."""
        bm25s = _library()
        try:
            # Indexes made before stemming was added have no analysis.
            described = folder / _ANALYSIS
            analysis = Analysis.unpacked(described.read_bytes()) if described.exists() else PLAIN
            if (folder / _VOCABULARY).read_bytes() == _NO_WORDS:
                return cls(None, n_rows, analysis)
            ranker = bm25s.BM25.load(folder, mmap=True, show_progress=False)
        except (*UNREADABLE_ARRAY, AttributeError) as error:
            raise IndexCorrupt(f"{folder} is not a BM25 index: {error}") from error
        _check(ranker, folder, n_rows)
        if analysis.languages is not None and len(analysis.languages) != n_rows:
            raise IndexCorrupt(f"{folder} is not a BM25 index: {_ANALYSIS} is not of its rows")
        return cls(ranker, n_rows, analysis)

    def scores(self, text: str, language: str = "") -> Vectors:
        """Return the score of every row for the words of `text`; zeros if none is known.

        Args:
            text: A question, or some of its words.
            language: The language of the question; "" for that of most rows.
        """
        if self._ranker is None:
            return np.zeros(self._n_rows, np.float32)
        known = self._ranker.vocab_dict
        ids = [known[term] for term in self.analysis.asked(words(text), language, known)]
        if not ids:
            return np.zeros(self._n_rows, np.float32)
        return np.asarray(self._ranker.get_scores_from_ids(ids), np.float32)

    @property
    def vocabulary(self) -> dict[str, int]:
        """The column of each known term."""
        return {} if self._ranker is None else self._ranker.vocab_dict

    def weights(self) -> "csc_array":
        """Return the weight of each term in each row, (rows, terms): its contribution to the row's score."""
        from scipy.sparse import csc_array

        if self._ranker is None:
            return csc_array((self._n_rows, 0), dtype=np.float32)
        data, rows, starts = (np.asarray(self._ranker.scores[name]) for name in ("data", "indices", "indptr"))
        return csc_array((data, rows, starts), shape=(self._n_rows, len(starts) - 1))

    def term(self, key: str, language: str = "") -> str:
        """Return the term that matches a question's word, given by its key."""
        return self.analysis.term(key, language, self.vocabulary)

    def rows_with(self, columns: Sequence[int]) -> Ints:
        """Return the rows that contain any of the terms of these columns, ascending."""
        if self._ranker is None or not columns:
            return np.zeros(0, np.int64)
        starts, rows = self._ranker.scores["indptr"], self._ranker.scores["indices"]
        return np.unique(np.concatenate([rows[starts[column] : starts[column + 1]] for column in columns])).astype(
            np.int64
        )

    def inverse_document_frequency(self, word: str) -> float:
        """Return log(1 + (n - df + 0.5) / (df + 0.5)) of a word's key; an unknown word has df 0."""
        column = self.vocabulary.get(self.term(word))
        frequency = 0 if column is None else len(self.rows_with([column]))
        return float(np.log1p((self._n_rows - frequency + 0.5) / (frequency + 0.5)))


def _check(ranker: "bm25s.BM25", folder: Path, n_rows: int) -> None:
    """Raise IndexCorrupt unless every word has a column, and every column refers to existing rows."""
    if (ranker.dtype, ranker.int_dtype, ranker.backend) != ("float32", "int32", "numpy"):
        raise IndexCorrupt(f"{folder} is not a BM25 index written by Conspectus")
    found = ranker.scores["num_docs"]
    if found != n_rows:
        raise IndexCorrupt(f"{folder} ranks {found} rows; the table has {n_rows}")
    data, rows, starts = (np.asarray(ranker.scores[name]) for name in ("data", "indices", "indptr"))
    whole = data.ndim == rows.ndim == starts.ndim == 1 and len(data) == len(rows) and len(starts) > 0
    kinds = whole and data.dtype.kind == "f" and rows.dtype.kind in "iu" and starts.dtype.kind in "iu"
    rising = kinds and starts[0] == 0 and starts[-1] == len(rows) and not (starts[1:] < starts[:-1]).any()
    within = rising and (len(rows) == 0 or (rows.min() >= 0 and rows.max() < n_rows))
    columns = [column for word, column in ranker.vocab_dict.items() if word]  # bm25s adds an empty word
    if not within or not all(type(item) is int and 0 <= item < len(starts) - 1 for item in columns):
        raise IndexCorrupt(f"{folder} is not a BM25 index: its arrays do not fit one another")
