"""Texts of others set apart in a prompt, so that none of them can look like its own end."""

import re
from collections.abc import Sequence

_SIGN = "="
_LEAST = 10


def fence_for(texts: Sequence[str]) -> str:
    """Return a line of marks that is longer than any that stands in the texts."""
    longest = max((len(run) for text in texts for run in re.findall(f"{_SIGN}+", text)), default=0)
    return _SIGN * max(_LEAST, longest + 1)


def fenced(texts: Sequence[str]) -> str:
    """Return texts, each between two equal lines of marks that stand in none of them."""
    fence = fence_for(texts)
    return "\n\n".join(f"{fence}\n{text}\n{fence}" for text in texts)
