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
_BEGINS_CJK = frozenset("主参引资来出文脚注数信")
_BEGINS_MARKUP = frozenset("#*_>0123456789一二三四五六七八九十")
_ENTRY = re.compile(
    r"[\s>*•-]{0,8}(?:\[\^?(?P<mark>\d{1,3})\]:?|【(?P<lent>\d{1,3})】|\[[A-Z]{2}\]|(?P<number>\d{1,3})[.):、]|\^(?P<foot>\d{1,3})\b|https?://|"
    r"[*•-]\s(?=.*https?://))\s*\S"
)
_LINKED = re.compile(r"\s{0,3}\[\^?\d{1,3}\]:?\s*http")
_RULE = re.compile(r"\s*(?:[-*_=]{3,}|#+ .*|\*\*[^*\n]{1,30}\*\*:?)?\s*")
"""A line or paragraph that only separates parts of a list."""


class ReferenceList:
    """Removes the list of sources from an answer that arrives in pieces; `listed` are the numbers in it."""

    def __init__(self) -> None:
        self.listed: tuple[int, ...] = ()
        self._held = ""
        self._state = "line"
        self._told = False

    def take(self, piece: str, *, whole: bool = False) -> str:
        """Return the text outside of lists; `whole` means that nothing follows this piece."""
        told: list[str] = []
        for line in piece.splitlines(keepends=True):
            self._held += line
            while self._held and self._step(told, whole=False):
                pass
        while whole and self._held and self._step(told, whole=True):
            pass
        text = "".join(told)
        self._told = self._told or bool(text.strip())
        return text

    def _step(self, told: list[str], *, whole: bool) -> bool:
        """Process the text received so far; return whether more of it can be processed."""
        end = self._held.find("\n")
        line = self._held if end < 0 else self._held[:end]
        if self._state == "text":
            cut = len(self._held) if end < 0 else end + 1
            told.append(self._held[:cut])
            self._held = self._held[cut:]
            self._state = "text" if end < 0 else "line"
            return True
        if self._state == "line":
            if end < 0 and not whole and _may_begin(line):
                return False
            self._state = "text"
            begun = self._told or any(part.strip() for part in told)
            if begun and len(line) <= _LONGEST_HEADING and _is_heading(line):
                self._state = "heading"
            elif begun and _LINKED.match(line):
                self._state = "list"
            return True
        if self._state == "heading":
            return self._under_heading(whole=whole)
        if not whole:
            return False
        told.append(self._rest(self._held))
        self._held = ""
        return False

    def _under_heading(self, *, whole: bool) -> bool:
        """Decide from the first line under a heading whether a list follows."""
        lines = self._held.split("\n", _MOST_RULES + 1)[1:]
        first = next((line for line in (lines if whole else lines[:-1]) if not _RULE.fullmatch(line)), None)
        if first is None and not whole and len(lines) < _MOST_RULES:
            return False
        self._state = "list" if first is not None and _ENTRY.match(first) else "text"
        return True

    def _rest(self, held: str) -> str:
        """Return the paragraphs of a text that contain no entry."""
        kept = []
        listed: dict[int, None] = {}
        for place, paragraph in enumerate(re.split(r"(\n[ \t]*\n)", held)):
            found = [entry for line in paragraph.split("\n") if (entry := _ENTRY.match(line))]
            listed.update(dict.fromkeys(int(number) for entry in found for number in entry.groups() if number))
            if place and not found and not _RULE.fullmatch(paragraph):
                kept.append(paragraph)
        self.listed = tuple(listed)
        return "\n\n".join(part.strip() for part in kept)


def _is_heading(line: str) -> bool:
    return bool(_HEADING.fullmatch(line) or _HEADING_CJK.fullmatch(line))


def _may_begin(line: str) -> bool:
    """Return whether an incomplete line may become a heading or an entry."""
    text = line.lstrip()
    if not text or (len(line) <= _LONGEST_HEADING and text[0] in _BEGINS_MARKUP | _BEGINS_CJK):
        return True
    if text[0] in "[【-•":
        return len(line) < 20
    folded = text.casefold().rstrip(":：*_ ")
    return len(line) <= _LONGEST_HEADING and any(word.startswith(folded) or folded.startswith(word) for word in _WORDS)
