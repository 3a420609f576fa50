"""Delimiters around quoted texts in a prompt, chosen so that no text can contain its own end."""

import re
from collections.abc import Sequence

_CHARACTER = "="
_SHORTEST = 10


def delimiter_for(texts: Sequence[str]) -> str:
    """Return a delimiter line longer than any run of its character in the texts.

    >>> delimiter_for(["a == b", "=" * 12])
    '============='
    """
    longest = max((len(run) for text in texts for run in re.findall(f"{_CHARACTER}+", text)), default=0)
    return _CHARACTER * max(_SHORTEST, longest + 1)


def delimited(texts: Sequence[str]) -> str:
    """Return texts, each between two delimiter lines that none of them contains."""
    delimiter = delimiter_for(texts)
    return "\n\n".join(f"{delimiter}\n{text}\n{delimiter}" for text in texts)
