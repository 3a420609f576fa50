"""Order the lines of a page by their positions: columns one after the other, paragraphs, tables row by row.

Of a PDF, a page of two columns may be drawn row by row. A table looks the same. Columns of prose have long lines that
fill the column, and sentences that go on in the next line.
"""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

from conspectus.pipelines.readers.pdf.unwrap import goes_on, lines_of, mended_joint
from conspectus.pipelines.readers.rows import markdown_table

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_BAND, _PARAGRAPH, _USUAL = 2.2, 0.6, 1.8
"""Blank heights, in line heights, from which the page is divided before its columns are, and between paragraphs, which
are also so many times farther apart than lines usually are."""
_GUTTER, _FILLED = 0.5, 0.75
_COMPARED = 50
_MOST_PIECES, _MOST_CHARACTERS = 600, 30_000
"""Beyond these the lines stay as they are drawn: the text of each piece costs the characters of the page."""
_LEAST_IN_COLUMN, _LEAST_LENGTH, _LEAST_SIGNS, _WIDE = 0.5, 25, 9, 0.7
_LEAST_CONTINUED = 0.3
_FRACTION = re.compile(r"(?<=\d)(\d{1,2})\s{0,3}/\s{0,3}(\d{1,2})\s+")
_STOPPED = re.compile(r"[.!?:;。！？…]\W*$")
_LEAST_ROWS, _LEAST_SHARE = 2, 0.6
HYPHEN = "\ufffe"
"""What PDFium writes for the hyphen of a word divided at a line's end; the text of a box lacks it."""


class Line(NamedTuple):
    """A line, or a cell of a table: its box, in which y grows downwards, and its text."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


def blocks(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the paragraphs and tables of a page in reading order, each with the box around it."""
    for part in _divided(lines)[0]:
        rows = list(_rows(part))
        text = _table(rows) or _paragraph(rows, max(line.right for line in part))
        yield _joined(part)._replace(text=text)


def _divided(lines: Sequence[Line]) -> tuple[list[list[Line]], int]:
    """Return the parts of a page in reading order, and how often it was divided between columns.

    It is divided at its largest blank: first at high ones, then between columns of prose, then between paragraphs.
    """
    parts: list[list[Line]] = []
    n_gutters = 0
    height = median(line.bottom - line.top for line in lines) if lines else 0.0
    usual = _usual_gap(lines)
    waiting = [list(lines)] if lines else []
    while waiting:
        part = waiting.pop()
        gap, y = _largest_gap([(line.top, line.bottom) for line in part])
        beside, x = _largest_gap([(line.left, line.right) for line in part])
        left, right = [line for line in part if line.right <= x], [line for line in part if line.right > x]
        if gap < _BAND * height and beside >= _GUTTER * height and _is_prose(left) and _is_prose(right):
            n_gutters += 1
            waiting += right, left
        elif gap >= max(_PARAGRAPH * height, _USUAL * usual):
            waiting += [line for line in part if line.bottom > y], [line for line in part if line.bottom <= y]
        else:
            parts.append(part)
    return parts, n_gutters


def _joined(lines: Sequence[Line]) -> Line:
    """Return the box around some lines with their texts."""
    lefts, tops, rights, bottoms, texts = zip(*lines, strict=True)
    return Line(min(lefts), min(tops), max(rights), max(bottoms), " ".join(texts))


def _largest_gap(spans: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the size of the largest gap that no span covers, and where it begins; 0 if there is none."""
    largest, at = 0.0, 0.0
    reached = min(start for start, _ in spans)
    for start, end in sorted(spans):
        if start - reached > largest:
            largest, at = start - reached, reached
        reached = max(reached, end)
    return largest, at


def _usual_gap(lines: Sequence[Line]) -> float:
    """Return the median blank between a line and the next one below it."""
    ordered = sorted(lines, key=lambda line: line.top)
    gaps = []
    for at, line in enumerate(ordered):
        for below in ordered[at + 1 : at + _COMPARED]:
            if below.top >= (line.top + line.bottom) / 2 and below.left < line.right and below.right > line.left:
                gaps.append(max(0.0, below.top - line.bottom))
                break
    return median(gaps) if gaps else 0.0


def _is_prose(lines: Sequence[Line]) -> bool:
    """Return whether the lines of a column are long, fill it, and go on within sentences."""
    rows = [_joined(row) for row in _rows(lines)] if len(lines) > 1 else []
    if len(rows) < 2:
        return False
    widths = [row.right - row.left for row in rows]
    filled = sum(width >= _WIDE * max(widths) for width in widths)
    continued = [
        after.text[:1].islower() or not any(map(str.islower, after.text))
        for one, after in pairwise(rows)
        if not _STOPPED.search(one.text)
    ]
    has_case = any(row.text.upper() != row.text.lower() for row in rows)
    is_long = median(len(row.text) for row in rows) >= (_LEAST_LENGTH if has_case else _LEAST_SIGNS)
    return is_long and filled >= _LEAST_IN_COLUMN * len(rows) and sum(continued) >= _LEAST_CONTINUED * len(rows)


def _rows(part: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield the lines that are beside each other, from left to right."""
    row: list[Line] = []
    for line in sorted(part, key=lambda line: line.top + line.bottom):
        if row and (line.top + line.bottom) / 2 > min(each.bottom for each in row):
            yield sorted(row)
            row = []
        row.append(line)
    yield sorted(row)


def _table(rows: Sequence[Sequence[Line]]) -> str:
    """Return the rows as a table, "" if most have one cell only or their cells do not form columns."""
    several = [row for row in rows if len(row) > 1]
    if len(several) < max(_LEAST_ROWS, _LEAST_SHARE * len(rows)):
        return ""
    starts: list[float] = []
    reached = float("-inf")
    for cell in sorted(cell for row in several for cell in row):
        if cell.left > reached:
            starts.append(cell.left)
        reached = max(reached, cell.right)
    if len(starts) < 2:
        return ""
    bounds = [float("-inf"), *starts[1:], float("inf")]
    cells = [
        [" ".join(cell.text for cell in row if first <= cell.left < last) for first, last in pairwise(bounds)]
        for row in rows
    ]
    return markdown_table(cells, n_headers=1)


def _paragraph(rows: Sequence[Sequence[Line]], right: float) -> str:
    """Return the lines joined where one reaches the right edge, or the next continues its sentence."""
    text = last = ""
    wide = half = False
    for row in rows:
        for line in lines_of(" ".join(cell.text for cell in row)):
            joint = mended_joint(last, line, ()) if goes_on(last, line, wide, half, new_page=False) else "\n"
            text = (text[:-1] if joint == "-" else text + joint if text else "") + line
            last = line
        reached = max(cell.right for cell in row) - row[0].left
        wide, half = reached >= _FILLED * (right - row[0].left), 2 * reached >= right - row[0].left
    return text


def in_reading_order(text: "PdfTextPage", said: str) -> str:
    """Return the text of a page, `said` as it is drawn, with columns one after the other and fractions in one line."""
    n_pieces = text.count_rects()
    if not 1 < n_pieces <= _MOST_PIECES or len(said) > _MOST_CHARACTERS:
        return said
    boxes = [text.get_rect(at) for at in range(n_pieces)]
    lines = [Line(box[0], -box[3], box[2], -box[1], " ".join(text.get_text_bounded(*box).split())) for box in boxes]
    longest = max(lines, key=lambda line: line.right - line.left)
    least = _WIDE * (longest.bottom - longest.top)
    small = {line.text.strip("/") for line in lines if line.bottom - line.top < least}
    said = _FRACTION.sub(lambda of: f" {of[1]}/{of[2]} " if {of[1], of[2]} <= small else of[0], said)
    parts, n_gutters = _divided([line for line in lines if line.text])
    parts = [
        [line._replace(text=f"{line.text}{HYPHEN}") if f"{line.text}{HYPHEN}" in said else line for line in part]
        for part in parts
    ]
    ordered = [" ".join(line.text for line in row) for part in parts for row in _rows(part)]
    return "\r\n".join(ordered) if n_gutters else said
