"""Match an answer that cites nothing with the sources that the model was shown.

Models forget marks, especially small models. Each sentence is compared with the sources that share words with it; it
cites the first one that supports it, by the same check as every citation (`verification.py`). `citations.unsupported`
decides whether a sentence without support is marked, dropped or kept.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conspectus.query.abstention import UNCITED
from conspectus.query.citations.alignment import overlaps
from conspectus.query.citations.entailment import CitedText, missing, unsupported
from conspectus.query.citations.marks import NOTHING_FOUND, UNVERIFIED, written
from conspectus.query.context import Context
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
