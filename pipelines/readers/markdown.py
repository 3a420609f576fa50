"""Where the headings of a Markdown text stand (CommonMark 0.31, sections 4.2, 4.3 and 4.5)."""

import re
from collections.abc import Iterator

from conspectus.storage.records import Place

_LONGEST = 300
_ATX = re.compile(r" {0,3}(#{1,6})(?=[ \t]|$)")
_CLOSING = re.compile(r"(?:^|[ \t])#+$")
_UNDERLINE = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})([^\n]*)$")
_NO_PARAGRAPH = re.compile(r" {4}|\t| {0,3}(?:>|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}(?:[ \t]|$)|\|)")
_BREAK = re.compile(r" {0,3}([-*_])(?:[ \t]*\1){2,}[ \t]*$")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*(?:\s[^()]*)?\)")
_MARKS = re.compile(r"(\*{1,3}|_{2,3}|`+|~~)(\S(?:.*?\S)?)\1")


def markdown_places(text: str) -> tuple[Place, ...]:
    """Return the headings of a Markdown text, as places in it: # to ######, and lines underlined with = or -.

    What stands in fenced or indented code is none. Labels are without emphasis, links and closing marks.
    """
    return tuple(_headings(text))


def _headings(text: str) -> Iterator[Place]:
    fence = ""
    above: tuple[int, str] | None = None  # a line that can be underlined: one of a paragraph, the first of it
    start = 0
    for line in text.split("\n"):
        if fence:
            closing = _FENCE.match(line)
            if closing and closing[1].startswith(fence) and not closing[2].strip():
                fence = ""
        elif (opening := _FENCE.match(line)) and not (opening[1][0] == "`" and "`" in opening[2]):
            fence, above = opening[1], None
        elif heading := _ATX.match(line):
            above = None
            if label := _plain(_CLOSING.sub("", line[heading.end() :].strip()[:_LONGEST])):
                yield Place(start, "heading", label, len(heading[1]))
        elif above and (underline := _UNDERLINE.match(line)):
            if label := _plain(above[1]):
                yield Place(above[0], "heading", label, 1 if underline[1][0] == "=" else 2)
            above = None
        elif not line.strip() or _BREAK.match(line) or (above is None and _NO_PARAGRAPH.match(line)):
            above = None if not line.strip() or _BREAK.match(line) else above
        elif above is None:
            above = (start, line)
        elif len(above[1]) < _LONGEST:
            above = (above[0], f"{above[1]} {line}")
        start += len(line) + 1


def _plain(marked: str) -> str:
    marked = _LINK.sub(r"\1", " ".join(marked.split())[:_LONGEST])
    return _MARKS.sub(r"\2", marked).strip()
