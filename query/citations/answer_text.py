"""The text of a model's answer with the numbers of citations in it.

An answer is stripped of the abstention word, a line that only announces it ("Sure! Here is the answer:"), a label like
"Answer:", and its list of sources, since it has a list of citations: a heading ("References", "参考文献") and lines
that begin with a number or mark, whose marks cite nothing. Its marks, in any form (`forms.py`), are replaced by those
of citations.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from conspectus.query.abstention import SEPARATORS, abstention
from conspectus.query.citations.forms import marks_in
from conspectus.query.citations.marks import written
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


_LONGEST_HEADING = 40
_WORDS = tuple(
    word.strip()
    for word in (
        "references, reference list, reference, sources, source, source list, citations, bibliography, works cited, "
        "footnotes, quellen, quellenangaben, quellenverzeichnis, literatur, literaturverzeichnis, einzelnachweise, "
        "références, bibliographie, fuentes, referencias, bibliografía, fonti, riferimenti"
    ).split(",")
)
_MOST_RULES = 10
"""Most lines without a word between a heading and its list."""
_MARKUP = r"[\s#*_>\d.、)()一二三四五六七八九十-]*"
_HEADING = re.compile(
    rf"{_MARKUP}(?:[^\W\d]+[ ]){{0,2}}(?:{'|'.join(_WORDS)})"
    r"(?:\s(?:cited|used|consulted|list|(?:and|&|und|et|y)\s\w+))?[\s:：*_]*",
    re.IGNORECASE,
)
_HEADING_CJK = re.compile(
    rf"{_MARKUP}(?:主要|部分|其他)?(?:参考|引用|数据|信息|资料|文献){{0,2}}(?:文献|资料|来源|链接|出处|引用|脚注|注释|出典)"
    r"(?:[与和及]\w{2,6})?(?:列表|一览)?[\s:：*_]*"
)
_ENTRY = re.compile(
    r"[\s>*•-]{0,8}(?:\[\^?(?P<mark>\d{1,3})\]:?|【(?P<lent>\d{1,3})】|\[[A-Z]{2}\]|(?P<number>\d{1,3})[.):、]|\^(?P<foot>\d{1,3})\b|https?://|"
    r"[*•-]\s(?=.*https?://))\s*\S"
)
_LINKED = re.compile(r"\s{0,3}\[\^?\d{1,3}\]:?\s*http")
_RULE = re.compile(r"\s*(?:[-*_=]{3,}|#+ .*|\*\*[^*\n]{1,30}\*\*:?)?\s*")
"""A line or paragraph that only separates parts of a list."""


def without_references(text: str) -> str:
    """Return an answer without its list of sources.

    >>> without_references("It is so [1].\\n\\n**Sources:**\\n1. A page\\n\\nAsk again!")
    'It is so [1].\\n\\nAsk again!'
    """
    at, begun = 0, False
    for line in text.split("\n"):
        if begun and (_LINKED.match(line) or (_is_heading(line) and _is_list(text[at + len(line) + 1 :]))):
            return text[:at] + _rest(text[at:])
        begun = begun or bool(line.strip())
        at += len(line) + 1
    return text


def _is_list(below: str) -> bool:
    """Return whether a list stands below a heading, by its first line."""
    lines = below.split("\n", _MOST_RULES)[:_MOST_RULES]
    first = next((line for line in lines if not _RULE.fullmatch(line)), "")
    return _ENTRY.match(first) is not None


def _rest(held: str) -> str:
    """Return the paragraphs of a text that contain no entry."""
    kept = []
    for place, paragraph in enumerate(re.split(r"(\n[ \t]*\n)", held)):
        entries = any(_ENTRY.match(line) for line in paragraph.split("\n"))
        if place and not entries and not _RULE.fullmatch(paragraph):
            kept.append(paragraph)
    return "\n\n".join(part.strip() for part in kept)


def _is_heading(line: str) -> bool:
    return len(line) <= _LONGEST_HEADING and bool(_HEADING.fullmatch(line) or _HEADING_CJK.fullmatch(line))
