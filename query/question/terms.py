"""What a question asks about, word by word: its terms, how telling each is, and which chunks hold it."""

from dataclasses import dataclass

import numpy as np
from conspectus.query.context import Context
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words
from conspectus.storage.text.words import FUNCTION_WORDS, stem

_SAYS_NOTHING = FUNCTION_WORDS | {"same", "other", "s"}
"""Words that do not say what a question is about."""


@dataclass(frozen=True, slots=True)
class Terms:
    """A question's terms, by stem: `weights` (t,) are their shares of its meaning and sum to 1 (or there are none)."""

    stems: tuple[str, ...]
    weights: Floats
    holders: tuple[Ints, ...]

    def held_by(self, rows: Ints) -> Floats:
        """Return (len(rows), t): 1 where a chunk's title or text holds a term, else 0."""
        held = [np.isin(rows, holders).astype(np.float64) for holders in self.holders]
        return np.stack(held, axis=1) if held else np.zeros((len(rows), 0))


def is_telling(key: str) -> bool:
    """Return whether a word, given by its key, says what a question is about."""
    return key not in _SAYS_NOTHING


def telling_words(question: str) -> str:
    """Return the question's words that say what it is about, or all of them where none does.

    >>> telling_words("Who wrote the book?")
    'wrote book'
    """
    found = [word.key for word in words(question)]
    return " ".join([word for word in found if is_telling(word)] or found)


def question_terms(context: Context, question: str) -> Terms:
    """Return the stems of the question's words but for question words, weighted by inverse document frequency.

    A term that no chunk holds has the highest weight: a passage without it leaves the question open.
    """
    stems = sorted({stem(word.key) for word in words(question) if is_telling(word.key)})
    by_stem = _words_by_stem(context)
    holders = tuple(context.bm25.rows_with(by_stem.get(each, ())) for each in stems)
    n_chunks = context.index.manifest.rows["chunks"]
    idf = np.array([np.log1p((n_chunks - len(rows) + 0.5) / (len(rows) + 0.5)) for rows in holders])
    return Terms(tuple(stems), idf / max(idf.sum(), 1e-9), holders)


@per_index
def _words_by_stem(context: Context) -> dict[str, list[int]]:
    """Return the columns of the lexical index by the stem of their word."""
    found: dict[str, list[int]] = {}
    for word, column in context.bm25.vocabulary.items():
        found.setdefault(stem(word), []).append(column)
    return found
