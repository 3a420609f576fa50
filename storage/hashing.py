"""Content hashes: short, stable ids."""

import hashlib
from functools import lru_cache
from pathlib import Path

_BLOCK = 1 << 20


def digest(*parts: str) -> str:
    """Return the sha256 (hex) of the parts; ("ab", "c") and ("a", "bc") differ."""
    # All together, each part after its length: twice as fast as part by part.
    return hashlib.sha256(b"".join([sized(part) for part in parts])).hexdigest()


def sized(part: str) -> bytes:
    """Return a part in the form that `digest` hashes: its length, then itself."""
    coded = part.encode("utf-8", "surrogatepass")
    return len(coded).to_bytes(8, "big") + coded


def short_id_of(parts: bytes) -> str:
    """Return the `short_id` of parts already `sized` and joined, for callers that reuse parts millions of times.

    >>> short_id_of(sized("ab") + sized("c")) == short_id("ab", "c")
    True
    """
    return hashlib.sha256(parts).hexdigest()[:16]


def short_id(*parts: str) -> str:
    """Return the 16-hex-digit id of the parts.

    >>> short_id("ab", "c") == short_id("a", "bc")
    False
    """
    return digest(*parts)[:16]


@lru_cache(100_000)
def entity_id(key: str) -> str:
    """Return the id of the entity with this key (see `conspectus.storage.text.normalise.entity_key`)."""
    return short_id("entity", key)


def mention_id(chunk_id: str, owner_id: str, start: int | None, end: int | None) -> str:
    """Return the id of a mention of an entity at a place."""
    parts = (_MENTION, _sized_id(chunk_id), _sized_id(owner_id), _sized_number(start), _sized_number(end))
    return short_id_of(b"".join(parts))


_MENTION = sized("mention")
_sized_id = lru_cache(100_000)(sized)


@lru_cache(10_000)
def _sized_number(number: int | None) -> bytes:
    return sized(str(number))


def file_digest(path: Path) -> str:
    """Return the sha256 (hex) of a file's bytes, read in blocks."""
    whole = hashlib.sha256()
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK):
            whole.update(block)
    return whole.hexdigest()
