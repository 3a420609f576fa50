"""Numbers for texts, in the order in which they are first asked for."""

from collections import defaultdict
from itertools import count


def numbering() -> defaultdict[str, int]:
    """Return a mapping that gives each new key the next number, from 0.

    >>> numbers = numbering()
    >>> [numbers[word] for word in ("ferry", "fern", "ferry")]
    [0, 1, 0]
    """
    return defaultdict(count().__next__)
