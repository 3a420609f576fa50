"""Match the sentences of an answer with the sources that the model was shown.

Models forget marks, especially small models. Each sentence is compared with the sources that share words with it; it
cites the first one that supports it, by the same check as every citation (`verification.py`). `citations.unsupported`
decides whether a sentence without support is marked, dropped or kept.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import fsum

from conspectus.query.abstention import UNCITED
from conspectus.query.citations.entailment import CitedText, missing, unsupported
from conspectus.query.citations.marks import NOTHING_FOUND, UNVERIFIED, written
from conspectus.query.context import Context
from conspectus.query.types import Passage
from conspectus.storage.records import Span
from conspectus.storage.text.names import words
from conspectus.storage.text.sentences import sentence_spans

Cite = Callable[[str, int], Sequence[int]]
"""Takes a sentence and the number of a source; returns the numbers of citations, empty if it does not resolve."""

_CANDIDATES = 3
"""Number of sources compared with a sentence: those that share most of its words."""
_FEW_WORDS = 4
_MOST_SENTENCES = 40
"""Most sentences of an answer that are matched; a longer answer is a document."""
_NO_SENTENCE = re.compile(r"\s*(?:#{1,6}\s.*|[-*_=]{3,}|.*[:：][*_]*|```.*|\|.*)\s*$")
"""A heading, a rule, a line that only introduces others, code or a table row."""
_STOP = re.compile(r"[.!?。！？][\"'”’»)*_]*$")


@dataclass(frozen=True, slots=True)
class Matched:
    """An answer with the marks found for it, and how many of its sentences have one."""

    text: str
    supported: int
    sentences: int

    @property
    def step(self) -> str:
        """The trace step for the result."""
        supported = f"{self.supported} of {self.sentences} sentences"
        return f"{UNCITED}; {supported} are supported by what the model was shown"


def match(context: Context, question: str, text: str, sources: Sequence[CitedText], cite: Cite) -> Matched:
    """Return an answer whose sentences cite the sources that support them.

    Args:
        context: The open index.
        question: The question; a short sentence is meaningful only with its question.
        text: The answer, without marks.
        sources: The sources shown to the model, source i under the number i + 1.
        cite: Makes the citations.
    """
    mode = context.settings.citations.unsupported
    parts: list[str] = []
    at = supported = 0
    sentences = [span for span in _sentences(text) if words(text[span[0] : span[1]])][:_MOST_SENTENCES]
    for start, end in sentences:
        sentence = text[start:end]
        number = _supporting(context, question, sentence, sources)
        made = cite(sentence, number) if number else ()
        supported += bool(made)
        mark = written(made) if made else UNVERIFIED if mode == "mark" else ""
        stop = _STOP.search(sentence)
        cut = start + stop.start() if stop else end
        if made or mode != "drop":
            parts += [text[at:cut], f" {mark}" if mark else "", text[cut:end]]
        else:
            parts.append(text[at:start].rstrip(" "))
        at = end
    told = "".join([*parts, text[at:]]).strip()
    if sentences and not supported and mode == "mark":
        told = f"{told}\n\n{NOTHING_FOUND}"
    return Matched(told, supported, len(sentences))


def _sentences(text: str) -> list[tuple[int, int]]:
    """Return the sentences of an answer, line by line, without headings, code and tables."""
    found: list[tuple[int, int]] = []
    at, code = 0, False
    for line in text.split("\n"):
        code ^= line.lstrip().startswith("```")
        if not code and line.strip() and not _NO_SENTENCE.match(line):
            bullet = re.match(r"\s*(?:[-*•]|\d{1,3}[.)])\s+", line)
            skip = bullet.end() if bullet else 0
            found += [(at + skip + start, at + skip + end) for start, end in sentence_spans(line[skip:])]
        at += len(line) + 1
    return found


def _supporting(context: Context, question: str, sentence: str, sources: Sequence[CitedText]) -> int:
    """Return the number of the source that supports a sentence, 0 if none does."""
    shared = overlaps(
        sentence, [f"{source.above} {source.quote}" for source in sources], context.bm25.inverse_document_frequency
    )
    likely = sorted((place for place, score in enumerate(shared) if score > 0), key=lambda place: -shared[place])
    if len(words(sentence)) < _FEW_WORDS and not missing(sentence, [CitedText("")]):
        return 0  # "He did." has no name or number that a source could support
    least = context.settings.citations.threshold
    supporting = (
        place + 1 for place in likely[:_CANDIDATES] if not unsupported(sentence, [sources[place]], question, least)
    )
    return next(supporting, 0)


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
