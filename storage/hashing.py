"""Identities: short, stable names for contents."""

import hashlib
from pathlib import Path

_BLOCK = 1 << 20


def digest(*parts: str) -> str:
    """Return the sha256 (hex) of the parts; ("ab", "c") and ("a", "bc") differ."""
    coded = [part.encode("utf-8", "surrogatepass") for part in parts]
    # All at once, each part after its length: twice as fast as part by part.
    sized = [piece for each in coded for piece in (len(each).to_bytes(8, "big"), each)]
    return hashlib.sha256(b"".join(sized)).hexdigest()


def short_id(*parts: str) -> str:
    """Return the 16-hex-digit id of the parts.

    >>> short_id("ab", "c") == short_id("a", "bc")
    False
    """
    return digest(*parts)[:16]


def file_digest(path: Path) -> str:
    """Return the sha256 (hex) of a file's bytes, read in blocks."""
    whole = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            whole.update(block)
    return whole.hexdigest()
