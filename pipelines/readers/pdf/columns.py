"""Read a page of two columns that is drawn row by row: its lines are put in order by their positions.

A table looks the same. Columns of prose have long lines that fill the column, and sentences that go on in the next
line.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pypdfium2 import PdfTextPage

_MOST_PIECES, _MOST_CHARACTERS = 600, 30_000
"""Beyond these the lines stay as they are drawn: the text of each piece costs the characters of the page."""
_LEAST_ROWS = 4
_LEAST_SHARE, _LEAST_LENGTH, _FILLED = 0.5, 25, 0.7
_LEAST_CONTINUED = 0.3
_NEAR = 4
_FRACTION = re.compile(r"(?<=\d)(\d{1,2})\s{0,3}/\s{0,3}(\d{1,2})\s+")
_STOPPED = re.compile(r"[.!?:;。！？…]\W*$")


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
        least = _FILLED * (longest.top - longest.bottom)
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
        if (
            last
            and _is_beside(last, piece)
            and piece.left - last.right < max(_NEAR, (last.top - last.bottom) * _FILLED)
        ):
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
    if len(starts) < _LEAST_ROWS:
        return None
    (usual, _), *_ = Counter(round(start / _NEAR) for start in starts).most_common(1)
    near = [start for start in starts if abs(start - usual * _NEAR) <= _NEAR]
    return min(near) if len(near) >= max(_LEAST_ROWS, _LEAST_SHARE * len(starts)) else None


def is_prose(lines: Sequence[Piece], words: Sequence[str]) -> bool:
    """Return whether the lines of a column are long, fill it, and go on within sentences."""
    widths = [line.right - line.left for line in lines]
    filled = sum(width >= _FILLED * max(widths) for width in widths)
    continued = [
        after[:1].islower() or not any(map(str.islower, after)) for one, after in pairwise(words)
        if not _STOPPED.search(one)
    ]  # fmt: skip
    is_long = median(map(len, words)) >= _LEAST_LENGTH or not any(map(str.islower, "".join(words)))
    return is_long and filled >= _LEAST_SHARE * len(lines) and sum(continued) >= _LEAST_CONTINUED * len(lines)
