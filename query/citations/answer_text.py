"""The text of a model's answer with the numbers of citations in it.

An answer is stripped of the abstention word, a line that only announces it ("Sure! Here is the answer:"), a label like
"Answer:", and its list of sources (`reference_list.py`); its marks, in any form (`forms.py`), are replaced by those of
citations.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conspectus.query.abstention import SEPARATORS, abstention
from conspectus.query.citations.forms import marks_in
from conspectus.query.citations.marks import written
from conspectus.query.citations.reference_list import without_references
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


@dataclass(frozen=True, slots=True)
class AnswerText:
    """The text of an answer with its marks, and whether it begins with the abstention word."""

    text: str
    is_nothing: bool


def answer_text(reply: str, cite: Cite, shown: int = 0) -> AnswerText:
    """Return the answer in a reply without thinking.

    The sentence before a mark is aligned with its source; marks may precede or follow the full stop. A dropped citation
    leaves no empty mark.

    Args:
        reply: The reply.
        cite: Resolves a cited number.
        shown: How many sources the model was shown (see `marks_in`).

    Example:
        >>> answer_text("**Answer:** It is so【2】, or not [7].", lambda _, number: [number] if number < 3 else []).text
        'It is so[2], or not.'
    """
    reply = reply.lstrip()
    label = _PREAMBLE.match(reply) or _LABEL.match(reply)
    reply = reply[label.end() :] if label else reply
    behind = abstention(reply)
    text = without_references(reply) if behind is None else without_references(behind).lstrip(SEPARATORS)
    told, at = list[str](), 0
    sentence, space, made = "", "", set[int]()
    for mark in marks_in(text, shown):
        passage = text[at : mark.start]
        told.append(passage)
        at = mark.end
        space = "" if passage else space
        if passage.strip():
            sentence, made = _last_sentence(passage), set()
        found = dict.fromkeys(number for cited in mark.numbers for number in cite(sentence, cited))
        fresh = [number for number in found if number not in made]
        made.update(fresh)
        if fresh:
            told.append((mark.space or space) + written(fresh))
        else:
            space = space or mark.space
    return AnswerText("".join([*told, text[at:]]).rstrip(), behind is not None)


def _last_sentence(passage: str) -> str:
    """Return the last sentence of a passage, without what leads in to its statement."""
    spans = sentence_spans(passage)
    said = passage[spans[-1][0] :].strip() if spans else passage.strip()
    lead_in = _LEAD_IN.match(said)
    return said[lead_in.end() :] if lead_in else said
