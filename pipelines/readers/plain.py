"""Read plain text and Markdown. A file is one row, a very long file several, so that memory stays bounded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import regex
import yaml
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean, open_text, text_encoding
from conspectus.pipelines.readers.rows import Row, as_title, strings
from conspectus.storage.records import Anchor, Hyperlink, Place
from conspectus.storage.settings import InputSettings

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
    """Return the headings of a Markdown text as places: # to ######, and lines underlined with = or -.

    Fenced and indented code contains none. Labels are without emphasis, links and closing marks.
    """
    return tuple(_headings(text))


def _headings(text: str) -> Iterator[Place]:
    fence = ""
    above: tuple[int, str] | None = None  # a line that can be underlined: the first one of its paragraph
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


def markdown_links(text: str) -> tuple[tuple[Hyperlink, ...], tuple[Anchor, ...]]:
    """Return the links of a Markdown text, and its anchors: the headings, as GitHub names them, and <a id="...">.

    Links are inline, by reference, [[page]], or addresses between < and >. Fenced code contains none.
    """
    code = [found.span() for found in _FENCED.finditer(text)]
    targets = {_key(found[1]): found[2] for found in _TARGET.finditer(text)}
    found = [Hyperlink(*link.span(1), link[2]) for link in _INLINE_LINK.finditer(text)]
    found += [Hyperlink(*link.span(1), link[1]) for link in (*_AUTOLINK.finditer(text), *_PAGE_LINK.finditer(text))]
    for link in _REFERENCE.finditer(text):
        target = targets.get(_key(link[2] or link[1]))
        if target:
            found.append(Hyperlink(*link.span(1), target))
    anchors: dict[str, int] = {}
    for place in markdown_places(text):
        anchors.setdefault(re.sub(r"[^\w\- ]", "", place.label.lower()).replace(" ", "-"), place.start)
    for element in _NAMED.finditer(text):
        anchors.setdefault(element[1], element.start())
    links = sorted(found, key=lambda link: link.start)
    outside = (link for link in links if not any(start <= link.start < end for start, end in code))
    return tuple(outside), tuple(sorted((Anchor(at, name) for name, at in anchors.items()), key=lambda one: one.start))


def _key(name: str) -> str:
    return " ".join(name.casefold().split())


def _plain(marked: str) -> str:
    marked = _LINK.sub(r"\1", " ".join(marked.split())[:_LONGEST])
    return _MARKS.sub(r"\2", marked).strip()


_FENCED = re.compile(r"^ {0,3}(`{3,}|~{3,}).*?^ {0,3}\1", re.S | re.M)
_INLINE_LINK = re.compile(r"(?<!!)\[([^\[\]\n]{1,500})\]\([ ]?<?([^()\s<>]+)>?(?:\s+[\"'][^\n\"']*[\"'])?[ ]?\)")
_AUTOLINK = re.compile(r"<(https?://[^<>\s]+)>")
_REFERENCE = re.compile(r"(?<![!\]])\[([^\[\]\n]{1,500})\](?:\[([^\[\]\n]{0,500})\])?(?![(:\[])")
_PAGE_LINK = re.compile(r"\[\[([^\[\]\n|]{1,200})(?:\|[^\[\]\n]{0,200})?\]\]")
_TARGET = re.compile(r"^ {0,3}\[([^\[\]\n]+)\]:[ \t]*<?([^\s<>]+)", re.M)
_NAMED = re.compile(r"""<a\s[^<>]{0,200}?(?:id|name)=["']([^"'<>\s]+)["']""", re.I)

PART = 250_000
"""Maximum characters of a part of a text that is longer than `max_characters`.

Python stores all characters of a string as wide as its widest: in short parts one emoji widens little else.
"""

_TITLE = regex.compile(r"^Title:[ \t]*+(\S.*)$", regex.M)
_TITLE_LINES = 40
_FRONT_MATTER = regex.compile(r"---[ \t]*\n(?P<block>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", regex.S | regex.M)
_FRONT_MATTER_REACH = 1 << 16
_DEEPEST = 20


def read_plain(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text; one longer than `max_characters` as numbered parts that end with a paragraph or line."""
    title = None
    for number, text in _numbered(path, settings):
        if number in (None, 1):
            head = "\n".join(text[:20_000].split("\n", _TITLE_LINES)[:_TITLE_LINES])
            found = _TITLE.search(head)
            title = as_title(found[1] if found else None)
        yield Row(number, None, title, text, {})


def read_unnamed(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a file without a suffix (README, LICENSE) as a text; raises UnknownFormat for a file that is not text."""
    try:
        text_encoding(path)
    except Unreadable as error:
        raise UnknownFormat("unsupported format (no suffix)", f"{error.reason}: {error.detail}".rstrip(": ")) from error
    yield from read_plain(path, settings)


def read_markdown(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Markdown text, in parts like plain text.

    Front matter is metadata of all parts; headings are places; links and anchors are preserved.
    """
    title = None
    metadata: dict[str, str] = {}
    for number, text in _numbered(path, settings):
        if number in (None, 1):
            metadata, text = _front_matter(text)
            title = as_title(metadata.pop(settings.title_column, None)) or as_title(_heading(text))
            if not text.strip():
                if number:
                    continue
                raise Unreadable("empty", "nothing follows the front matter")
        links, anchors = markdown_links(text)
        yield Row(number, None, title, text, metadata, markdown_places(text), hyperlinks=links, anchors=anchors)


def _numbered(path: Path, settings: InputSettings) -> Iterator[tuple[int | None, str]]:
    """Yield the cleaned text of a file, in numbered parts if it is longer than `max_characters`."""
    with open_text(path) as stream:
        text = stream.read(settings.max_characters + 1)
        if len(text) <= settings.max_characters:
            if not text.strip():
                raise Unreadable("empty")
            yield None, clean(text)
            return
        number = 0
        for part in _parts(_blocks(text, stream), min(PART, settings.max_characters)):
            if part.strip():
                number += 1
                yield number, clean(part)
        if not number:
            raise Unreadable("empty")


def _blocks(first: str, stream: IO[str]) -> Iterator[str]:
    for start in range(0, len(first), PART):
        yield first[start : start + PART]
    del first
    while block := stream.read(PART):
        yield block


def _parts(blocks: Iterator[str], size: int) -> Iterator[str]:
    """Yield runs of at most `size` characters that together equal the blocks.

    >>> list(_parts(iter(["one two\\n", "three four", " five"]), 12))
    ['one two\\n', 'three four ', 'five']
    """
    kept = ""
    for block in blocks:
        kept += block
        start = 0
        while len(kept) - start > size:
            end = _end(kept, start, size)
            yield kept[start:end]
            start = end
        kept = kept[start:]
    if kept:
        yield kept


def _end(text: str, start: int, size: int) -> int:
    """Return the end of a part: after a blank line, a line or a word of its second half, else after `size`."""
    for sign in ("\n\n", "\n", " "):
        found = text.rfind(sign, start + size // 2, start + size)
        if found >= 0:
            return found + len(sign)
    return start + size


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the metadata at the beginning of a text, and the rest of the text."""
    front = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_REACH)
    values = _mapping(front["block"]) if front else None
    return (values, text[front.end() :]) if front and values is not None else ({}, text)


def _mapping(block: str) -> dict[str, str] | None:
    """Return the mapping of a YAML block, None if it is not a mapping (the block is then part of the text)."""
    try:
        values = yaml.safe_load(block) if _is_harmless(block) else None
        return strings(values) if isinstance(values, dict) else None
    except (yaml.YAMLError, ValueError, TypeError):  # also for values without a text form
        return None


def _is_harmless(block: str) -> bool:
    """Return whether YAML has no aliases (a few can form a huge value) and no deep nesting (slow to read)."""
    depth = 0
    for event in yaml.parse(block, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent) or depth > _DEEPEST:
            return False
    return True


def _heading(text: str) -> str | None:
    fenced = False
    for line in text.split("\n"):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif not fenced and line.startswith("# ") and (heading := line[2:].strip().rstrip("#").strip()):
            return heading
    return None
