"""The phrases of a question: words that it says together, and which chunks say them together too."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
from conspectus.query.context import Context
from conspectus.query.question.terms import Terms, is_telling
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.index import per_index
from conspectus.storage.text.names import words
from conspectus.storage.text.words import stem

_CHUNKS_KEPT = 4096
"""Chunks whose stems are kept, some kilobytes each: one question looks at the same ones twice."""
_MOST_BETWEEN = 2
"""Question words that may stand between the two telling words of a phrase ("based on a book")."""


@dataclass(frozen=True, slots=True)
class Phrases:
    """Runs of stems that begin and end with a telling word, and (p,) their weights: the mean of these two words'."""

    runs: tuple[tuple[str, ...], ...]
    weights: Floats

    def held_by(self, context: Context, rows: Rows, terms: Terms) -> Floats:
        """Return (len(rows), p): 1 where a chunk's title or text holds a phrase as it is, stem by stem, else 0."""
        held = np.zeros((len(rows), len(self.runs)))
        words_held = dict(zip(terms.stems, terms.held_by(rows).T, strict=True))
        stems_of = _stems_of_chunks(context)
        possible = [words_held[run[0]] * words_held[run[-1]] for run in self.runs]
        for place, row in enumerate(rows):
            if any(each[place] for each in possible):
                text = stems_of(int(row))
                held[place] = [f" {' '.join(run)} " in text for run in self.runs]
        return held


def question_phrases(question: str, terms: Terms) -> Phrases:
    """Return the phrases of a question, each once: telling words that follow one another closely, with what is between.

    >>> two = Terms(("book", "film"), np.array([0.5, 0.5]), ())
    >>> question_phrases("Which film is in the book?", two).runs
    ()
    >>> question_phrases("Which film of the book?", two).runs
    (('film', 'of', 'the', 'book'),)
    """
    found = [word.key for word in words(question)]
    stems = [stem(key) for key in found]
    weight = dict(zip(terms.stems, terms.weights, strict=True))
    telling = [place for place, key in enumerate(found) if is_telling(key)]
    runs = dict.fromkeys(
        tuple(stems[one : other + 1]) for one, other in pairwise(telling) if other - one <= 1 + _MOST_BETWEEN
    )
    return Phrases(tuple(runs), np.array([(weight[run[0]] + weight[run[-1]]) / 2 for run in runs]))


@per_index
def _stems_of_chunks(context: Context) -> Callable[[int], str]:
    return lru_cache(_CHUNKS_KEPT)(partial(_stems, context))


def _stems(context: Context, row: int) -> str:
    chunk = context.chunks[row]
    text = f"{context.titles[chunk.document_id]}\n{chunk.text}"
    return f" {' '.join(stem(word.key) for word in words(text))} "
