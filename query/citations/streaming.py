"""Streaming citations: source numbers in a streamed answer become citation numbers as the text arrives."""

from collections.abc import Callable, Sequence

from conspectus.query.abstention import SEPARATORS, abstention, may_abstain
from conspectus.query.citations.marks import CitationMark, first_mark, unfinished_mark, written
from conspectus.storage.text.sentences import sentence_spans

Cite = Callable[[str, int], Sequence[int]]
"""Gets a sentence and the number of a source that it cites; returns the numbers of citations, none to drop it."""


class Citing:
    """Rewrites the citation marks of an answer piece by piece and returns text as soon as it is final.

    The sentence before a mark is aligned with its source; marks may precede or follow the full stop. A dropped citation
    leaves no empty mark. If a reply begins with the abstention word, the text after it is returned and `is_nothing` is
    set.
    """

    def __init__(self, cite: Cite) -> None:
        self._cite = cite
        self.is_nothing = False
        self._waiting = ""
        self._passage = ""
        """What has come since the last mark."""
        self._sentence = ""
        self._made: set[int] = set()
        self._space = ""
        self._begun = False
        self._told = False

    def take(self, piece: str) -> str:
        """Return the text that is final after this piece."""
        self._waiting += piece
        if not self._begun:
            self._waiting = self._waiting.lstrip()
            if may_abstain(self._waiting):
                return ""
            self._begun = True
            behind = abstention(self._waiting)
            self.is_nothing = behind is not None
            self._waiting = self._waiting if behind is None else behind
        elif self.is_nothing and not self._told:
            self._waiting = self._waiting.lstrip(SEPARATORS)
        ready = []
        while mark := first_mark(self._waiting):
            ready += [self._text(self._waiting[: mark.start]), self._mark(mark)]
            self._waiting = self._waiting[mark.end :]
        end = unfinished_mark(self._waiting)
        ready.append(self._text(self._waiting[:end]))
        self._waiting = self._waiting[end:]
        return "".join(ready)

    def end(self) -> str:
        """Return the rest of the text at the end of the stream."""
        if not self._begun and abstention(self._waiting) is not None:
            self.is_nothing = True
            self._waiting = ""
        rest, self._waiting = self._waiting.rstrip(), ""
        return rest

    def _text(self, text: str) -> str:
        if text:
            self._told = True
            self._passage += text
            self._space = ""
        return text

    def _mark(self, mark: CitationMark) -> str:
        if self._passage.strip():
            spans = sentence_spans(self._passage)
            self._sentence = self._passage[spans[-1][0] :].strip() if spans else self._passage.strip()
            self._passage = ""
            self._made = set()
        made = dict.fromkeys(found for number in mark.numbers for found in self._cite(self._sentence, number))
        fresh = [item for item in made if item not in self._made]
        self._made.update(fresh)
        if not fresh:
            self._space = self._space or mark.space
            return ""
        return (mark.space or self._space) + written(fresh)
