"""File names: how they are stored, and which files are skipped."""

import re
from collections.abc import Iterable

UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that affect a terminal: control characters, Unicode line ends, changes of direction."""

_CLUTTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", "settings.yaml"})


def storable(name: str) -> str:
    """Return a file name with ? for every byte that is not UTF-8 (in Python a lone surrogate)."""
    return name.encode("utf-8", "replace").decode("utf-8")


def visible(text: str) -> str:
    r"""Return a text with its control characters escaped, so that it cannot affect a terminal.

    >>> print(visible("a\x1b[31m.txt\nread: b.txt"))
    a\x1b[31m.txt\x0aread: b.txt
    """
    return UNSEEN.sub(lambda found: _code(ord(found[0])), text)


def _code(sign: int) -> str:
    return f"\\x{sign:02x}" if sign < 0x100 else f"\\u{sign:04x}"


def is_wanted(parts: Iterable[str], hidden_too: bool = False) -> bool:
    """Return whether a path below an input is neither hidden nor a temporary file (such as `name~`)."""
    return not any(
        part.endswith("~") or part in _CLUTTER or (part.startswith(".") and not hidden_too) for part in parts
    )
