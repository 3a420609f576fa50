"""Names of the levels of the community hierarchy: `c0` (the coarsest) to `c3`, as in GraphRAG's evaluation.

The tables store levels as integers from 0; users, settings and method names write them as `c0`, `c1`, ...
"""

from typing import Literal, get_args

Level = Literal["c0", "c1", "c2", "c3"]
"""The levels that a setting, an option or a method can name. A hierarchy may be deeper or shallower."""
LEVELS: tuple[Level, ...] = get_args(Level)


def level_number(name: str) -> int:
    """Return the level with this name, 0 for the coarsest.

    >>> level_number("c2")
    2

    Raises:
        ValueError: The name is not "c" (or "C") and a number.
    """
    digits = name.lower().removeprefix("c")
    if not digits.isdecimal():
        raise ValueError(f"no level {name!r}")
    return int(digits)


def level_name(level: int) -> str:
    """Return the name of a level.

    >>> level_name(0)
    'c0'
    """
    return f"c{level}"
