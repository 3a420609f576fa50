"""Find the title of a page by the height of its lines, and lines of code by their font.

PDFium returns the font of each character. Only a few characters of each line are queried.
"""

import ctypes
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

import regex
from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.pdf.unwrap import lines_of
from conspectus.pipelines.readers.rows import as_title

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_BREAK = "\r\n"
_NO_SIGN = " \t\r\n\0\xa0"
_ASKED = 5
"""Number of characters of a line whose fonts are queried."""
_FEWEST_OF_CODE = 2
"""Minimum number of lines of a listing; a lone line may be a term, or a name in running text."""
_MONOSPACED = regex.compile(
    r"mono|nimbusmon|courier|typewriter|consol|menlo|fixed|lettergothic|teletype|inconsolata|andale|code"
    r"|(?:cm|lm|sf|ec)(?:sl|it)?tt",
    regex.I,
)
_FIXED_PITCH = 1
_MOST_BLANKS = 40
_LARGER = 1.2
"""Minimum ratio of the title's height to that of most lines of its page."""
_FIRST_LINES = 8
"""Number of lines within which the title begins."""
_LONGEST_TITLE = 150
_LETTERS = regex.compile(r"\p{L}{2}")


@dataclass(frozen=True, slots=True)
class _Line:
    """A line of a page, and the position of its first character on the page."""

    text: str
    start: int

    def asked(self) -> list[int]:
        """Return the positions of some of its characters, from the first to the last."""
        seen = [at for at, sign in enumerate(self.text) if sign not in _NO_SIGN]
        steps = min(_ASKED, len(seen))
        return [self.start + seen[round(step * (len(seen) - 1) / max(steps - 1, 1))] for step in range(steps)]


class PageFonts:
    """The fonts of the lines of a page that is open; its `text` has line breaks as PDFium writes them."""

    def __init__(self, page: "PdfTextPage", text: str) -> None:
        self._page = page
        self._lines: list[_Line] = []
        start = 0
        for line in _by_position(page, text).split(_BREAK):
            if line.strip(_NO_SIGN):
                self._lines.append(_Line(line, start))
            start += len(line) + len(_BREAK)

    def code(self) -> dict[str, list[str]]:
        """Return the lines of listings, indented as printed, by their form as lines of text (`lines_of`).

        A line that is printed several times occurs as often, in order.
        """
        found: dict[str, list[str]] = {}
        run: list[_Line] = []
        for line in (*self._lines, None):
            if line is not None and all(map(self._is_monospaced, line.asked())):
                run.append(line)
                continue
            if len(run) >= _FEWEST_OF_CODE:
                for line_of_text, printed in self._indented(run):
                    found.setdefault(line_of_text, []).append(printed)
            run = []
        return found

    def title(self) -> str:
        """Return the largest lines at the top of the page; "" if none is larger than most."""
        heights = [median(self._box(at)[1] for at in line.asked()) for line in self._lines]
        if len(heights) < 2:
            return ""
        top = max(heights[:_FIRST_LINES])
        if top < _LARGER * median(heights):
            return ""
        first = heights.index(top)
        last = first
        while last + 1 < len(heights) and heights[last + 1] >= 0.95 * top:
            last += 1
        said = " ".join(line.text.replace("\0", "").strip() for line in self._lines[first : last + 1])
        title = as_title(" ".join(lines_of(clean(said)))) or ""
        return title if _LETTERS.search(title) and len(title) <= _LONGEST_TITLE else ""

    def _is_monospaced(self, at: int) -> bool:
        from pypdfium2 import raw

        name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
        raw.FPDFText_GetFontInfo(self._page, at, name, 128, ctypes.byref(flags))
        return bool(flags.value & _FIXED_PITCH) or _MONOSPACED.search(name.value.decode("utf-8", "replace")) is not None

    def _indented(self, run: Sequence[_Line]) -> Iterator[tuple[str, str]]:
        """Yield the lines of a listing, indented by blanks that span their distance from the leftmost one."""
        lefts = [self._box(line.asked()[0])[0] for line in run]
        widths = [self._width(line) for line in run]
        width = median(each for each in widths if each > 0) if any(each > 0 for each in widths) else 0.0
        for line, left in zip(run, lefts, strict=True):
            said = clean(line.text.replace("\0", ""))
            plain = lines_of(said)
            blanks = round((left - min(lefts)) / width) if width else 0
            if plain:
                yield plain[0], " " * min(blanks, _MOST_BLANKS) + said.strip()

    def _width(self, line: _Line) -> float:
        first, last = line.asked()[0], line.asked()[-1]
        return (self._box(last)[0] - self._box(first)[0]) / (last - first) if last > first else 0.0

    def _box(self, at: int) -> tuple[float, float]:
        """Return the left edge and the height of a character, in points."""
        left, bottom, _, top = self._page.get_charbox(at, loose=True)
        return left, top - bottom


def _by_position(page: "PdfTextPage", text: str) -> str:
    """Return the text of a page with one character for each of its positions, NUL for an unreadable one."""
    from pypdfium2 import raw

    count = page.count_chars()
    if len(text) == count:
        return text
    return "".join(chr(raw.FPDFText_GetUnicode(page, at)) for at in range(count))
