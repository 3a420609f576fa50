"""Read plain text and Rich Text. A file is one row, a very long text several, so that memory stays bounded."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import regex
from conspectus.pipelines.readers.encodings import UnknownFormat, Unreadable, clean, open_text
from conspectus.pipelines.readers.rows import Draft, Row, as_title
from conspectus.storage.settings import InputSettings

PART = 250_000
"""Maximum characters of a part of a text that is longer than `max_characters`.

Python stores all characters of a string as wide as its widest: in short parts one emoji widens little else.
"""

_TITLE = regex.compile(r"^Title:[ \t]*+(\S.*)$", regex.M)
_TITLE_LINES = 40
_FONT = re.compile(r"\\f(\d{1,6})\b[^;]{0,80}?\\fcharset(\d{1,3})")


def read_plain(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a text; one longer than `max_characters` as numbered parts that end with a paragraph or line."""
    title = None
    for number, text in numbered_parts(path, settings):
        if number in (None, 1):
            head = "\n".join(text[:20_000].split("\n", _TITLE_LINES)[:_TITLE_LINES])
            found = _TITLE.search(head)
            title = as_title(found[1] if found else None)
        yield Row(number, None, title, text, {})


def read_unnamed(path: Path, settings: InputSettings) -> Iterator[Row]:
    """Yield a file without a suffix (README, LICENSE) as a text; raises UnknownFormat for a file that is not text."""
    try:
        open_text(path).close()
    except Unreadable as error:
        raise UnknownFormat("unsupported format (no suffix)", f"{error.reason}: {error.detail}".rstrip(": ")) from error
    yield from read_plain(path, settings)


def numbered_parts(path: Path, settings: InputSettings) -> Iterator[tuple[int | None, str]]:
    """Yield the cleaned text of a file, in numbered parts if it is longer than `max_characters`."""
    with open_text(path) as stream:
        text = stream.read(settings.max_characters + 1)
        is_whole = len(text) <= settings.max_characters
        stream.seek(0)
        parts = [text] if is_whole else _parts(stream, min(PART, settings.max_characters))
        number = 0
        for number, part in enumerate(filter(str.strip, parts), start=1):
            yield None if is_whole else number, clean(part)
        if not number:
            raise Unreadable("empty")


def _parts(stream: IO[str], size: int) -> Iterator[str]:
    """Yield runs of at most `size` characters that together equal a stream.

    >>> from io import StringIO
    >>> list(_parts(StringIO("one two\\nthree four five"), 12))
    ['one two\\n', 'three four ', 'five']
    """
    kept = ""
    while kept := kept + stream.read(size + 1 - len(kept)):
        end = _end(kept, size) if len(kept) > size else size
        yield kept[:end]
        kept = kept[end:]


def _end(text: str, size: int) -> int:
    """Return the end of a part: after a blank line, a line or a word of its second half, else after `size`."""
    for sign in ("\n\n", "\n", " "):
        found = text.rfind(sign, size // 2, size)
        if found >= 0:
            return found + len(sign)
    return size


def read_whole(path: Path) -> str:
    """Return the cleaned text of a file; raises Unreadable where it is empty."""
    with open_text(path) as stream:
        text = clean(stream.read())
    if not text.strip():
        raise Unreadable("empty")
    return text


def read_rtf(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield the text of a Rich Text file; raises Unreadable for a file that is damaged or too large."""
    from striprtf.striprtf import rtf_to_text

    content = path.read_bytes()
    if not content.lstrip().startswith(b"{\\rtf"):
        raise Unreadable("damaged document", "it does not begin like Rich Text")
    # The patterns of striprtf for links and fonts take cubic time on hostile files: it gets neither.
    markup = content.decode("latin-1").replace("\\fldinst", "\\unread")
    before, table, after = markup.partition("{\\fonttbl")
    if table:
        fonts = "".join(
            f"{{\\f{number}\\fcharset{charset} F;}}\n" for number, charset in _FONT.findall(after[:100_000])
        )
        markup = f"{before}{{\\fonttbl{fonts}}}{{\\*\\unread{after.replace(table, '')}"
    try:
        text: str = rtf_to_text(markup, errors="replace")  # type: ignore[no-untyped-call]
    except (ValueError, LookupError, IndexError) as error:
        raise Unreadable("damaged document", str(error)[:200]) from error
    draft = Draft()
    for paragraph in clean(text).split("\n"):
        draft.add(paragraph)
    yield draft.row(None, {})
