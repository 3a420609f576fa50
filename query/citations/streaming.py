"""Streaming citations: a model's answer becomes text with citation numbers as it arrives.

The answer is stripped of its thinking (`prompts/replies/thinking.py`), the abstention word, a line that only
announces it ("Sure! Here is the answer:"), a label like "Answer:", and its list of sources (`reference_list.py`); its
marks, in any form (`forms.py`), are replaced by those of citations.
"""

import re
from collections.abc import Callable, Sequence

from conspectus.prompts.replies.thinking import ThinkingStream
from conspectus.query.abstention import SEPARATORS, abstention, may_abstain
from conspectus.query.citations.forms import CitationMark, Forms
from conspectus.query.citations.marks import written
from conspectus.query.citations.reference_list import ReferenceList
from conspectus.storage.text.sentences import sentence_spans

Cite = Callable[[str, int], Sequence[int]]
"""Takes a sentence and the number of a source that it cites; returns the numbers of citations, empty to drop it."""

_LABELS = ("answer:", "final answer:", "response:", "reply:", "a:", "assistant:", "antwort:", "réponse:", "respuesta:")
_LABEL = re.compile(rf"[*#_\s]*(?:{'|'.join(label[:-1] for label in _LABELS)})[*_]*\s*[:：][*_]*\s*", re.IGNORECASE)
_PREAMBLE = re.compile(
    r"(?:(?:sure|certainly|of course|absolutely|okay|alright)\b[^\n]{0,200}?|"
    r"(?:here(?:'s|’s| is| are)|(?:based on|according to) [^\n]{1,100}?, here (?:is|are))\b[^\n]{0,200}?"
    r"\b(?:answers?|response|reply|what (?:was|you))\b[^\n]{0,200}?)[:!.]\s*\n\s*",
    re.IGNORECASE,
)
"""A line that announces an answer and has no content."""
_LEAD_IN = re.compile(
    r"(?:based on|according to|from) (?:the|these|this|what)\b (?:\w+ ){0,4}?(?:material|passages?|reports?|sources?|"
    r"documents?|texts?|context|information|data|given|provided|facts?)(?: provided| given| above)?,\s*",
    re.IGNORECASE,
)
"""Characters before a statement that do not belong to it."""
_OPENERS = ("sure", "certainly", "of course", "absolutely", "okay", "alright", "here", "based on", "according to")
_LONGEST_PREAMBLE = 220
_MARKUP = "*#_ "


class Citing:
    """Rewrites the citation marks of an answer piece by piece and returns text as soon as it is final.

    The sentence before a mark is aligned with its source; marks may precede or follow the full stop. A dropped citation
    leaves no empty mark. If a reply begins with the abstention word, the text after it is returned and `is_nothing` is
    set.

    Args:
        cite: Resolves a cited number.
        shown: How many sources the model was shown (see `Forms`).
    """

    def __init__(self, cite: Cite, shown: int = 0) -> None:
        self._cite = cite
        self.is_nothing = False
        self._thinking = ThinkingStream()
        self._references = ReferenceList()
        self._forms = Forms(shown)
        self._beginning = ""
        self._waiting = ""
        self._passage = ""
        """Text received since the last mark."""
        self._sentence = ""
        self._made: set[int] = set()
        self._space = ""
        self._begun = False
        self._told = False

    @property
    def thinks(self) -> bool:
        """Whether the model's thinking has not ended."""
        return self._thinking.open

    @property
    def listed(self) -> tuple[int, ...]:
        """The numbers in the list of sources at the end of the answer."""
        return self._references.listed

    def take(self, piece: str) -> str:
        """Return the text that is final after this piece."""
        return self._marked(self._body(self._thinking.take(piece), whole=False), whole=False)

    def end(self) -> str:
        """Return the rest of the text at the end of the stream."""
        body = self._body(self._thinking.take("", whole=True), whole=True)
        return self._marked(body + self._references.take("", whole=True), whole=True)

    def _body(self, piece: str, *, whole: bool) -> str:
        """Return the text that belongs to the answer itself."""
        if self._begun:
            return self._references.take(piece)
        self._beginning = (self._beginning + piece).lstrip()
        label = _PREAMBLE.match(self._beginning) or _LABEL.match(self._beginning)
        text = self._beginning[label.end() :] if label else self._beginning
        if not whole and (may_abstain(text) or _may_be_label(self._beginning) or _may_announce(self._beginning)):
            return ""
        self._begun = True
        behind = abstention(text)
        self.is_nothing = behind is not None
        return self._references.take(text if behind is None else behind)

    def _marked(self, piece: str, *, whole: bool) -> str:
        self._waiting += piece
        if self.is_nothing and not self._told:
            self._waiting = self._waiting.lstrip(SEPARATORS)
        ready = []
        at = 0
        while True:
            end, mark = self._forms.next(self._waiting, at, whole=whole)
            ready.append(self._text(self._waiting[at:end]))
            if mark is None:
                break
            ready.append(self._mark(mark))
            at = mark.end
        self._waiting = self._waiting[end:]
        return "".join(ready).rstrip() if whole else "".join(ready)

    def _text(self, text: str) -> str:
        if text:
            self._told = True
            self._passage += text
            self._space = ""
        return text

    def _mark(self, mark: CitationMark) -> str:
        if self._passage.strip():
            spans = sentence_spans(self._passage)
            said = self._passage[spans[-1][0] :].strip() if spans else self._passage.strip()
            lead_in = _LEAD_IN.match(said)
            self._sentence = said[lead_in.end() :] if lead_in else said
            self._passage = ""
            self._made = set()
        made = dict.fromkeys(found for number in mark.numbers for found in self._cite(self._sentence, number))
        fresh = [item for item in made if item not in self._made]
        self._made.update(fresh)
        if not fresh:
            self._space = self._space or mark.space
            return ""
        return (mark.space or self._space) + written(fresh)


def _may_announce(beginning: str) -> bool:
    """Return whether the beginning of an answer may still become a line that announces it."""
    text = beginning.casefold()
    opens = any(text.startswith(opener) or opener.startswith(text) for opener in _OPENERS)
    behind = beginning.partition("\n")[2]
    return opens and len(beginning) < _LONGEST_PREAMBLE and not behind.strip()


def _may_be_label(beginning: str) -> bool:
    """Return whether the beginning of an answer may still become a label like "**Answer:**"."""
    text = beginning.lstrip(_MARKUP).casefold()
    named = any(label.startswith(text.rstrip("*_ ")) for label in _LABELS) if text else len(beginning) < 12
    return named or any(text.startswith(label) and not text[len(label) :].strip("*_ \n") for label in _LABELS)
