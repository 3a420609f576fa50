"""Which large files of a version were intact when they were last hashed, kept beside the index.

Hashing 50 GB before a question would take a minute in every process. A file of at least `LARGE_FILE` bytes that was
hashed once, by the build or a reader, counts as intact while its inode, size and times stay the same, as git does with
the files of a checkout. Whoever changes a byte changes the times; a bit that the disk loses is found by `verify`, which
hashes everything.
"""

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

LARGE_FILE = 16_000_000
"""Bytes from which a file is not hashed in every process; below, hashing takes some ten milliseconds."""
FOLDER = "checked"
"""The folder below INDEX/cache, deleted with its version (see `derived`)."""


def state(found: os.stat_result, checksum: str) -> list[int | str]:
    """Return what must be the same for a file to count as unchanged."""
    return [found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, checksum]


def is_remembered(version: Path, name: str, known: list[int | str]) -> bool:
    """Return whether a file of a version was intact in this state."""
    return _remembered(version).get(name) == known


def remember(version: Path, states: Mapping[str, list[int | str]]) -> None:
    """Remember the states of intact files of a version; does nothing if the index is read-only."""
    if not states:
        return
    place = _place(version)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".", dir=place.parent)
        with os.fdopen(handle, "w", encoding="utf-8") as stream:
            json.dump({**_remembered(version), **states}, stream)
        Path(temporary).replace(place)
    except OSError:
        return  # the next process hashes the file again


def _remembered(version: Path) -> dict[str, object]:
    try:
        found = json.loads(_place(version).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _place(version: Path) -> Path:
    return version.parent.parent / "cache" / FOLDER / f"{version.name}-1" / "files.json"
