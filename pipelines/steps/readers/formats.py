"""What the formats hold: a file in, rows of text out, and what was lost on the way.

A text or Markdown file is one row, a table many. Nothing is read whole before its size is known.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import regex
import yaml

from pipelines.steps.readers.encodings import Unreadable, clean, open_text
from pipelines.steps.readers.rows import Lost, Row, as_title, strings, too_long
from pipelines.steps.readers.tabular import read_csv, read_json_lines, read_parquet
from storage.settings import InputSettings

_TITLE = regex.compile(r"^Title:[ \t]*+(\S.*)$", regex.M)
_TITLE_LINES = 40
_FRONT_MATTER = regex.compile(r"---[ \t]*\n(?P<block>.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", regex.S | regex.M)
_FRONT_MATTER_REACH = 1 << 16
_DEEPEST = 20


def read_rows(path: Path, settings: InputSettings) -> Iterator[Row | Lost]:
    """Yield the rows of a file, in file order, by the format that its suffix names.

    Raises Unreadable, possibly after some rows, where the rest of the file cannot be read.
    """
    suffix = path.suffix.lower()
    if suffix not in READERS:
        known = " ".join(sorted(READERS))
        raise Unreadable(f"unsupported format {suffix or '(no suffix)'}", f"these are read: {known}")
    if not path.is_file():
        raise Unreadable("not a regular file")
    return READERS[suffix](path, settings)


def _plain(path: Path, settings: InputSettings) -> Iterator[Row]:
    text = _whole(path, settings)
    head = "\n".join(text[:20_000].split("\n", _TITLE_LINES)[:_TITLE_LINES])
    title = _TITLE.search(head)
    yield Row(None, None, as_title(title[1] if title else None), text, {})


def _markdown(path: Path, settings: InputSettings) -> Iterator[Row]:
    text = _whole(path, settings)
    metadata: dict[str, str] = {}
    front = _FRONT_MATTER.match(text, 0, _FRONT_MATTER_REACH)
    if front:
        values = _front_matter(front["block"])
        if values is not None:
            metadata, text = values, text[front.end() :]
    title = as_title(metadata.pop(settings.title_column, None))
    if not text.strip():
        raise Unreadable("empty", "nothing follows the front matter")
    yield Row(None, None, title or as_title(_heading(text)), text, metadata)


def _front_matter(block: str) -> dict[str, str] | None:
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


def _whole(path: Path, settings: InputSettings) -> str:
    """Return the text of a file, which its size in bytes shows early to be too long."""
    if path.stat().st_size > 4 * (settings.max_characters + 1):
        raise too_long(settings)
    with open_text(path) as stream:
        text = stream.read(settings.max_characters + 1)
    if len(text) > settings.max_characters:
        raise too_long(settings)
    if not text.strip():
        raise Unreadable("empty")
    return clean(text)


READERS: Mapping[str, Callable[[Path, InputSettings], Iterator[Row | Lost]]] = {
    ".txt": _plain,
    ".md": _markdown,
    ".markdown": _markdown,
    ".csv": read_csv,
    ".jsonl": read_json_lines,
    ".ndjson": read_json_lines,
    ".parquet": read_parquet,
}
"""The formats, by suffix in small letters."""
