"""Index the sentences of the corpus as tf-idf rows, the candidates of extractive descriptions and reports.

Everything is a column: a sentence is a document, a chunk and two offsets; its words are entries of a sparse matrix.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.appended_array import AppendedArray, append_each
from conspectus.storage.arrays import Bools, Floats, Ints, Rows, SmallInts, gather
from conspectus.storage.joins import Groups
from conspectus.storage.numbering import numbering
from conspectus.storage.records import Chunk, Document, Mention, Span
from conspectus.storage.spilled import array_of, documents_of_chunks, spill_folder, text_column
from conspectus.storage.tables import arrow_of, rows_among, rows_of_ids
from conspectus.storage.text.names import word_keys
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa

_MOST_CHARACTERS = 400
"""Tokens of a 'sentence' (a table, a list) that is too long to quote."""
_FEWEST_WORDS = 4
_SAYS_THE_SAME = 0.7
_ROWS_AT_ONCE = 50_000
_SENTENCES_OF_CHUNK = 8
"""How many a chunk has, more or less."""
_NO_ROWS: Rows = np.zeros(0, np.int64)


class RowsOf(Mapping[str, Rows]):
    """The rows of each key, ascending. To look up many keys, number them at once: a dictionary takes far more memory.

    Attributes:
        ids: the keys.
        rows: the rows of each.
    """

    def __init__(self, keys: "pa.Array", rows: Groups) -> None:
        self.ids = keys
        self.rows = rows

    def of_each(self, keys: "pa.ChunkedArray | pa.Array") -> Iterator[Rows]:
        """Yield the rows of each of some keys; a key may have none."""
        return self.at(rows_among(keys, self.ids))

    def at(self, numbers: SmallInts) -> Iterator[Rows]:
        """Yield the rows of the keys with these numbers, none for -1."""
        for number in numbers.tolist():
            yield self.rows[number] if number >= 0 else _NO_ROWS

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {key: number for number, key in enumerate(self)}

    def __getitem__(self, key: str) -> Rows:
        """Return the rows of a key."""
        return self.rows[self._numbers[key]]

    def __iter__(self) -> Iterator[str]:
        """Yield the keys."""
        return iter(self.ids.to_pylist())

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self.ids)


@dataclass(frozen=True, slots=True)
class SentenceIndex:
    """The distinct sentences in document order, and the rows in which each entity is mentioned.

    Attributes:
        texts: The texts of the documents.
        document_ids, chunk_ids: The ids of documents and chunks.
        document_of, chunk_of, starts, ends: (n,) the place of each sentence.
        of_entity: The rows that mention each entity, by its id.
    """

    texts: Sequence[str]
    document_ids: Sequence[str]
    chunk_ids: Sequence[str]
    document_of: SmallInts
    chunk_of: SmallInts
    starts: SmallInts
    ends: SmallInts
    of_entity: RowsOf

    def __len__(self) -> int:
        """Return the number of sentences."""
        return len(self.starts)

    def text(self, row: int) -> str:
        """Return a sentence."""
        return self.texts[int(self.document_of[row])][self.starts[row] : self.ends[row]]

    def span(self, row: int) -> Span:
        """Return the place of a sentence."""
        document, chunk = self.document_ids[int(self.document_of[row])], self.chunk_ids[int(self.chunk_of[row])]
        return Span(document, chunk, int(self.starts[row]), int(self.ends[row]))


@dataclass(frozen=True, slots=True)
class WordRows:
    """Unit tf-idf rows in compressed sparse form: those of row i are the entries `indptr[i]` to `indptr[i + 1]`.

    `idf` contains the inverse document frequency of each word.
    """

    indptr: Ints
    words: NDArray[np.int32]
    values: Floats
    idf: Floats


@dataclass(frozen=True, slots=True)
class Sentences:
    """Sentences with their lengths in tokens and their tf-idf rows; only `quotable` ones have a length."""

    placed: SentenceIndex
    n_tokens: SmallInts
    weights: WordRows
    quotable: Bools
    _sums: Floats = field(repr=False)
    """(words,) zeros between two calls."""

    def most_central(self, rows: Rows, count: int) -> list[int]:
        """Return the `count` rows nearest to the centroid of `rows`, the nearest first, ties in text order.

        Centrality is the cosine of a sentence with the mean of all (Radev et al. 2004, centroid-based
        summarisation). A sentence that repeats an earlier choice (cosine above .7) is skipped.
        """
        rows = rows[self.quotable[rows]]
        if len(rows) < 2:
            return [int(row) for row in rows]
        sizes, entries = gather(self.weights.indptr, rows)
        words, values = self.weights.words[entries], self.weights.values[entries]
        place = np.repeat(np.arange(len(rows)), sizes)
        np.add.at(self._sums, words, values * (1 / len(rows)))
        scores = np.bincount(place, values * self._sums[words], len(rows))
        self._sums[words] = 0.0
        chosen: list[int] = []
        alike = np.zeros(len(rows))
        for position in np.argsort(-scores.round(9), kind="stable").tolist():
            if alike[position] < _SAYS_THE_SAME:
                chosen.append(position)
                if len(chosen) == count:
                    break
                own = place == position
                self._sums[words[own]] = values[own]
                alike = np.maximum(alike, np.bincount(place, values * self._sums[words], len(rows)))
                self._sums[words[own]] = 0.0
        return [int(rows[position]) for position in chosen]


def sentences_of(documents: Sequence[Document], chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> Sentences:
    """Return the sentences of all documents, with the rows in which each entity is mentioned."""
    placed = place_sentences(documents, chunks, mentions)
    weights, n_words = _tf_idf(placed)
    quotable = (placed.ends - placed.starts <= _MOST_CHARACTERS) & (n_words >= _FEWEST_WORDS)
    n_tokens = np.zeros(len(placed), np.int32)
    n_tokens[quotable] = count_each(placed.text(row) for row in np.flatnonzero(quotable).tolist())
    return Sentences(placed, n_tokens, weights, quotable, np.zeros(len(weights.idf)))


def place_sentences(
    documents: Sequence[Document], chunks: Sequence[Chunk], mentions: Sequence[Mention]
) -> SentenceIndex:
    """Return the places of the sentences of all documents, and the rows that mention each entity."""
    texts, document_ids = (text_column(documents, name) for name in ("text", "id"))
    within = documents_of_chunks(documents, chunks)
    begins = arrow_of(Chunk, chunks, ["start"])["start"].to_numpy()
    order = np.lexsort((begins, within))
    bounds = np.searchsorted(within[order], np.arange(len(documents) + 1))
    waiting = document_of, chunk_of, starts, ends = array("i"), array("i"), array("i"), array("i")
    columns = [array_of(_SENTENCES_OF_CHUNK * len(chunks), np.int32) for _ in waiting]
    first_row = np.zeros(len(documents) + 1, np.int64)
    n_rows = 0
    for number, text in enumerate(texts):
        own = order[bounds[number] : bounds[number + 1]]
        numbers_of_chunks, chunk_starts = own.tolist(), begins[own].tolist()
        for start, end in sentence_spans(text) if numbers_of_chunks else ():
            document_of.append(number)
            chunk_of.append(numbers_of_chunks[max(0, bisect_right(chunk_starts, start) - 1)])
            starts.append(start)
            ends.append(end)
        first_row[number + 1] = n_rows + len(starts)
        if len(starts) >= _ROWS_AT_ONCE or number + 1 == len(documents):
            n_rows += len(starts)
            append_each(columns, (np.array(each, np.int32) for each in waiting))
            for each in waiting:
                del each[:]
    in_document, in_chunk, begin, end_at = (column.array() for column in columns)
    of_entity = _mentioned(chunks, within, mentions, first_row, (in_document, begin))
    chunk_ids = text_column(chunks, "id")
    return SentenceIndex(texts, document_ids, chunk_ids, in_document, in_chunk, begin, end_at, of_entity)


def _mentioned(
    chunks: Sequence[Chunk],
    within: Rows,
    mentions: Sequence[Mention],
    first_row: Ints,
    sentences: tuple[SmallInts, SmallInts],
) -> RowsOf:
    """Return the rows that mention each entity: a mention is in the last sentence that begins before it.

    `within` is the document of each chunk, `sentences` the document and the start of each.
    """
    import pyarrow as pa
    from pyarrow import compute

    table = arrow_of(Mention, mentions, ["entity_id", "chunk_id", "start"])
    entities, chunk_ids = table["entity_id"].unique().drop_null().sort(), arrow_of(Chunk, chunks, ["id"])["id"]
    # One sorted key a sentence: its document, then its start.
    longest = 1 + max(compute.max(table["start"]).as_py() or 0, int(sentences[1].max(initial=0)))
    keys = sentences[0] * np.int64(longest) + sentences[1]
    named = rows_among(table["entity_id"], entities)
    kept = (named >= 0) & table["start"].is_valid().to_numpy()
    document = within[rows_of_ids(table["chunk_id"], chunk_ids)[kept]]
    starts = compute.fill_null(table["start"], 0).to_numpy()[kept]
    rows = np.searchsorted(keys, document * longest + starts, side="right") - 1
    found = Groups.of(named[kept], np.maximum(rows, first_row[document]), len(entities))
    has = np.diff(found.starts) > 0
    return RowsOf(entities.filter(pa.array(has)), Groups(found.starts[np.append(has, True)], found.members))


def _tf_idf(placed: SentenceIndex) -> tuple[WordRows, SmallInts]:
    """Return unit rows of (1 + log tf) * log((1 + n) / df), one column a word, and the number of words of each row."""
    vocabulary = numbering()
    n_words, distinct = np.zeros(len(placed), np.int32), np.zeros(len(placed), np.int32)
    folder = spill_folder() if len(placed) > _ROWS_AT_ONCE else None
    held, said, weights = AppendedArray(folder), AppendedArray(folder), AppendedArray(folder, np.float64)
    rows = iter(range(len(placed)))
    while block := list(islice(rows, _ROWS_AT_ONCE)):
        codes = array("q")
        for row in block:
            keys = word_keys(placed.text(row))
            n_words[row] = len(keys)
            codes.extend(map(vocabulary.__getitem__, keys))
        row_of = np.repeat(np.arange(len(block)), n_words[block])
        pairs = row_of * len(vocabulary) + np.array(codes, np.int64)
        _, first, times = np.unique(pairs, return_index=True, return_counts=True)
        order = np.argsort(first)  # words in the order of the text, as long as sums depend on it
        first, times = first[order], times[order]
        distinct[block] = np.bincount(row_of[first], minlength=len(block))
        held.append(np.array(codes, np.int32)[first])
        said.append(times)
    ends = array_of(len(placed), np.int64)
    ends.append(np.append(0, np.cumsum(distinct, dtype=np.int64)))
    indptr, words, counts = ends.array(), held.array(), said.array()
    idf = np.log((1 + len(placed)) / np.maximum(np.bincount(words, minlength=len(vocabulary)), 1))
    worth = 1 + np.log(np.maximum(np.arange(counts.max(initial=0) + 1), 1))
    for start in range(0, len(placed), _ROWS_AT_ONCE):
        sizes = distinct[start : start + _ROWS_AT_ONCE]
        own = slice(indptr[start], indptr[start + len(sizes)])
        values = worth[counts[own]] * idf[words[own]]
        norms = np.zeros(len(sizes))
        begins = np.cumsum(sizes) - sizes
        norms[sizes > 0] = np.sqrt(np.add.reduceat(values * values, begins[sizes > 0])) if len(values) else 0.0
        weights.append(values / np.repeat(np.maximum(norms, 1e-12), sizes))
    return WordRows(indptr, words, weights.array(), idf), n_words
