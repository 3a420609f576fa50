"""Plain text and Markdown: a file is one row, and a very long one several, so that it never fills the memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import IO

import regex
import yaml
from conspectus.pipelines.readers.encodings import Unreadable, clean, open_text
from conspectus.pipelines.readers.markdown import markdown_places
from conspectus.pipelines.readers.row_types import Row, as_title, strings
from conspectus.storage.settings import InputSettings

PART = 250_000
"""Most characters of a part of a text that is longer than `max_characters`.

Python stores all characters of a string as wide as its widest: in short parts one emoji widens little else.
"""

_TITLE = regex.compile(r"^Title:[ \t]*+(\S.*)$", regex.M)
_TITLE_LINES = 40
_FRONT_MATTER = regex.compile(r"---[ \t]*\n(?P<block>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", regex.S | regex.M)
_FRONT_MATTER_REACH = 1 << 16
_DEEPEST = 20


def read_plain(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text; one longer than `max_characters` as numbered parts that end where a paragraph or line does."""
    title = None
    for number, text in _numbered(path, settings):
        if number in (None, 1):
            head = "\n".join(text[:20_000].split("\n", _TITLE_LINES)[:_TITLE_LINES])
            found = _TITLE.search(head)
            title = as_title(found[1] if found else None)
        yield Row(number, None, title, text, {})


def read_markdown(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a Markdown text, in parts as plain text is. Front matter is metadata of all parts; headings are places."""
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
        yield Row(number, None, title, text, metadata, markdown_places(text))


def _numbered(path: Path, settings: InputSettings) -> Iterator[tuple[int | None, str]]:
    """Yield the text of a file, clean; in numbered parts if it is longer than `max_characters`."""
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
    """Yield runs of at most `size` characters that together are the blocks.

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
    """Return where a part ends: after a blank line, a line or a word of its second half, else after `size`."""
    for sign in ("\n\n", "\n", " "):
        found = text.rfind(sign, start + size // 2, start + size)
        if found >= 0:
            return found + len(sign)
    return start + size


def _front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the metadata that a text begins with, and the text behind it."""
    front = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_REACH)
    values = _mapping(front["block"]) if front else None
    return (values, text[front.end() :]) if front and values is not None else ({}, text)


def _mapping(block: str) -> dict[str, str] | None:
    """Return the mapping that a block of YAML is; None where it is none (it is text then, not an error)."""
    try:
        values = yaml.safe_load(block) if _is_harmless(block) else None
        return strings(values) if isinstance(values, dict) else None
    except (yaml.YAMLError, ValueError, TypeError):  # also of values that have no text form
        return None


def _is_harmless(block: str) -> bool:
    """Tell whether YAML is without aliases (a few can be a huge value) and deep nesting (slow to read)."""
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
