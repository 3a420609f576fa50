"""The manifest of a version: its settings, rows and files; which version is current; and whether a file is intact.

No file of a version is parsed or mapped before its size and SHA-256 match the manifest's. A file is hashed once per
process, and again if it changed; a large one once for all processes (see `checked_files`). Checksums protect against
damage, and against anyone who can write to the files but not to the manifest. An index made by a stranger passes, so
parsers validate their input too.
"""

import json
import os
import re
import stat
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conspectus.storage.checked_files import LARGE_FILE, is_remembered, remember, state
from conspectus.storage.errors import IndexCorrupt, IndexNotFound
from conspectus.storage.hashing import file_digest

FORMAT_VERSION = 1
"""Version of the format; raised when another program could misread the files. An index of another is built again."""

MANIFEST = "manifest.json"
MEMO = Path("cache", "memo.sqlite")

_VERSION_NAME = re.compile(r"[0-9a-f]{12}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FILE_NAME = re.compile(r"[A-Za-z0-9_][\w.-]*(?:/[A-Za-z0-9_][\w.-]*)*", re.ASCII)
"""No path component begins with a dot, so no path leads out of the version."""
_LONGEST_NAME = 200
_LARGEST = 64_000_000
"""Most bytes in a manifest: it names some forty files."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a version. `files` maps each path inside the version to its sha256 and size."""

    format_version: int
    version: str
    settings: Mapping[str, Any]
    fingerprint: str
    rows: Mapping[str, int]
    models: Mapping[str, str]
    tools: Mapping[str, str]
    files: Mapping[str, Mapping[str, Any]]


def current_version(root: Path) -> str:
    """Return the name of the current version; IndexNotFound if the folder is not an index."""
    pointer = root / "CURRENT"
    if not root.is_dir():
        raise IndexNotFound(f"no index at {root}: there is no such folder; build one with: conspectus index INPUT")
    if not pointer.is_file() and is_index(root):
        raise IndexNotFound(f"{root} has no version yet: its first build runs, or was stopped (run it again to go on)")
    if not pointer.is_file():
        raise IndexNotFound(f"{root} is not an index: it has no CURRENT file; build one with: conspectus index INPUT")
    name = _head(pointer)
    if not _VERSION_NAME.fullmatch(name):
        raise IndexCorrupt(f"{pointer} does not name a version: {name!r}")
    return name


def is_index(folder: Path) -> bool:
    """Return whether a folder is an index, published or begun."""
    pointer = folder / "CURRENT"
    published = pointer.is_file() and _VERSION_NAME.fullmatch(_head(pointer))
    return bool(published) or (folder / MEMO).is_file() or any(folder.glob("versions/*/manifest.json"))


def _head(pointer: Path) -> str:
    with pointer.open(encoding="utf-8", errors="replace") as stream:
        return stream.read(40).strip()


def current_manifest(root: Path) -> Manifest | None:
    """Return the current manifest, or None if there is no readable one (a build then makes it anew)."""
    try:
        return read_manifest(root, current_version(root))
    except (IndexNotFound, IndexCorrupt):
        return None


def read_manifest(root: Path, version: str) -> Manifest:
    """Return the manifest of a version; IndexCorrupt if it is missing, damaged or of another format."""
    path = root / "versions" / version / MANIFEST
    try:
        if path.stat().st_size > _LARGEST:
            raise IndexCorrupt(f"{path} is not a manifest: it has more than {_LARGEST:,} bytes")
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing; build the index again with: conspectus index INPUT") from error
    except OSError as error:
        raise IndexCorrupt(f"{path} cannot be read: {error.strerror}") from error
    return parsed_manifest(data, root, version)


def parsed_manifest(data: bytes, root: Path | str, version: str) -> Manifest:
    """Return the manifest of a version of the index at `root`; IndexCorrupt if it is damaged or of another format."""
    path = f"{root}/versions/{version}/{MANIFEST}"
    try:
        found = json.loads(data)
        _refuse_other_formats(root, found["format_version"])
        manifest = Manifest(**found)
        _check_shape(manifest)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IndexCorrupt(f"{path} is not a manifest: {error}") from error
    if manifest.version != version:
        raise IndexCorrupt(f"{path} calls itself version {manifest.version!r}")
    return manifest


def _check_shape(manifest: Manifest) -> None:
    """Raise ValueError if a manifest is malformed; called before any of it is used."""
    for name in ("settings", "rows", "models", "tools", "files"):
        if not isinstance(getattr(manifest, name), dict):
            raise ValueError(f"{name} is not an object")
    if not all(type(row) is int and row >= 0 for row in manifest.rows.values()):
        raise ValueError("a row count is not a number")
    if not all(isinstance(tool, str) for tool in (*manifest.models.values(), *manifest.tools.values())):
        raise ValueError("a model or tool has no name")
    for name, facts in manifest.files.items():
        if len(name) > _LONGEST_NAME or not _FILE_NAME.fullmatch(name):
            raise ValueError(f"{name!r} is not a path inside a version")
        known = isinstance(facts, dict) and facts.keys() == {"sha256", "bytes"}
        if not known or type(facts["bytes"]) is not int or not _SHA256.fullmatch(str(facts["sha256"])):
            raise ValueError(f"size or checksum of {name} is missing")
    _check_counts(manifest)


def _check_counts(manifest: Manifest) -> None:
    """Raise ValueError if a file is listed without the values needed to read it."""
    tables = {name.removesuffix(".parquet") for name in manifest.files if name.endswith(".parquet")}
    vectors = {Path(name).stem for name in manifest.files if name.endswith(".faiss")}
    lexical = {"chunks" for name in manifest.files if name.startswith("bm25/")}
    uncounted = sorted((tables | vectors | lexical) - manifest.rows.keys())
    if uncounted:
        raise ValueError(f"the row count of {uncounted[0]} is missing")
    if vectors and not re.fullmatch(r"[0-9]{1,6}", manifest.models.get("dimension", "")):
        raise ValueError("the dimension of the vectors is missing")


def _refuse_other_formats(root: Path | str, format_version: int) -> None:
    if type(format_version) is not int:
        raise ValueError("its format has no number")
    if format_version != FORMAT_VERSION:
        raise IndexCorrupt(
            f"{root} has index format {format_version}, and this program reads format {FORMAT_VERSION}: "
            f"build the index again with: conspectus index INPUT"
        )


def damaged_files(root: Path, manifest: Manifest) -> list[str]:
    """Return the files of a version that are missing or differ from their checksum (all, if the version is missing)."""
    folder = root / "versions" / manifest.version
    return [
        name
        for name, facts in sorted(manifest.files.items())
        if not (folder / name).is_file()
        or (folder / name).is_symlink()
        or file_digest(folder / name) != facts["sha256"]
    ]


_checked: set[tuple[int | str, ...]] = set()
_lock = threading.Lock()


def verified_file(folder: Path, name: str, files: Mapping[str, Mapping[str, Any]]) -> Path:
    """Return the path of a file of a version after checking its size and SHA-256 against the manifest.

    Args:
        folder: the folder of the version.
        name: the file's path within it.
        files: the `files` of the manifest.

    Raises:
        IndexCorrupt: the manifest does not name the file, or it is missing, a link, not a regular file, or of another
            size or checksum.
    """
    path = folder / name
    facts = files.get(name)
    if facts is None:
        raise IndexCorrupt(f"{path} is missing: the manifest does not name it; {_AGAIN}")
    try:
        if path.resolve() != folder.resolve() / name:
            raise IndexCorrupt(f"{path} is a link, and an index contains no links; {_AGAIN}")
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise IndexCorrupt(f"{path} is not a file; {_AGAIN}")
        if found.st_size != facts["bytes"]:
            raise IndexCorrupt(f"{path} has {found.st_size} bytes; the manifest says {facts['bytes']}; {_AGAIN}")
        _check(folder, name, found, facts["sha256"])
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing; {_AGAIN}") from error
    except OSError as error:
        raise IndexCorrupt(f"{path} cannot be read: {error.strerror}; {_AGAIN}") from error
    return path


def verified_folder(folder: Path, place: str, files: Mapping[str, Mapping[str, Any]]) -> Path:
    """Return the path of a folder of a version after checking every file in it that the manifest names."""
    for name in files:
        if name.startswith(f"{place}/"):
            verified_file(folder, name, files)
    return folder / place


_AGAIN = "see: conspectus verify, and build the index again"


def _check(folder: Path, name: str, found: os.stat_result, checksum: str) -> None:
    known = state(found, checksum)
    with _lock:
        if tuple(known) in _checked:
            return
    is_large = found.st_size >= LARGE_FILE
    if not (is_large and is_remembered(folder, name, known)):
        if file_digest(folder / name) != checksum:
            raise IndexCorrupt(f"{folder / name} does not match its checksum; {_AGAIN}")
        if is_large:
            remember(folder, {name: known})
    with _lock:
        _checked.add(tuple(known))
