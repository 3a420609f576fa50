"""Index the sentences of the corpus as tf-idf rows, the candidates of extractive descriptions and reports."""

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.arrays import Bools, Floats, Rows
from conspectus.storage.records import Chunk, Document, Mention, Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans
from conspectus.storage.text.tokens import count_each

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_MOST_CHARACTERS = 400
"""Tokens of a 'sentence' (a table, a list) that is too long to quote."""
_FEWEST_WORDS = 4
_SAYS_THE_SAME = 0.7


@dataclass(frozen=True, slots=True)
class Sentences:
    """The distinct sentences in document order: place, text, length, and unit tf-idf row.

    `idf` contains the inverse document frequency of each column of `weights`.
    """

    spans: list[Span]
    texts: list[str]
    n_tokens: Rows
    weights: "csr_array"
    idf: Floats
    quotable: Bools
    of_entity: dict[str, Rows]
    of_relation: dict[str, Rows]

    def most_central(self, rows: Rows, count: int) -> list[int]:
        """Return the `count` rows nearest to the centroid of `rows`, the nearest first, ties in text order.

        Centrality is the cosine of a sentence with the mean of all (Radev et al. 2004, centroid-based
        summarisation). A sentence that repeats an earlier choice (cosine above .7) is skipped.
        """
        rows = rows[self.quotable[rows]]
        own = self.weights[rows]
        centroid = own.T @ np.full(len(rows), 1 / max(1, len(rows)))
        scores = own @ centroid
        chosen: list[int] = []
        for position in np.lexsort((rows, -scores.round(9))):
            if not chosen or (own[chosen] @ own[[position]].T).max() < _SAYS_THE_SAME:
                chosen.append(int(position))
                if len(chosen) == count:
                    break
        return [int(rows[position]) for position in chosen]


@dataclass(frozen=True, slots=True)
class SentenceIndex:
    """The distinct sentences in document order, and the rows in which each entity and relation is mentioned."""

    spans: list[Span]
    texts: list[str]
    of_entity: dict[str, Rows]
    of_relation: dict[str, Rows]


def sentences_of(documents: Sequence[Document], chunks: Sequence[Chunk], mentions: Sequence[Mention]) -> Sentences:
    """Return the sentences of all documents, with the rows in which each entity and relation is mentioned."""
    placed = place_sentences(documents, chunks, mentions)
    texts = placed.texts
    quotable = np.array([len(text) <= _MOST_CHARACTERS and len(words(text)) >= _FEWEST_WORDS for text in texts], bool)
    weights, idf = _tf_idf(texts)
    n_tokens = np.array(count_each(texts), np.int64)
    return Sentences(placed.spans, texts, n_tokens, weights, idf, quotable, placed.of_entity, placed.of_relation)


def place_sentences(
    documents: Sequence[Document], chunks: Sequence[Chunk], mentions: Sequence[Mention]
) -> SentenceIndex:
    """Return the places of the sentences of all documents, and the rows that mention each entity and relation."""
    spans: list[Span] = []
    texts: list[str] = []
    starts: dict[str, list[int]] = {}
    first_row: dict[str, int] = {}
    chunks_of: defaultdict[str, list[Chunk]] = defaultdict(list)
    for chunk in chunks:
        chunks_of[chunk.document_id].append(chunk)
    for document in documents:
        own = sorted(chunks_of[document.id], key=lambda item: item.start)
        chunk_starts = [chunk.start for chunk in own]
        first_row[document.id] = len(spans)
        starts[document.id] = []
        for start, end in sentence_spans(document.text):
            if own:
                chunk = own[max(0, bisect_right(chunk_starts, start) - 1)]
                starts[document.id].append(start)
                spans.append(Span(document.id, chunk.id, start, end))
                texts.append(document.text[start:end])

    document_of = {chunk.id: chunk.document_id for chunk in chunks}
    of_entity: defaultdict[str, set[int]] = defaultdict(set)
    of_relation: defaultdict[str, set[int]] = defaultdict(set)
    for mention in mentions:
        if mention.start is None:
            continue
        document_id = document_of[mention.chunk_id]
        row = first_row[document_id] + max(0, bisect_right(starts[document_id], mention.start) - 1)
        if mention.entity_id is not None:
            of_entity[mention.entity_id].add(row)
        elif mention.relation_id is not None:
            of_relation[mention.relation_id].add(row)
    return SentenceIndex(spans, texts, _sorted(of_entity), _sorted(of_relation))


def _sorted(rows: dict[str, set[int]]) -> dict[str, Rows]:
    return {key: np.array(sorted(values), dtype=np.int64) for key, values in rows.items()}


def _tf_idf(texts: Sequence[str]) -> "tuple[csr_array, Floats]":
    """Return unit rows of (1 + log tf) * log((1 + n) / df), one column a word, and the second factor of each column."""
    from scipy.sparse import csr_array

    vocabulary: dict[str, int] = {}
    indptr, indices, counts = [0], [], []
    for text in texts:
        bag = Counter(word.key for word in words(text))
        for word, count in bag.items():
            indices.append(vocabulary.setdefault(word, len(vocabulary)))
            counts.append(1 + np.log(count))
        indptr.append(len(indices))
    shape = (len(texts), len(vocabulary))
    matrix = csr_array((np.array(counts, float), np.array(indices, np.int64), np.array(indptr, np.int64)), shape=shape)
    frequency = np.bincount(matrix.indices, minlength=shape[1])
    idf = np.log((1 + shape[0]) / np.maximum(frequency, 1))
    matrix.data *= idf[matrix.indices]
    norms = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
    matrix.data /= np.repeat(np.maximum(norms, 1e-12), np.diff(matrix.indptr))
    return matrix, idf
