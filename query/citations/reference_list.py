"""Remove the list of sources at the end of many model answers, since an answer has its own list of citations.

A list is a heading ("References", "### Sources", "参考文献") and lines that begin with a number or mark. Text after the
list stays. The marks in a list cite nothing.
"""

import re

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
