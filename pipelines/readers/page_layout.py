"""Order the lines of a page by their positions: columns one after the other, paragraphs, tables row by row.

Of a PDF, a page of two columns may be drawn row by row. A table looks the same. Columns of prose have long lines that
fill the column, and sentences that go on in the next line.
"""

import re
from collections import Counter
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
_LEAST_BESIDE = 4
_LEAST_IN_COLUMN, _LEAST_LENGTH, _WIDE = 0.5, 25, 0.7
_LEAST_CONTINUED = 0.3
_NEAR = 4
_FRACTION = re.compile(r"(?<=\d)(\d{1,2})\s{0,3}/\s{0,3}(\d{1,2})\s+")
_STOPPED = re.compile(r"[.!?:;。！？…]\W*$")
_LEAST_ROWS, _LEAST_SHARE = 2, 0.6


class Line(NamedTuple):
    """A line, or a cell of a table: its box, in which y grows downwards, and its text."""

    left: float
    top: float
    right: float
    bottom: float
    text: str


def blocks(lines: Sequence[Line]) -> Iterator[Line]:
    """Yield the paragraphs and tables of a page in reading order, each with the box around it.

    A page is divided at its largest blank: first at high ones, then between columns of prose, then between paragraphs.
    """
    if not lines:
        return
    height = median(line.bottom - line.top for line in lines)
    usual = _usual_gap(lines)
    waiting = [list(lines)]
    while waiting:
        part = waiting.pop()
        gap, y = _largest_gap([(line.top, line.bottom) for line in part])
        beside, x = _largest_gap([(line.left, line.right) for line in part])
        left, right = [line for line in part if line.right <= x], [line for line in part if line.right > x]
        if gap < _BAND * height and beside >= _GUTTER * height and _is_prose(left) and _is_prose(right):
            waiting += right, left
        elif gap >= max(_PARAGRAPH * height, _USUAL * usual):
            waiting += [line for line in part if line.bottom > y], [line for line in part if line.bottom <= y]
        else:
            rows = list(_rows(part))
            lefts, tops, rights, bottoms, _ = zip(*part, strict=True)
            text = _table(rows) or _paragraph(rows, max(rights))
            yield Line(min(lefts), min(tops), max(rights), max(bottoms), text)


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
    ordered = sorted(lines, key=lambda line: line.top)
    pieces = [Piece(line.left, -line.bottom, line.right, -line.top) for line in ordered]
    return len(lines) > 1 and is_prose(pieces, [line.text for line in ordered])


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


class Piece(NamedTuple):
    """The box of a piece of a line; y grows upwards."""

    left: float
    bottom: float
    right: float
    top: float


def in_reading_order(text: "PdfTextPage", said: str) -> str:
    """Return the text of a page, `said` as it is drawn, with columns one after the other and fractions in one line."""
    n_pieces = text.count_rects()
    if not 1 < n_pieces <= _MOST_PIECES or len(said) > _MOST_CHARACTERS:
        return said
    pieces = [Piece(*text.get_rect(at)) for at in range(n_pieces)]
    if _FRACTION.search(said):
        longest = max(pieces, key=lambda one: one.right - one.left)
        least = _WIDE * (longest.top - longest.bottom)
        small = {text.get_text_bounded(*one).strip() for one in pieces if one.top - one.bottom < least}
        said = _FRACTION.sub(lambda of: f" {of[1]}/{of[2]} " if {of[1], of[2]} <= small else of[0], said)
    lines = _joined(pieces)
    start = _second_column(lines)
    if start is None:
        return said
    words = [" ".join(text.get_text_bounded(*line).split()) for line in lines]
    first = [at for at, line in enumerate(lines) if line.right < start]
    second = [at for at, line in enumerate(lines) if line.left >= start - _NEAR]
    if not all(is_prose([lines[at] for at in column], [words[at] for at in column]) for column in (first, second)):
        return said
    ordered: list[str] = []
    waiting: list[str] = []
    for line, said_here in zip(lines, words, strict=True):
        if line.left >= start - _NEAR:
            waiting.append(said_here)
            continue
        if line.right >= start:  # across both columns
            ordered += waiting
            waiting = []
        ordered.append(said_here)
    return "\r\n".join([*ordered, *waiting])


def _joined(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the pieces of lines, in the order of drawing, those joined that touch."""
    lines: list[Piece] = []
    for piece in pieces:
        last = lines[-1] if lines else None
        if last and _is_beside(last, piece) and piece.left - last.right < max(_NEAR, (last.top - last.bottom) * _WIDE):
            lines[-1] = Piece(last.left, min(last.bottom, piece.bottom), piece.right, max(last.top, piece.top))
        else:
            lines.append(piece)
    return lines


def _is_beside(one: Piece, other: Piece) -> bool:
    shared = min(one.top, other.top) - max(one.bottom, other.bottom)
    return other.left >= one.right - _NEAR and 2 * shared > min(one.top - one.bottom, other.top - other.bottom)


def _second_column(lines: Sequence[Piece]) -> float | None:
    """Return where the second column begins, None if not most lines that are drawn side by side agree on it."""
    starts = [other.left for one, other in pairwise(lines) if _is_beside(one, other)]
    if len(starts) < _LEAST_BESIDE:
        return None
    (usual, _), *_ = Counter(round(start / _NEAR) for start in starts).most_common(1)
    near = [start for start in starts if abs(start - usual * _NEAR) <= _NEAR]
    return min(near) if len(near) >= max(_LEAST_BESIDE, _LEAST_IN_COLUMN * len(starts)) else None


def is_prose(lines: Sequence[Piece], words: Sequence[str]) -> bool:
    """Return whether the lines of a column are long, fill it, and go on within sentences."""
    widths = [line.right - line.left for line in lines]
    filled = sum(width >= _WIDE * max(widths) for width in widths)
    continued = [
        after[:1].islower() or not any(map(str.islower, after)) for one, after in pairwise(words)
        if not _STOPPED.search(one)
    ]  # fmt: skip
    is_long = median(map(len, words)) >= _LEAST_LENGTH or not any(map(str.islower, "".join(words)))
    return is_long and filled >= _LEAST_IN_COLUMN * len(lines) and sum(continued) >= _LEAST_CONTINUED * len(lines)
