"""Text that a terminal or a reader of JSON shows as it is."""

import re

UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Characters that affect a terminal: control characters, Unicode line ends, changes of direction."""


def visible(text: str) -> str:
    r"""Return a text with its control characters escaped, so that it cannot affect a terminal.

    >>> print(visible("a\x1b[31m.txt\nread: b.txt"))
    a\x1b[31m.txt\x0aread: b.txt
    """
    return UNSEEN.sub(lambda found: _code(ord(found[0])), text)


def _code(sign: int) -> str:
    return f"\\x{sign:02x}" if sign < 0x100 else f"\\u{sign:04x}"
