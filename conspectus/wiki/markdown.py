"""Untrusted texts and names as Markdown: what a page shows is exactly the text, whatever signs it contains."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping

from conspectus.rows import json_text
from conspectus.storage.hashing import digest
from conspectus.storage.text.normalise import entity_key
from conspectus.storage.text.visible import UNSEEN

_SIGNS = re.compile(
    r"(?P<entity>[&<>])|(?P<escaped>[\\`*_{}\[\]|~=^$%#!]|:(?=//)|(?<![^\n])(?:[-+:]|\d+(?=[.)])))"
    rf"|(?P<coded>(?!\n){UNSEEN.pattern}|(?<![^\n]) )"
)
"""Signs of Markdown and Obsidian anywhere or at the start of a line, of HTML, and those that are not visible."""
_OF_LINKS = str.maketrans({sign: chr(ord(sign) + 0xFEE0) for sign in "[]{}<>|`\\*~=$%^#;"})
_OF_NAMES = _OF_LINKS | str.maketrans({sign: chr(ord(sign) + 0xFEE0) for sign in '":/?'})
"""Signs that links or file names cannot contain, as the full-width forms of the same signs."""
_LONGEST_NAME, _LONGEST_LABEL = 60, 120
_RESERVED = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)(?:\..*)?", re.IGNORECASE)
"""Names of devices in Windows."""


def escaped(text: str) -> str:
    r"""Return Markdown that shows a text, line by line, and nothing else.

    >>> print(escaped("1. <b>[[x]]</b> #tag"), escaped("- a"))
    1\. &lt;b&gt;\[\[x\]\]&lt;/b&gt; \#tag \- a
    """
    return _SIGNS.sub(_written, text)


def one_line(text: str) -> str:
    """Return Markdown that shows a text on one line."""
    return escaped(" ".join(text.split()))


def label(text: str) -> str:
    """Return a text that can be the label of a link.

    >>> label("a [b] | c")
    'a ［b］ ｜ c'
    """
    return _plain(text).translate(_OF_LINKS)[:_LONGEST_LABEL]


def page_names(titles: Mapping[str, str]) -> dict[str, str]:
    """Return a file name (without extension) for each title, by id: valid on every system, and unique there.

    Case and compatible forms of signs do not distinguish names. Pages whose titles are not distinct have a part of the
    hash of their id in their names.

    >>> page_names({"1": "AC/DC", "2": "nul", "3": "..."})
    {'1': 'AC／DC', '2': '_nul', '3': 'untitled'}
    """
    names = {id_: _file_name(title) for id_, title in titles.items()}
    times = Counter(map(entity_key, names.values()))
    return {id_: name if times[entity_key(name)] == 1 else f"{name} {digest(id_)[:16]}" for id_, name in names.items()}


def front_matter(values: Mapping[str, object]) -> list[str]:
    """Return the lines of a YAML block; empty values are left out. JSON is YAML."""
    return ["---", *(f"{key}: {json_text(value)}" for key, value in values.items() if value not in ("", [], {})), "---"]


def _written(sign: re.Match[str]) -> str:
    if sign["entity"]:
        return {"&": "&amp;", "<": "&lt;", ">": "&gt;"}[sign[0]]
    if sign["coded"]:
        return f"&#{ord(sign[0])};"
    return f"{sign[0]}\\" if sign[0][-1].isdigit() else f"\\{sign[0]}"


def _plain(text: str) -> str:
    """Return a text on one line without signs that are not visible, or that are not assigned."""
    signs = unicodedata.normalize("NFC", " ".join(text.split()))
    return " ".join("".join(sign for sign in signs if not unicodedata.category(sign).startswith("C")).split())


def _file_name(title: str) -> str:
    name = _plain(title).translate(_OF_NAMES)[:_LONGEST_NAME].strip(" .") or "untitled"
    return f"_{name}" if _RESERVED.fullmatch(unicodedata.normalize("NFKC", name)) else name
