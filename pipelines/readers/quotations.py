"""Separate the text written by the sender of a message from quotations, signatures and footers of mailing lists.

The text quoted in a reply is in the message that it answers, so it is not indexed again as words of another sender. We
use our own rules: email-reply-parser takes "-Anna" for a signature up to the next blank lines, and thereby loses
footnotes, postscripts and parts of patches (docs/decisions/web-pages-and-mail.md).
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.guards import local
from conspectus.storage.text.language_tables import by_language

if TYPE_CHECKING:
    from lxml.etree import _Element

_QUOTED = re.compile(r" {0,3}(?:[A-Z]{1,4}[a-z]?)?(?:> ?)+|[>|] ")
"""The prefix of a quoted line: > at any depth, or the initials of the author (Supercite)."""

_TABLE = by_language("conspectus.pipelines.readers", "quotations.txt")
_SAYS, _IS_ORIGINAL, _NAMES_OF_HEADERS, _DEVICES, _ELEMENTS = ("|".join(rows.values()) for rows in _TABLE.values())
_SAID = re.compile(rf"\b(?:{_SAYS})\b.{{0,60}}:\s*$", re.S | re.I)
_SAID_WHEN = re.compile(r"(?=.*\d)(?=.*(?:@|\d\d?:\d\d|\d{4}|\bat\b)).*:\s*$", re.S)
"""A pattern of other lines before a quotation that name its author and date."""

_LONGEST_ATTRIBUTION = 3
_ORIGINAL = re.compile(rf"\s*-{{2,}}\s*(?:{_IS_ORIGINAL})\s*-{{2,}}\s*", re.I)
_HEADER = re.compile(rf"\s*\*?(?:{_NAMES_OF_HEADERS})\s?:", re.I)
_FEWEST_HEADERS = 3
_PATCH = re.compile(r"diff --git |diff -|Index: \S|--- \S|@@ -\d")
_RULE = re.compile(r"\s*_{10,}\s*|-{10,} next part -{10,}\s*")
_SIGNATURE = re.compile(r"\s{0,2}--\s?")
_LONGEST_SIGNATURE = 12
"""Maximum lines after "--" that can be a signature; four are usual (RFC 3676, section 4.3, "-- ")."""

_DEVICE = re.compile(rf"(?:{_DEVICES})\S.{{0,60}}", re.I)
_ARMOUR = re.compile(r"-----BEGIN PGP SIGNATURE-----.*?(?:-----END PGP SIGNATURE-----|\Z)", re.S)
_SIGNED = re.compile(r"-----BEGIN PGP SIGNED MESSAGE-----\n(?:Hash: [^\n]*\n)*\n?")
_CITED = "quotation"
_CITING = frozenset(_ELEMENTS.split())
"""Classes and ids by which mail programs mark quotations and signatures in HTML."""


def written(text: str, is_reply: bool) -> str:
    """Return the text that the sender of a plain message wrote; "" for only quotation, signature or footer.

    Only a reply to another message quotes: elsewhere > may mark a prompt or a forward.

    >>> written("On 2 May 2024, Ada <ada@example.org> wrote:\\n> Is it on?\\n\\nYes, since noon.\\n\\n-- \\nBob", True)
    'Yes, since noon.'
    """
    lines = _SIGNED.sub("", _ARMOUR.sub("", text)).split("\n")
    lines = _without_footers(lines)
    if is_reply:
        lines = _without_quotations(lines)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def remove_quoted(root: "_Element") -> None:
    """Remove the quotations and signatures from the page of a message that is a reply."""
    from lxml import etree

    for element in root.iter():
        names = f"{element.get('class') or ''} {element.get('id') or ''}".lower().split()
        is_cited = local(element).lower() == "blockquote" and (element.get("type") or "").lower() == "cite"
        if local(element) and (is_cited or not _CITING.isdisjoint(names)):
            element.tag = _CITED
    etree.strip_elements(root, _CITED, with_tail=False)


def _without_footers(lines: Sequence[str]) -> list[str]:
    """Return the lines without the signature and the footer that mailing lists add."""
    end = len(lines)
    start = max(0, end - 3 * _LONGEST_SIGNATURE)
    for at in range(end - 1, start - 1, -1):
        is_rule = _RULE.fullmatch(lines[at]) is not None
        n_below = sum(bool(line.strip()) for line in lines[at + 1 : end])
        if (is_rule or _SIGNATURE.fullmatch(lines[at])) and n_below <= _LONGEST_SIGNATURE:
            end = at
    while end and (not lines[end - 1].strip() or _DEVICE.fullmatch(lines[end - 1].strip())):
        end -= 1
    return list(lines[:end])


def _without_quotations(lines: Sequence[str]) -> list[str]:
    kept: list[str] = []
    in_patch = in_quotation = False
    for at, line in enumerate(lines):
        in_patch = in_patch or bool(_PATCH.match(line))
        if not in_patch and (_ORIGINAL.fullmatch(line) or _begins_headers(lines, at)):
            break
        if not in_patch and _QUOTED.match(line):
            if not in_quotation:
                kept = _without_attribution(kept)
            in_quotation = True
            continue
        in_quotation = in_quotation and not line.strip()
        kept.append(line)
    return kept


def _begins_headers(lines: Sequence[str], at: int) -> bool:
    """Return whether the headers of another message begin at a line, as Outlook quotes them."""
    following = [line for line in lines[at : at + 8] if line.strip()][: _FEWEST_HEADERS + 1]
    return bool(_HEADER.match(lines[at])) and sum(map(bool, map(_HEADER.match, following))) >= _FEWEST_HEADERS


def _without_attribution(kept: list[str]) -> list[str]:
    """Return the lines without the last ones if they name the author of the next quotation ("On ... Ada wrote:")."""
    end = len(kept)
    while end and not kept[end - 1].strip():
        end -= 1
    for start in range(end - 1, max(-1, end - 1 - _LONGEST_ATTRIBUTION), -1):
        if not kept[start].strip():
            break
        said = "\n".join(kept[start:end])
        begins = start == 0 or not kept[start - 1].strip()
        if begins and (_SAID.search(said) or _SAID_WHEN.match(said)):
            return kept[:start]
    return kept
