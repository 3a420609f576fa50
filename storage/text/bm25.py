"""Lexical ranking: BM25 (Robertson & Zaragoza 2009, Lucene's variant) over the terms of `analysis`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from conspectus.storage.appended_array import AppendedArray
from conspectus.storage.arrays import UNREADABLE_ARRAY, Ints, Rows, SmallInts, Vectors, distinct, runs
from conspectus.storage.cancellation import check
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.mapped import IdRows
from conspectus.storage.numbering import numbering
from conspectus.storage.text.analysis import Analysis
from conspectus.storage.text.names import words
from conspectus.storage.text.postings import TextColumn
from numpy.typing import DTypeLike, NDArray

if TYPE_CHECKING:
    from scipy.sparse import csc_array


_ANALYSIS, _TERMS = "analysis.json", "terms.arrow"
"""The files of the analysis, and of the terms in the order of their columns, which is alphabetical."""


def write_bm25(folder: Path, texts: Sequence[str], languages: Sequence[str]) -> None:
    """Write the BM25 index of texts into a folder; the same texts give the same bytes.

    Few texts and terms are in memory at a time.

    Args:
        folder: The folder, which is created.
        texts: The texts; row i scores text i.
        languages: The language of each text, "" if unknown.
    """
    import pyarrow as pa

    folder.mkdir(parents=True, exist_ok=True)
    analysis = Analysis.of(texts, languages)
    (folder / _ANALYSIS).write_bytes(analysis.packed())
    numbers = numbering()
    counts = TermCounts.of((analysis.terms(text, row) for row, text in enumerate(texts)), numbers, folder)
    vocabulary = _numbered(numbers)
    counts.renumber(np.array([vocabulary[term] for term in numbers], np.int32))
    terms = pa.record_batch({"term": pa.array(vocabulary, pa.large_string(), size=len(vocabulary))})
    with pa.ipc.new_file(str(folder / _TERMS), terms.schema) as stream:
        stream.write_batch(terms)
    if not vocabulary:
        return

    def mapped(name: str, dtype: DTypeLike, length: int) -> NDArray[Any]:
        return np.lib.format.open_memmap(_array_of(folder, name), "w+", dtype, (length,))

    _, _, starts = counts.weights(len(vocabulary), mapped)
    np.save(_array_of(folder, "indptr"), starts)


def _array_of(folder: Path, name: str) -> Path:
    return folder / f"{name}.csc.index.npy"


def _numbered(terms: Iterable[str]) -> dict[str, int]:
    return {term: column for column, term in enumerate(sorted(set(terms)))}


class _Postings(NamedTuple):
    """The contributions of terms to scores: column i has `data[indptr[i]:indptr[i + 1]]` in the rows beside them."""

    data: Vectors
    indices: NDArray[np.int32]
    indptr: Ints


class Bm25:
    """A lexical index over rows. Unknown words score 0."""

    def __init__(
        self, postings: _Postings | None, vocabulary: "IdRows | _PartOfVocabulary", n_rows: int, analysis: Analysis
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
        return cls(postings, IdRows(list(vocabulary)), len(texts), analysis)

    def part(self, rows: Rows) -> "Bm25":
        """Return the index over some rows, ascending, with the statistics of all.

        It knows only terms that one of these rows has.
        """
        return _PartOfBm25(self, rows)

    @classmethod
    def open(cls, folder: Path, n_rows: int) -> "Bm25":
        """Return a written index, memory-mapped; IndexCorrupt if the folder contains no index of that many rows.

        Rows are checked when they are used.
        """
        import pyarrow as pa

        try:
            analysis = Analysis.unpacked((folder / _ANALYSIS).read_bytes())
            batch = pa.ipc.open_file(pa.memory_map(str(folder / _TERMS))).get_batch(0)
            batch.validate(full=True)  # texts are UTF-8 and offsets are valid: not checked later
            terms = batch.column("term")
            arrays = [np.load(_array_of(folder, name), mmap_mode="r") for name in _Postings._fields if len(terms)]
        except (*UNREADABLE_ARRAY, pa.ArrowException) as error:
            raise IndexCorrupt(f"{folder} is not a BM25 index: {error}") from error
        if len(analysis.languages) != n_rows:
            raise IndexCorrupt(f"{folder} ranks {len(analysis.languages)} rows; the table has {n_rows}")
        postings = _Postings(*(array.view(np.ndarray) for array in arrays)) if arrays else None
        if postings:
            _check(postings, folder)
        return cls(postings, IdRows(TextColumn(lambda: terms)), n_rows, analysis)

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
        return self.vocabulary.starting(prefix)

    def weights(self) -> "csc_array":
        """Return the weight of each term in each row, (rows, terms): its contribution to the row's score."""
        from scipy.sparse import csc_array

        if self._postings is None:
            return csc_array((self._n_rows, 0), dtype=np.float32)
        self.check_rows()
        return csc_array(self._postings, shape=(self._n_rows, len(self._postings.indptr) - 1))

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
            _check_range(self._postings.indices, self._n_rows)
            for column in range(len(self.vocabulary)):
                self._column(column)

    def _column(self, column: int) -> tuple[Vectors, NDArray[np.int32]]:
        """Return the contributions of a term, and the rows to which it contributes."""
        if self._postings is None or type(column) is not int or not 0 <= column < len(self._postings.indptr) - 1:
            raise IndexCorrupt("the BM25 index is damaged: a word has no column; build the index again")
        start, end = self._postings.indptr[column : column + 2].tolist()
        rows = self._postings.indices[start:end]
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


_CACHED_TERMS = 10_000


class _PartOfVocabulary(Mapping[str, int]):
    """The columns of the terms that some texts have, from the vocabulary of more."""

    def __init__(self, whole: IdRows | Self, is_used: Callable[[int], bool]) -> None:
        self._whole = whole
        self._is_used = is_used

    def starting(self, prefix: str) -> list[str]:
        """Return the terms that begin with a prefix."""
        return [term for term in self._whole.starting(prefix) if term in self]

    def __getitem__(self, term: str) -> int:
        if not self._is_used(column := self._whole[term]):
            raise KeyError(term)
        return column

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[str]:
        return (term for term in self._whole if term in self)


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
