"""Resolve hyperlinks: an address in a document becomes the name of another document and an anchor in it."""

import posixpath
from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import unquote, urlsplit

from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.filenames import storable
from conspectus.storage.records import Hyperlink

_WEB = ("http", "https", "ftp")
_LONGEST = 2_000
"""Maximum characters of an address; longer ones contain data."""


def resolved(uri: str, links: Sequence[Hyperlink]) -> Iterator[Hyperlink]:
    """Yield the links of a document whose targets are addresses as written, with targets as `Hyperlink` describes them.

    Relative addresses start from the folder of `uri`, the document. Non-web schemes (mailto, ...) are left out.

    >>> links = [Hyperlink(0, 1, "../b%20c.html#top"), Hyperlink(2, 3, "mailto:x@y.z")]
    >>> [one.target for one in resolved("docs/a.html", links)]
    ['b c.html']
    """
    for link in links:
        found = _resolved(uri, link.target.strip()) if len(link.target) <= _LONGEST else None
        if found:
            yield replace(link, target=found[0], anchor=found[1])


def _resolved(uri: str, address: str) -> tuple[str, str] | None:
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    anchor = clean(storable(unquote(parts.fragment)))
    if parts.scheme or parts.netloc:
        known = (parts.scheme or "https").lower() in _WEB and parts.netloc
        return (clean(parts._replace(scheme=parts.scheme or "https", fragment="").geturl()), anchor) if known else None
    path = clean(storable(unquote(parts.path)))
    if not path:
        return (uri, anchor) if anchor or not parts.query else None
    return posixpath.normpath(posixpath.join(posixpath.dirname(uri), path)), anchor
