"""Lexical ranking: BM25 (Robertson & Zaragoza 2009, Lucene's variant) over the terms of `analysis`, in bm25s files."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Rows, SmallInts, Vectors, distinct
from conspectus.storage.cancellation import check
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.mapped import IdRows
from conspectus.storage.numbering import numbering
from conspectus.storage.text.analysis import Analysis
from conspectus.storage.text.names import words
from conspectus.storage.text.postings import TextColumn
from conspectus.storage.text.term_counts import K1, B, TermCounts
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array


_VOCABULARY = "vocab.index.json"
_PARAMETERS = "params.index.json"
_METHOD = {"delta": 0.5, "method": "lucene", "idf_method": "lucene", "dtype": "float32", "int_dtype": "int32"}
"""Of the format: delta is not used by this method."""
_NO_WORDS = b"{}"
_ANALYSIS = "analysis.json"


def write_bm25(folder: Path, texts: Sequence[str], languages: Sequence[str]) -> None:
    """Write the BM25 index of texts into a folder, in the format of bm25s; the same texts give the same bytes.

    Few texts and terms are in memory at a time.

    Args:
        folder: The folder, which is created.
        texts: The texts; row i scores text i.
        languages: The language of each text, "" if unknown.
    """
    folder.mkdir(parents=True, exist_ok=True)
    analysis = Analysis.of(texts, languages)
    (folder / _ANALYSIS).write_bytes(analysis.packed())
    numbers = numbering()
    counts = TermCounts.of((analysis.terms(text, row) for row, text in enumerate(texts)), numbers, folder)
    vocabulary = _numbered(numbers)
    counts.renumber(np.array([vocabulary[term] for term in numbers], np.int32))
    if not vocabulary:
        (folder / _VOCABULARY).write_bytes(_NO_WORDS)
        return

    def mapped(name: str, dtype: DTypeLike, length: int) -> NDArray[Any]:
        return np.lib.format.open_memmap(_array_of(folder, name), "w+", dtype, (length,))

    _, _, starts = counts.weights(len(vocabulary), mapped)
    np.save(_array_of(folder, "indptr"), starts)
    vocabulary[""] = len(vocabulary)  # as bm25s does
    (folder / _VOCABULARY).write_text(json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":")), "utf-8")
    parameters = {"k1": K1, "b": B, **_METHOD, "num_docs": len(texts), "version": "0.3.16", "backend": "numpy"}
    (folder / _PARAMETERS).write_text(json.dumps(parameters, indent=4), "utf-8")


def _array_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.csc.index.npy"


def _numbered(terms: Iterable[str]) -> dict[str, int]:
    return {term: column for column, term in enumerate(sorted(set(terms)))}


class _Postings(NamedTuple):
    """The contributions of terms to scores: column i has `data[starts[i]:starts[i + 1]]` in the rows beside them."""

    data: Vectors
    rows: NDArray[np.int32]
    starts: Ints


class Bm25:
    """A lexical index over rows. Unknown words score 0."""

    def __init__(
        self, postings: _Postings | None, vocabulary: Mapping[str, int], n_rows: int, analysis: Analysis
    ) -> None:
        self._n_rows = n_rows
        self._postings = postings
        self.vocabulary = vocabulary
        """The column of each known term."""
        self.analysis = analysis

    @classmethod
    def of(cls, texts: Sequence[str], languages: Sequence[str]) -> "Bm25":
        """Return an in-memory index over texts (row i scores text i) in some languages, "" if unknown."""
        analysis = Analysis.of(texts, languages)
        bags = [analysis.terms(text, row) for row, text in enumerate(texts)]
        vocabulary = _numbered(term for bag in bags for term in bag)
        counts = TermCounts.of(bags, vocabulary)
        postings = _Postings(*counts.weights(len(vocabulary))) if vocabulary else None
        return cls(postings, vocabulary, len(texts), analysis)

    def part(self, rows: Rows) -> "Bm25":
        """Return the index over some rows, ascending, with the statistics of all.

        It knows only terms that one of these rows has.
        """
        return _PartOfBm25(self, rows)

    @classmethod
    def open(cls, folder: Path, n_rows: int, vocabulary: Mapping[str, int] | None = None) -> "Bm25":
        """Return a written index, memory-mapped; IndexCorrupt if the folder contains no index of that many rows.

        Rows are checked when they are used. `vocabulary` is the folder's, if it is mapped (`open_terms`).
        """
        try:
            analysis = Analysis.unpacked((folder / _ANALYSIS).read_bytes())
            if not (known := _read_vocabulary(folder) if vocabulary is None else vocabulary):
                return cls(None, {}, n_rows, analysis)
            found = json.loads((folder / _PARAMETERS).read_bytes())
            written = tuple(found[name] for name in ("dtype", "int_dtype", "backend", "num_docs"))
            arrays = (np.load(_array_of(folder, name), mmap_mode="r") for name in ("data", "indices", "indptr"))
            postings = _Postings(*(array.view(np.ndarray) for array in arrays))
        except (*UNREADABLE_ARRAY, AttributeError) as error:
            raise IndexCorrupt(f"{folder} is not a BM25 index: {error}") from error
        if written[:3] != ("float32", "int32", "numpy"):
            raise IndexCorrupt(f"{folder} is not a BM25 index written by Conspectus")
        if written[3] != n_rows:
            raise IndexCorrupt(f"{folder} ranks {written[3]} rows; the table has {n_rows}")
        _check(postings, folder)
        if len(analysis.languages) != n_rows:
            raise IndexCorrupt(f"{folder} is not a BM25 index: {_ANALYSIS} is not of its rows")
        return cls(postings, known, n_rows, analysis)

    def scores(self, text: str, language: str = "") -> Vectors:
        """Return the score of every row for the words of `text`; zeros if none is known.

        Args:
            text: A question, or some of its words.
            language: The language of the question; "" for that of most rows.
        """
        scores: Vectors = np.zeros(self._n_rows, np.float32)
        for term in self.analysis.asked(words(text), language, self.vocabulary):
            check()
            data, rows = self._column(self.vocabulary[term])
            scores[rows] += data  # a row occurs once in a column
        return scores

    def starting(self, prefix: str) -> Sequence[str]:
        """Return the known terms that begin with a prefix."""
        return _starting(self.vocabulary, prefix)

    def weights(self) -> "csc_array":
        """Return the weight of each term in each row, (rows, terms): its contribution to the row's score."""
        from scipy.sparse import csc_array

        if self._postings is None:
            return csc_array((self._n_rows, 0), dtype=np.float32)
        self.check_rows()
        return csc_array(self._postings, shape=(self._n_rows, len(self._postings.starts) - 1))

    def term(self, key: str, language: str = "") -> str:
        """Return the term that matches a question's word, given by its key."""
        return self.analysis.term(key, language, self.vocabulary)

    def rows_with(self, term: str) -> SmallInts:
        """Return the rows that contain a term, ascending; none for an unknown one."""
        if term not in self.vocabulary:
            return np.zeros(0, np.int32)
        rows = self._column(self.vocabulary[term])[1]
        return rows if (rows[1:] > rows[:-1]).all() else distinct(rows)

    def inverse_document_frequency(self, word: str) -> float:
        """Return log(1 + (n - df + 0.5) / (df + 0.5)) of a word's key; an unknown word has df 0."""
        n_rows, frequency = self._statistics(self.vocabulary.get(self.term(word)))
        return float(np.log1p((n_rows - frequency + 0.5) / (frequency + 0.5)))

    def _statistics(self, column: int | None) -> tuple[int, int]:
        """Return the number of texts, and of those that have a term."""
        return self._n_rows, 0 if column is None else len(self._column(column)[1])

    def check_rows(self) -> None:
        """Raise IndexCorrupt unless all postings are of rows that exist and each known term has postings."""
        if self._postings is not None:
            _check_range(self._postings.rows, self._n_rows)
            for term, column in self.vocabulary.items():
                if term:  # bm25s adds an empty word
                    self._column(column)

    def _column(self, column: int) -> tuple[Vectors, NDArray[np.int32]]:
        """Return the contributions of a term, and the rows to which it contributes."""
        if self._postings is None or type(column) is not int or not 0 <= column < len(self._postings.starts) - 1:
            raise IndexCorrupt("the BM25 index is damaged: a word has no column; build the index again")
        start, end = self._postings.starts[column : column + 2].tolist()
        rows = self._postings.rows[start:end]
        _check_range(rows, self._n_rows)
        return self._postings.data[start:end], rows


class _PartOfBm25(Bm25):
    """Some rows of a lexical index, ascending, with the statistics of all and the same numbers of columns."""

    def __init__(self, whole: Bm25, rows: Rows) -> None:
        self._whole, self._rows = whole, rows
        place_of = np.full(whole._n_rows, -1, np.int32)
        place_of[rows] = np.arange(len(rows))

        def of_part(column: int) -> tuple[Vectors, NDArray[np.int32]]:
            data, found = whole._column(column)
            places = place_of[found]
            return data[places >= 0], places[places >= 0]

        self._of_part = of_part = lru_cache(_CACHED_TERMS)(of_part)
        vocabulary = _PartOfVocabulary(whole.vocabulary, lambda column: len(of_part(column)[1]) > 0)
        super().__init__(None, vocabulary, len(rows), whole.analysis.of_rows(rows))

    def weights(self) -> "csc_array":
        return self._whole.weights()[self._rows]

    def _statistics(self, column: int | None) -> tuple[int, int]:
        return self._whole._statistics(column)

    def _column(self, column: int) -> tuple[Vectors, NDArray[np.int32]]:
        return self._of_part(column)


def _check_range(rows: NDArray[np.int32], n_rows: int) -> None:
    if len(rows) and (rows.min() < 0 or rows.max() >= n_rows):
        raise IndexCorrupt(f"the BM25 index is damaged: it has a row outside 0 .. {n_rows - 1}; build the index again")


def _check(postings: _Postings, folder: Path) -> None:
    """Raise IndexCorrupt unless the arrays fit one another."""
    data, rows, starts = postings
    whole = data.ndim == rows.ndim == starts.ndim == 1 and len(data) == len(rows) and len(starts) > 0
    kinds = whole and data.dtype.kind == "f" and rows.dtype.kind in "iu" and starts.dtype.kind in "iu"
    if not kinds or starts[0] != 0 or starts[-1] != len(rows) or (starts[1:] < starts[:-1]).any():
        raise IndexCorrupt(f"{folder} is not a BM25 index: its arrays do not fit one another")


def _read_vocabulary(folder: Path) -> dict[str, int]:
    found = json.loads((folder / _VOCABULARY).read_bytes())
    if not isinstance(found, dict):
        raise ValueError(f"{_VOCABULARY} has no words")
    return found


TERMS_FORM = 2
"""Raised when the content of the file of `write_terms` changes."""


def write_terms(folder: Path, place: Path) -> None:
    """Write the terms of the BM25 index of a folder, in the order of their columns, which is alphabetical.

    Raises:
        IndexCorrupt: the vocabulary cannot be read, or its columns are in another order.
    """
    import pyarrow as pa

    place.mkdir()
    try:
        columns = _read_vocabulary(folder)
        columns.pop("", None)  # bm25s adds an empty word
        if list(columns.values()) != list(range(len(columns))) or sorted(columns) != list(columns):
            raise ValueError("its columns are not in alphabetical order")
        batch = pa.record_batch({"term": pa.array(columns, pa.large_string(), size=len(columns))})
    except (*UNREADABLE_ARRAY, pa.ArrowException) as error:
        raise IndexCorrupt(f"{folder} is not a BM25 index: {error}") from error
    with pa.ipc.new_file(str(place / "terms.arrow"), batch.schema) as stream:
        stream.write_batch(batch)


def open_terms(place: Path) -> IdRows:
    """Return the columns of written terms, mapped; IndexCorrupt if they cannot be read."""
    import pyarrow as pa

    try:
        terms = pa.ipc.open_file(pa.memory_map(str(place / "terms.arrow"))).get_batch(0).column("term")
        return IdRows(TextColumn(lambda: terms))
    except UNREADABLE_ARRAY as error:
        raise IndexCorrupt(f"{place} cannot be read ({error}); delete it, and it is made again") from error


_CACHED_TERMS = 10_000


class _PartOfVocabulary(Mapping[str, int]):
    """The columns of the terms that some texts have, from the vocabulary of more."""

    def __init__(self, whole: Mapping[str, int], is_used: Callable[[int], bool]) -> None:
        self._whole = whole
        self._is_used = is_used

    def starting(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix."""
        return [term for term in _starting(self._whole, prefix) if term in self]

    def __getitem__(self, term: str) -> int:
        if not term or not self._is_used(column := self._whole[term]):
            raise KeyError(term)
        return column

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        return (term for term in self._whole if term in self)


def _starting(vocabulary: Mapping[str, int], prefix: str) -> list[str]:
    if isinstance(vocabulary, IdRows | _PartOfVocabulary):
        return vocabulary.starting(prefix)
    return [term for term in vocabulary if term.startswith(prefix)]
