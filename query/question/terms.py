"""Question terms and phrases: their weights, and the chunks that contain them."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from conspectus.query.context import Context, remembered
from conspectus.storage.arrays import Floats, Rows, SmallInts
from conspectus.storage.index import StoredIndex
from conspectus.storage.text.language import UNSPACED_LANGUAGES, function_words
from conspectus.storage.text.names import UNSPACED, Word

_NO_CONTENT = frozenset({"same", "other", "s"})
"""English words, besides the function words, that do not say what a question is about."""
_MOST_CHUNKS = 4096
"""Number of chunks whose stems are cached, some kilobytes each: one question uses the same ones twice."""
_MOST_BETWEEN = 2
"""Most words between the two content words of a phrase ("based on a book")."""


def is_content_word(key: str, language: str = "en") -> bool:
    """Return whether a word, given by its key, says what a question in a language is about."""
    if not language or language in UNSPACED_LANGUAGES:
        language = "en"  # characters are not function words, but Latin words between them may be
    return key not in function_words(language) and not (language == "en" and key in _NO_CONTENT)


def content_words(found: Sequence[Word], language: str = "en") -> str:
    """Return the words that say what a question is about, or all words if there are none.

    They are joined with spaces, except in scripts that are written without spaces.

    >>> from conspectus.storage.text.names import words
    >>> content_words(words("Who wrote the book?")), content_words(words("Wer schrieb das Buch?"), "de")
    ('wrote book', 'schrieb buch')
    """
    kept = [word for word in found if is_content_word(word.key, language)] or list(found)
    ends = {word.end for word in kept if UNSPACED.match(word.key)}
    return "".join(
        f"{'' if word.start in ends and UNSPACED.match(word.key) else ' '}{word.key}" for word in kept
    ).strip()


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a question: the t distinct stems of its content words, sorted.

    Attributes:
        stems: the t terms.
        weights: (t,) inverse document frequencies, scaled to sum to 1 (if there are any).
        chunks: for each term the rows of the chunks that contain it, ascending.
    """

    stems: tuple[str, ...]
    weights: Floats
    chunks: tuple[SmallInts, ...]

    def contained_in(self, rows: Rows) -> Floats:
        """Return (len(rows), t): 1 where a chunk's title or text contains a term, else 0."""
        contained = np.zeros((len(rows), len(self.chunks)))
        for column, chunks in enumerate(self.chunks):
            if len(chunks):  # a binary search: np.isin sorts both
                at = np.minimum(np.searchsorted(chunks, rows.astype(np.int32)), len(chunks) - 1)
                contained[:, column] = chunks[at] == rows
        return contained


def question_terms(index: StoredIndex, found: Sequence[Word], language: str = "en") -> Terms:
    """Return the stems of a question's content words, weighted by inverse document frequency.

    A term that no chunk contains has the highest weight: a passage without it does not settle the question.
    """
    bm25 = index.lexical()
    stems = sorted({bm25.term(word.key, language) for word in found if is_content_word(word.key, language)})
    chunks = tuple(map(bm25.rows_with, stems))
    n_chunks = index.manifest.rows["chunks"]
    idf = np.array([np.log1p((n_chunks - len(rows) + 0.5) / (len(rows) + 0.5)) for rows in chunks])
    return Terms(tuple(stems), idf / max(idf.sum(), 1e-9), chunks)


@dataclass(frozen=True, slots=True)
class Phrases:
    """The phrases of a question: p distinct runs of stems, each beginning and ending with a content word.

    Attributes:
        runs: the stems of each phrase.
        weights: (p,) the mean of the weights of the first and the last word.
    """

    runs: tuple[tuple[str, ...], ...]
    weights: Floats

    def contained_in(self, context: Context, rows: Rows, terms: Terms) -> Floats:
        """Return (len(rows), p): 1 where a chunk's title or text contains a phrase, stem by stem, else 0."""
        contained = np.zeros((len(rows), len(self.runs)))
        terms_contained = dict(zip(terms.stems, terms.contained_in(rows).T, strict=True))
        both_ends = [terms_contained[run[0]] * terms_contained[run[-1]] for run in self.runs]
        runs = [f" {' '.join(run)} " for run in self.runs]
        for place in np.flatnonzero(np.any(both_ends, axis=0)).tolist():
            text = _stems(context, int(rows[place]))
            contained[place] = [run in text for run in runs]
        return contained


def question_phrases(found: Sequence[Word], stems: Sequence[str], terms: Terms, language: str = "en") -> Phrases:
    """Return the phrases of a question: nearby pairs of content words, with the words between them.

    Args:
        found: The words of the question.
        stems: The stem of each.
        terms: The terms of the question.
        language: Its language.

    >>> from conspectus.storage.text.names import words
    >>> two = Terms(("book", "film"), np.array([0.5, 0.5]), ())
    >>> question_phrases(words("Which film is in the book?"), "which film is in the book".split(), two).runs
    ()
    >>> question_phrases(words("Which film of the book?"), "which film of the book".split(), two).runs
    (('film', 'of', 'the', 'book'),)
    """
    weight = dict(zip(terms.stems, terms.weights, strict=True))
    content = [place for place, word in enumerate(found) if is_content_word(word.key, language)]
    runs = dict.fromkeys(
        tuple(stems[first : last + 1]) for first, last in pairwise(content) if last - first <= 1 + _MOST_BETWEEN
    )
    return Phrases(tuple(runs), np.array([(weight[run[0]] + weight[run[-1]]) / 2 for run in runs]))


@remembered(_MOST_CHUNKS)
def _stems(context: Context, row: int) -> str:
    chunk = context.chunks[row]
    text = f"{context.titles[chunk.document_id]}\n{chunk.text}"
    return f" {' '.join(context.bm25.analysis.stems(text, row))} "
