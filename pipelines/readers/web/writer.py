"""Write the elements of a web page as blocks of a draft.

Paragraphs are separated by blank lines, items of lists begin with "- " or a number, a term of a definition list
precedes its definition ("term: definition"), rows of tables are Markdown rows ("| a | b |"), and preformatted text is
fenced (three backquotes), with its lines unchanged. Such a term, and the content of <dfn>, is a definition link.
"""

import re
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.guards import local
from conspectus.pipelines.readers.rows import NO_MARKS, Draft, fenced, folded, markdown_table, without_marks
from conspectus.pipelines.readers.web.boilerplate import BOUNDARIES, CONTENTS, link_kind

if TYPE_CHECKING:
    from lxml.etree import _Element

_LISTS = ("ul", "ol", "menu", "dir")
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LONGEST_TERM = 300
_WHITE = re.compile(r"\s+")
HERE, DEFINITION = "#", "definition"
"""Address and kind of the link that marks a term at its definition."""


class PageWriter:
    """Turns the elements of a page, in document order, into blocks of a draft."""

    def __init__(self, draft: Draft, title: str | None = None) -> None:
        self._draft = draft
        self._title = title
        self._below = 0  # 1 after a title that is not a heading: headings are one level deeper
        self._pending: list[str] = []
        self._joint = "\n\n"
        self._mark = ""
        self._term = ""
        self._in_term = False
        self._tables: list[bool] = []  # for each open table, whether it contains data (not the page's layout)
        self._row: list[str] | None = None
        self._header = False  # whether all cells of the row are headers
        self._rows: list[list[str]] = []
        self._headers = 0  # the number of header rows at the top
        self._lists: list[int] = []  # for each open list, the next number; 0 for a list without numbers
        self._pre = 0
        self._marks: dict[str, str] = {}  # the marks of the open link and of the open term of a definition

    def open(self, name: str, element: "_Element") -> None:
        """Begin an element. An anchor belongs to the block that the element begins."""
        self._open(name, element)
        names = {element.get("id"), element.get("name") if name == "a" else None}
        self._pending += [self._draft.anchor(clean(one)) for one in sorted(filter(None, names))]
        if name == "a" and element.get("href") is not None:
            self._end_mark("a")
            self._marks["a"] = self._draft.opening(element.get("href") or "")
            self._pending.append(self._marks["a"])
        elif name == "dfn" and "dfn" not in self._marks:
            self._marks["dfn"] = self._draft.opening(HERE, DEFINITION)
            self._pending.append(self._marks["dfn"])

    def close(self, name: str) -> None:
        """End an element."""
        if name in ("a", "dfn"):
            self._end_mark(name)
        elif name == "table" and self._row is None and self._tables:
            self._end_rows()
            self.end_block()
            self._tables.pop()
            self._joint = "\n\n"
        elif name in ("td", "th") and self._row is not None:
            self._row.append(self._take().replace("\n", " "))
        elif name == "tr" and self._row is not None:
            rest = self._take()
            self._headers += self._header and len(self._rows) == self._headers
            self._rows.append([*self._row, *([rest] if rest else [])])
            self._row = None
        elif name in _HEADINGS and self._row is None:
            self._heading(self._take(), _HEADINGS[name] + self._below)
        elif name == "pre" and self._row is None:
            self._end_code()
        elif name in BOUNDARIES:
            self._boundary(name, closing=True)
            if name in _LISTS and self._lists:
                self._lists.pop()
                if not self._lists:
                    self._joint = "\n\n"

    def write(self, text: str | None) -> None:
        """Write text of an element."""
        if text:
            text = text.translate(NO_MARKS)
            self._pending.append(text if self._pre and self._row is None else _WHITE.sub(" ", text))

    def pass_over(self, element: "_Element", kind: str) -> None:
        """Retain the anchors of a part that is not text, and its links to contents or from page to page."""
        for item in element.iter():
            if isinstance(item.tag, str) and item.get("id"):
                self._pending.append(self._draft.anchor(clean(item.get("id") or "")))
            if isinstance(item.tag, str) and local(item).lower() == "a" and item.get("href"):
                said = CONTENTS if kind == CONTENTS else link_kind(item)
                if said:
                    self.link_without_text(item.get("href") or "", said)

    def link_without_text(self, address: str, kind: str) -> None:
        """Retain a link whose text is not part of the document."""
        mark = self._draft.opening(address, kind)
        self._pending += (mark, self._draft.closing(mark))

    def end(self) -> None:
        """Add the remaining text at the end of the page."""
        self.end_block()
        self._end_rows()
        self._flush_term()

    def end_block(self) -> None:
        """Add the text since the last block."""
        text = self._take()
        seen = without_marks(text)
        if (
            self._title
            and " ".join(seen.split()) == self._title
            and not (self._mark or self._term or self._draft.places)
        ):
            self._heading(text, 1)
            self._below = 1
            return
        before = f"{self._mark}{self._term}" if seen else ""
        if text and self._draft.add(before + text, self._joint):
            self._joint, self._mark, self._term = "\n\n", "", ""

    def _open(self, name: str, element: "_Element") -> None:
        if name == "table" and self._row is None:
            self.end_block()
            self._end_rows()
            self._tables.append(not _is_layout(element))
        elif name == "br":
            self._pending.append("\n" if self._row is None else " ")
        elif name == "tr" and self._row is None and self._tables and self._tables[-1]:
            self.end_block()
            self._row, self._header = [], True
        elif name in ("td", "th") and self._row is not None:
            self._header = self._header and name == "th"
            self._boundary(name, closing=False)
        elif name in BOUNDARIES:
            self._boundary(name, closing=False)
            if name in _LISTS:
                start = element.get("start") or "1"
                self._lists.append((int(start) if start.isascii() and start.isdecimal() else 1) if name == "ol" else 0)
            if name == "li" and self._row is None:
                self._mark = self._item_mark()
            self._pre += name == "pre" and self._row is None

    def _item_mark(self) -> str:
        if not self._lists or not self._lists[-1]:
            return "- "
        self._lists[-1] += 1
        numbered = self._lists if all(self._lists) else self._lists[-1:]  # a clause of a contract: "3.1"
        return "".join(f"{number - 1}." for number in numbered) + " "

    def _end_mark(self, name: str) -> None:
        if name in self._marks:
            self._pending.append(self._draft.closing(self._marks.pop(name)))

    def _end_rows(self) -> None:
        rows, headers = self._rows, self._headers
        self._rows, self._headers = [], 0
        if rows and self._draft.add(markdown_table(rows, headers if headers < len(rows) else 0), self._joint):
            self._joint = "\n\n"

    def _heading(self, text: str, level: int) -> None:
        self._mark = self._term = ""
        if " ".join(without_marks(text).split()) == self._title:
            self._title = None
        self._draft.add_heading(text.replace("\n", " "), level)
        self._joint = "\n\n"

    def _end_code(self) -> None:
        text = "".join(self._pending).expandtabs(8).strip("\n")
        self._pending.clear()
        self._pre = max(0, self._pre - 1)
        if self._pre:
            self._pending.append(text)
            return
        if self._term and self._draft.add(self._mark + self._term.strip(), self._joint):
            self._joint = "\n"
        self._mark = self._term = ""
        if self._draft.add(fenced(text) if without_marks(text).strip() else text, self._joint):
            self._joint = "\n\n"

    def _boundary(self, name: str, *, closing: bool) -> None:
        if self._row is not None:
            self._pending.append(" ")
            return
        if name == "dt" and (closing or self._in_term):  # the parser nests a term in the one before it
            self._end_term()
        self._in_term = name == "dt" and not closing
        if name == "dt":
            return
        if name == "dl" and closing and self._term:
            self._flush_term()
        self.end_block()
        if name == "dl" and closing and not self._lists:
            self._joint = "\n\n"
        elif name in ("dd", "dt") or (self._lists and (closing or name in _LISTS)):
            self._joint = "\n"

    def _end_term(self) -> None:
        """Store a term for its definition; several terms of one definition are separated by commas."""
        text = self._take()
        seen = without_marks(text).strip()
        if not seen:
            self._pending.append(text)
            return
        if len(self._term) + len(seen) > _LONGEST_TERM:
            self._flush_term()
            self._pending.append(text)
            self.end_block()
            self._joint = "\n"
            return
        before = f"{self._term.rstrip(': ')}, " if self._term else ""
        mark = self._draft.opening(HERE, DEFINITION)
        text = f"{mark}{text}{self._draft.closing(mark)}"
        self._term = before + text.replace("\n", " ") + (" " if seen.endswith((":", "?", "!", "—", "-")) else ": ")

    def _flush_term(self) -> None:
        if self._term and self._draft.add(self._term.strip().removesuffix(":"), self._joint):
            self._joint = "\n"
        self._term = ""

    def _take(self) -> str:
        text = folded("".join(self._pending)) if not self._pre else "".join(self._pending).strip("\n")
        self._pending.clear()
        return text


def _is_layout(table: "_Element") -> bool:
    """Return whether a table only arranges the page: its cells contain tables, headings, code or several paragraphs."""
    for element in table.iterdescendants():
        name = local(element).lower()
        if name in ("table", "h1", "h2", "h3", "h4") or (name == "pre" and "\n" in (element.text or "").strip()):
            return True
        if name == "td" and sum(local(item).lower() == "p" for item in element) > 1:
            return True
    return False
