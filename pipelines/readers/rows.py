"""The rows that every reader yields: texts with metadata and places, before they become documents."""

import datetime
import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.storage.records import Anchor, Hyperlink, Place
from conspectus.storage.settings import InputSettings

Record = Mapping[str, object]
"""The columns of a record and their values."""

_LONGEST_TITLE = 300
_SHOWN_NAMES = 50
_LONGEST_NAME = 80
_MOST_WITHOUT_TEXT = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """A text. `number` counts from 1, and is None if the whole file is the text.

    `within` is the path of the text inside its file (a member of an archive, an attachment), "" for none. The target of
    a link is the address as written, with its # part; see `links.resolved`.
    """

    number: int | None
    id: str | None
    title: str | None
    text: str
    metadata: Mapping[str, str]
    places: tuple[Place, ...] = ()
    within: str = ""
    hyperlinks: tuple[Hyperlink, ...] = ()
    anchors: tuple[Anchor, ...] = ()


@dataclass(frozen=True, slots=True)
class Lost:
    """A row or a part of a file that cannot be read, and the reason. `number` and `within` are those of `Row`.

    `skipped`: the part is a file of a format without a reader.
    """

    number: int | None
    reason: str
    detail: str = ""
    within: str = ""
    skipped: bool = False


def row_of(number: int | None, record: Record, settings: InputSettings) -> Row | Lost:
    """Return the row of a record with a text column, or the reason why it cannot be read."""
    if settings.text_column not in record:
        return Lost(number, *no_column(settings.text_column, record).why)
    text = record[settings.text_column] or ""
    if not isinstance(text, str):
        return Lost(number, "the text is not a string", f"it is a {type(text).__name__}")
    text = clean(text)
    if not text.strip():
        return Lost(number, "empty")
    try:
        values = strings({name: value for name, value in record.items() if name != settings.text_column})
    except RecursionError:
        return Lost(number, "nested too deeply", "a value besides the text")
    named = (settings.id_column, settings.title_column)
    id_, title = (values.get(name, "") for name in named)
    metadata = {name: value for name, value in values.items() if name not in named}
    return Row(number, id_.strip() or None, as_title(title), text, metadata)


def numbered_record(number: int, value: object, kind: str) -> tuple[int, Record] | Lost:
    """Return a JSON object with its number; any other value is lost."""
    if isinstance(value, dict):
        return number, value
    return Lost(number, f"{kind} {number} is not a JSON object", f"it is a {type(value).__name__}")


def rows_with_text(records: Iterator[tuple[int, Record] | Lost], settings: InputSettings) -> Iterator[Row | Lost]:
    """Turn numbered records into rows. If the first ten thousand have no text, the file fails as a whole.

    Raises Unreadable for that, and if there are no records.
    """
    first: list[tuple[int, Record] | Lost] = []
    columns: dict[str, None] = {}
    for record in islice(records, _MOST_WITHOUT_TEXT):
        first.append(record)
        columns |= {} if isinstance(record, Lost) else dict.fromkeys(record[1])
        if settings.text_column in columns:
            break
    if not first:
        raise Unreadable("empty", "no rows")
    for record in chain(first, records if settings.text_column in columns else ()):
        if isinstance(record, Lost):
            yield record
        elif settings.text_column in columns:
            yield row_of(*record, settings)
    if columns and settings.text_column not in columns:
        raise no_column(settings.text_column, sorted(columns))


def mapping(value: object) -> dict[str, Any]:
    """Return an object of JSON, empty for any other value."""
    return value if isinstance(value, dict) else {}


def items(value: object) -> list[Any]:
    """Return a list of JSON, empty for any other value."""
    return value if isinstance(value, list) else []


def labelled(values: Mapping[str, str]) -> str:
    """Return the values of a record with the names of their columns, without empty ones and marks of a `Draft`.

    >>> labelled({"Name": "Maria", "Role": "Cook", "Left": "", "": "at noon"})
    'Name: Maria; Role: Cook; at noon'
    """
    pairs = ((" ".join(name.split()), " ".join(value.split())) for name, value in values.items())
    return "; ".join(f"{name}: {value}" if name else value for name, value in pairs if value).translate(NO_MARKS)


def no_column(name: str, columns: Collection[str]) -> Unreadable:
    """Return the error for a table without the text column; it names the columns."""
    return Unreadable(f"no text column {name!r} (input.text_column)", f"columns: {listed(columns) or 'none'}")


def listed(names: Collection[str]) -> str:
    """Return names for a message: the first fifty, truncated."""
    first = ", ".join(name[:_LONGEST_NAME] for name in islice(names, _SHOWN_NAMES))
    return f"{first} and {len(names) - _SHOWN_NAMES} more" if len(names) > _SHOWN_NAMES else first


def named_apart(columns: Sequence[str]) -> list[str]:
    """Return the names of columns, equal ones with a number; any number may have none.

    >>> named_apart(["tank", "value", "", "value", ""])
    ['tank', 'value', '', 'value (2)', '']
    """
    counts: Counter[str] = Counter()
    result: dict[int, str] = {}
    taken: set[str] = set()
    for at, name in enumerate(columns):
        result[at] = name
        while name and result[at] in taken:
            counts[name] += 1
            result[at] = f"{name} ({counts[name] + 1})"
        taken.add(result[at])
    return list(result.values())


def as_title(text: str | None) -> str | None:
    """Return a text as a title, on one line and of bounded length; None if nothing is left."""
    return " ".join(clean(text).split())[:_LONGEST_TITLE].strip() or None if text else None


def strings(record: Record) -> dict[str, str]:
    """Return the values that are not missing as strings; lists and mappings become JSON."""
    values = {clean(str(name)): _string(value) for name, value in record.items()}
    return {name: clean(value) for name, value in values.items() if value is not None}


def _string(value: Any) -> str | None:  # noqa: ANN401  (whatever a format can hold)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bool | Mapping | Sequence | set) and not isinstance(value, str):
        return json.dumps(
            value,
            ensure_ascii=False,
            default=lambda each: sorted(map(str, each)) if isinstance(each, set) else str(each),
        )
    return str(value)


_BLANKS = re.compile(r"[^\S\n]+")
_AROUND_BREAKS = re.compile(r" ?\n ?")
_UNSEEN = re.compile("[\xad\u200b\u2060\ufeff]")
_MARK = re.compile("([\x01\x02])([0-9]+)\\1")
_OPENING_MARKS = re.compile("((?:\x01[0-9]+\x01)+)(\\s+)")
_CLOSING_MARKS = re.compile("(\\s+)((?:\x02[0-9]+\x02)+)")
NO_MARKS = {0x01: None, 0x02: None}
"""The table for `str.translate` that removes the mark characters from a text of a file."""

_NO_TITLE = re.compile(
    r"""(?ix) \s*(?: untitled.* | \(?(?:anonymous|unspecified)\)? | microsoft\s+(?:word|powerpoint|excel)\s+-.*
        | (?:powerpoint|word)[\s-]+(?:presentation|document) | slide\s*1 | (?:no\s+)?title | document\d*
        | presentation\d*
        | .*\.(?:docx?|pptx?|xlsx?|tex|dvi|indd|pdf|qxd|fm|p65|ps|eps|rtf|odt|wpd|html?|ai)
        | [\W\d_]* )\s*"""
)


@dataclass(slots=True)
class Draft:
    """A text that is built block by block. Blocks are cleaned first, so places refer to the stored text.

    Links and anchors appear in a block as marks (`opening`, `closing`), which are removed when it is added. The marks
    of a block without text move to the next one.
    """

    places: list[Place] = field(default_factory=list)
    links: list[Hyperlink] = field(default_factory=list)
    anchors: dict[str, int] = field(default_factory=dict)
    _parts: list[str] = field(default_factory=list)
    _length: int = 0
    _waiting: list[tuple[str, str, int]] = field(default_factory=list)
    _marks: list[tuple[str, str]] = field(default_factory=list)
    _opened: dict[int, int] = field(default_factory=dict)
    _left_over: str = ""

    def opening(self, target: str, kind: str = "text") -> str:
        """Return the mark for the beginning of a link; `target` is the address as written."""
        self._marks.append((target, kind))
        return f"\x01{len(self._marks) - 1}\x01"

    def closing(self, mark: str) -> str:
        """Return the mark that ends the link which `mark` begins."""
        return mark.replace("\x01", "\x02")

    def anchor(self, name: str) -> str:
        """Return the mark for a place that links can lead to by a name."""
        return self.opening(name, "")

    def add(self, text: str, joint: str = "\n\n") -> bool:
        """Add a block, with `joint` before it unless it is the first; return whether it was not empty."""
        text = clean(text).strip()
        if not without_marks(text).strip():
            self._left_over += "".join(mark[0] for mark in _MARK.finditer(text))
            return False
        if self._parts:
            self._parts.append(joint)
            self._length += len(joint)
        self.places += [Place(self._length, *item) for item in self._waiting]
        self._waiting.clear()
        text = self._unmarked(self._left_over + text)
        self._left_over = ""
        self._parts.append(text)
        self._length += len(text)
        return True

    def add_heading(self, text: str, level: int) -> None:
        """Add a heading and its place."""
        label = as_title(without_marks(text))
        if label:
            self.begin("heading", label, level)
            self.add(text)

    def begin(self, kind: str, label: str, level: int = 0) -> None:
        """Begin a place with the next block; an empty earlier one of its kind (except headings) is dropped."""
        if kind != "heading":
            self._waiting = [item for item in self._waiting if item[0] != kind]
        self._waiting.append((kind, clean(label), level))

    def heading(self, level: int | None = None) -> str | None:
        """Return the first heading of a level, or of any; None without one."""
        levels = (level,) if level is not None else range(10)
        return next((place.label for place in self.places if place.kind == "heading" and place.level in levels), None)

    def __bool__(self) -> bool:
        return bool(self._parts)

    def text(self) -> str:
        """Return the text; raises Unreadable if there is none."""
        if not self:
            raise Unreadable("no text")
        return "".join(self._parts)

    def row(self, title: str | None, metadata: Mapping[str, str]) -> Row:
        """Return the text as the only row of a file, with its places, links and anchors."""
        text = self.text()
        links = tuple(sorted(self.links, key=lambda link: (link.start, link.end)))
        anchors = [Anchor(min(start, len(text) - 1), name) for name, start in self.anchors.items()]
        anchors.sort(key=lambda anchor: anchor.start)
        return Row(None, None, title, text, metadata, tuple(self.places), hyperlinks=links, anchors=tuple(anchors))

    def _unmarked(self, text: str) -> str:
        """Return a block without its marks, and note their places."""
        parts: list[str] = []
        at, end = self._length, 0
        for mark in _MARK.finditer(text):
            parts.append(text[end : mark.start()])
            at, end = at + len(parts[-1]), mark.end()
            number = int(mark[2])
            target, kind = self._marks[number]
            if not kind:
                self.anchors.setdefault(target, at)
            elif mark[1] == "\x01":
                self._opened[number] = at
            else:
                self.links.append(Hyperlink(self._opened.pop(number, at), at, target, kind=kind))
        return "".join(parts) + text[end:]


def without_marks(text: str) -> str:
    """Return the text of a block without the marks of links and anchors."""
    return _MARK.sub("", text)


def folded(text: str) -> str:
    """Return text with single blanks, without blanks around line breaks, and without invisible characters.

    Marks of a `Draft` move to the words that they belong to.
    """
    if "\x01" in text or "\x02" in text:
        text = _OPENING_MARKS.sub(r"\2\1", _CLOSING_MARKS.sub(r"\2\1", text))
        text = re.sub("\\s+((?:\x01[0-9]+\x01)+)$", r"\1", text)
    return _AROUND_BREAKS.sub("\n", _BLANKS.sub(" ", _UNSEEN.sub("", text))).strip()


def markdown_table(rows: Sequence[Sequence[str]], n_headers: int = 0) -> str:
    """Return the rows of a table as Markdown, a row a line; columns that are empty throughout are left out.

    The cells have no line breaks. The first `n_headers` rows are headers; a rule follows them.

    >>> print(markdown_table([["Name", "", "Role"], ["Maria", "", "Engineer"], ["Staff"]], n_headers=1))
    | Name | Role |
    | --- | --- |
    | Maria | Engineer |
    Staff
    """
    width = max(map(len, rows), default=0)
    used = [at for at in range(width) if any(at < len(row) and without_marks(row[at]).strip() for row in rows)]
    lines = []
    for number, row in enumerate(rows):
        cells = [row[at] if at < len(row) else "" for at in used]
        if sum(bool(without_marks(cell).strip()) for cell in cells) > 1:
            lines.append(" ".join(("|", *(f"{cell} |" if cell else "|" for cell in cells))))
            if number + 1 == n_headers:
                lines.append(" ".join(("|", *("--- |" for _ in cells))))
        elif whole := "".join(row):
            lines.append(whole)
    return "\n".join(lines)


def fenced(code: str, language: str = "") -> str:
    """Return lines of code between Markdown fences that are longer than any in them.

    >>> print(fenced("x = 1", "python"))
    ```python
    x = 1
    ```
    """
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def sensible_title(text: str | None) -> str | None:
    """Return a title from a file's properties; None for a default that a program wrote.

    >>> sensible_title("Microsoft Word - Report v2.doc"), sensible_title("Annual  Report")
    (None, 'Annual Report')
    """
    title = as_title(text)
    return None if title is None or _NO_TITLE.fullmatch(title) else title
