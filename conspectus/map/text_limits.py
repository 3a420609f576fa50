"""Sanitise texts for the page: one line, no control characters, limited length."""

import re
from math import isfinite

from conspectus.pipelines.readers.filenames import visible

_MARKS = re.compile("([\u061c\u200e\u200f])")
"""Marks of direction that Arabic and Hebrew texts need; what goes beyond them ends with the text they stand in."""


def line(text: str) -> str:
    r"""Return a text on one line, with signs that steer what shows it written out, but for marks of direction.

    >>> print(line("two\n lines \u202e"))
    two lines \u202e
    """
    parts = _MARKS.split(" ".join(text.split()))
    return "".join(part if place % 2 else visible(part) for place, part in enumerate(parts))


def shortened(text: str, most: int) -> str:
    """Return the first characters of a text, to the end of a word where one is near; what is cut ends in "…".

    >>> shortened("Mara was beginning", 13)
    'Mara was…'
    """
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    end = kept.rfind(" ")
    return f"{kept[:end] if end > most * 0.6 else kept}…"


def rounded(value: float, digits: int) -> float:
    """Return a number that JSON can hold: 0 where another program left one that is none, or endless.

    >>> rounded(2.34567, 2), rounded(float("nan"), 2)
    (2.35, 0.0)
    """
    return round(value, digits) if isfinite(value) else 0.0


class Teller:
    """Shortens texts until all together fill the bytes of UTF-8 that they may take; from then on it gives none at all.

    `cut` and `dropped` count the texts of which only the beginning, or nothing, was given; `left` the bytes.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.cut = 0
        self.dropped = 0

    def told(self, text: str, most: int) -> str:
        """Return a text of at most so many characters; "" where there is no more room."""
        whole = line(text)
        short = shortened(whole, most)
        if not self.has(len(short.encode())):
            self.dropped += bool(whole)
            return ""
        self.cut += short != whole
        return short

    def has(self, size: int) -> bool:
        """Take so many bytes, and tell whether they were there; where not, none is left for anything smaller either."""
        self.left = self.left - size if size <= self.left else 0
        return self.left > 0
