"""Sanitise texts for the page: one line, no control characters, limited length."""

import re
from math import isfinite

from conspectus.storage.text.visible import visible

_MARKS = re.compile("([\u061c\u200e\u200f])")
"""Direction marks that Arabic and Hebrew texts need; their effect ends with the enclosing text."""


def line(text: str) -> str:
    r"""Return a text on one line, with control characters escaped except direction marks.

    >>> print(line("two\n lines \u202e"))
    two lines \u202e
    """
    parts = _MARKS.split(" ".join(text.split()))
    return "".join(part if place % 2 else visible(part) for place, part in enumerate(parts))


def shortened(text: str, most: int) -> str:
    """Return the first characters of a text, to the end of a word if one is near; a truncated text ends in "…".

    >>> shortened("Mara was beginning", 13)
    'Mara was…'
    """
    if len(text) <= most:
        return text
    kept = text[: most - 1]
    end = kept.rfind(" ")
    return f"{kept[:end] if end > most * 0.6 else kept}…"


def rounded(value: float, digits: int) -> float:
    """Return a number that JSON can represent: 0 for NaN and infinity, which other programs may write.

    >>> rounded(2.34567, 2), rounded(float("nan"), 2)
    (2.35, 0.0)
    """
    return round(value, digits) if isfinite(value) else 0.0


class Teller:
    """Shortens texts until together they fill a number of UTF-8 bytes; after that it returns empty texts.

    `cut` and `dropped` count the texts that were truncated or omitted; `left` is the number of remaining bytes.
    """

    def __init__(self, size: int) -> None:
        self.left = size
        self.cut = 0
        self.dropped = 0

    def told(self, text: str, most: int) -> str:
        """Return at most `most` characters of a text; "" if there is no more room."""
        whole = line(text)
        short = shortened(whole, most)
        if not self.has(len(short.encode())):
            self.dropped += bool(whole)
            return ""
        self.cut += short != whole
        return short

    def has(self, size: int) -> bool:
        """Reserve bytes and return whether they were available; if not, nothing remains for smaller requests either."""
        self.left = self.left - size if size <= self.left else 0
        return self.left > 0
