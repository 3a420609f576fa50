"""Order what was recognised on a picture of a page: columns one after the other, paragraphs, tables row by row."""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from conspectus.pipelines.readers.pdf.columns import Piece, is_prose
from conspectus.pipelines.readers.pdf.unwrap import goes_on, lines_of, mended_joint
from conspectus.pipelines.readers.rows import markdown_table

_BAND, _PARAGRAPH, _USUAL = 2.2, 0.6, 1.8
"""Blank heights, in line heights, from which the page is divided before its columns are, and between paragraphs, which
are also so many times farther apart than lines usually are."""
_GUTTER, _FILLED = 0.5, 0.75
_COMPARED = 50
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
