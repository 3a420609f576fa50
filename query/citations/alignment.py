"""Alignment of answer sentences with the source sentences that support them.

A model cites passages by number. The citation that a reader wants is narrower: the sentence of the passage with the
largest word overlap with the answer's sentence, words weighted by inverse document frequency.
"""

from collections.abc import Callable, Sequence
from math import fsum

from conspectus.query.types import Passage
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

Weigh = Callable[[str], float]
"""Returns the weight of a word by its key: its inverse document frequency."""


def overlaps(sentence: str, texts: Sequence[str], weigh: Weigh) -> list[float]:
    """Return for each text the sum of the weights of the distinct words that it shares with a sentence.

    >>> overlaps("Ada wrote it", ["Ada ran.", "Nobody ran."], lambda key: 1.0)
    [1.0, 0.0]
    """
    wanted = {word.key for word in words(sentence)}
    shared = [wanted & {word.key for word in words(text)} for text in texts]
    return [fsum(weigh(key) for key in sorted(keys)) for keys in shared]


def aligned_span(sentence: str, passage: Passage, weigh: Weigh) -> Span:
    """Return the sentence of a passage that overlaps most with a sentence of an answer, the first on a tie.

    Without any overlap, return the whole passage.
    """
    spans = sentence_spans(passage.text)
    scores = overlaps(sentence, [passage.text[start:end] for start, end in spans], weigh)
    best = max(range(len(spans)), key=scores.__getitem__, default=None)
    start, end = (0, len(passage.text)) if best is None or scores[best] <= 0 else spans[best]
    return Span(passage.document_id, passage.chunk_id, passage.start + start, passage.start + end)
