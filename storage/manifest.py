"""What a version of an index says of itself, and which version is in force."""

import importlib.metadata
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from storage.errors import IndexCorrupt, IndexNotFound, IndexTooNew
from storage.hashing import file_digest

FORMAT_VERSION = 3
"""Raised when an older reader could misread what a newer writer makes."""

MANIFEST = "manifest.json"
MEMO = Path("cache", "memo.sqlite")

_VERSION_NAME = re.compile(r"[0-9a-f]{12}")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a version says of itself. `files` maps each path inside the version to its sha256 and size."""

    format_version: int
    version: str
    settings: Mapping[str, Any]
    fingerprint: str
    rows: Mapping[str, int]
    models: Mapping[str, str]
    tools: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]


def current_version(root: Path) -> str:
    """Return the name of the version in force; IndexNotFound where the folder is no index."""
    pointer = root / "CURRENT"
    if not root.is_dir():
        raise IndexNotFound(f"no index at {root}: there is no such folder; build one with: conspectus index INPUT")
    if not pointer.is_file():
        raise IndexNotFound(f"{root} is no index: it has no CURRENT file; build one with: conspectus index INPUT")
    name = _head(pointer)
    if not _VERSION_NAME.fullmatch(name):
        raise IndexCorrupt(f"{pointer} does not name a version: {name!r}")
    return name


def is_index(folder: Path) -> bool:
    """Tell whether a folder is an index, published or begun."""
    pointer = folder / "CURRENT"
    published = pointer.is_file() and _VERSION_NAME.fullmatch(_head(pointer))
    return bool(published) or (folder / MEMO).is_file() or any(folder.glob("versions/*/manifest.json"))


def _head(pointer: Path) -> str:
    with pointer.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(40).strip()


def current_manifest(root: Path) -> Manifest | None:
    """Return the manifest in force, or None where there is no readable one (a build then makes it anew).

    Raises IndexTooNew where a newer program made it: it must not be replaced by what this one makes.
    """
    try:
        return read_manifest(root, current_version(root))
    except (IndexNotFound, IndexCorrupt):
        return None


def read_manifest(root: Path, version: str) -> Manifest:
    """Return the manifest of a version; IndexCorrupt where it is missing or damaged, IndexTooNew if it is newer."""
    path = root / "versions" / version / MANIFEST
    try:
        found = json.loads(path.read_text("utf-8"))
        _refuse_other_formats(root, found["format_version"], found)
        manifest = Manifest(**found)
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing; build the index again with: conspectus index INPUT") from error
    except (ValueError, TypeError, KeyError) as error:
        raise IndexCorrupt(f"{path} is not a manifest: {error}") from error
    if manifest.version != version:
        raise IndexCorrupt(f"{path} calls itself version {manifest.version!r}")
    return manifest


def _refuse_other_formats(root: Path, format_version: int, found: Mapping[str, Any]) -> None:
    if format_version > FORMAT_VERSION:
        maker = found.get("tools", {}).get("conspectus", "a newer version")
        raise IndexTooNew(
            f"{root} has index format {format_version}, made by conspectus {maker}; this is conspectus "
            f"{importlib.metadata.version('conspectus')}, which reads format {FORMAT_VERSION}: "
            f"upgrade it, or name another folder with --index"
        )
    if format_version < FORMAT_VERSION:
        raise IndexCorrupt(
            f"{root} has index format {format_version}; this program reads format {FORMAT_VERSION}: "
            f"build it again with: conspectus index INPUT"
        )


def damaged_files(root: Path, manifest: Manifest) -> list[str]:
    """Return the files of a version that are missing or differ from their checksum (all, if it is not there)."""
    folder = root / "versions" / manifest.version
    return [
        name
        for name, facts in sorted(manifest.files.items())
        if not (folder / name).is_file() or file_digest(folder / name) != facts["sha256"]
    ]
