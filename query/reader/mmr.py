"""Which statements an answer quotes: near to the question, and each unlike those before it."""

from collections.abc import Sequence

import numpy as np
from conspectus.query.reader.material import Statement
from conspectus.storage.arrays import Vectors
from conspectus.storage.text.names import words

_RELEVANCE = 0.7
"""What closeness to the question counts against likeness to what is quoted already."""


def diverse(statements: Sequence[Statement], vectors: Vectors, question: Vectors, most_words: int) -> list[Statement]:
    """Return statements of at most `most_words` words together, best first; one at least, however long it is.

    Maximal marginal relevance (Carbonell and Goldstein 1998): each is the best by .7 times its cosine with the
    question less .3 times its greatest cosine with an earlier one. `vectors` (n, dimension) and `question`
    (dimension,) are unit vectors. The same words or the same place are quoted once; what points away from the
    question is not.
    """
    relevance = vectors @ question
    likeness = np.zeros(len(statements), np.float32)
    left = {i for i in _once(statements) if relevance[i] > 0}
    chosen: list[int] = []
    room = most_words
    while left:
        marginal = (_RELEVANCE * relevance - (1 - _RELEVANCE) * likeness).round(6)
        best = max(sorted(left), key=marginal.item)
        room -= len(words(statements[best].text))
        if room < 0 and chosen:
            break
        chosen.append(best)
        left.remove(best)
        likeness = np.maximum(likeness, vectors @ vectors[best])
    return [statements[each] for each in chosen]


def _once(statements: Sequence[Statement]) -> list[int]:
    """Return the first of those with the same text or places: chunks overlap, and a sentence may stand in several."""
    kept: list[int] = []
    seen: set[object] = set()
    for i, each in enumerate(statements):
        marks = {each.text, tuple((span.document_id, span.start, span.end) for span in each.spans)}
        if not marks & seen:
            kept.append(i)
        seen |= marks
    return kept
