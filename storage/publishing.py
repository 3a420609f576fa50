"""Publishing index versions: one build at a time, atomic replacement of the current version.

A version is written to a temporary folder, checksummed, renamed into place, and only then named by CURRENT.

A program that serves a version has a lease, so that `prune` does not delete it: a file `versions/.lease-VERSION-...`
that its owner has locked. The operating system releases the lock when the owner ends, even by a crash, so a lease
without a lock is a leftover and is ignored.
"""

import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from conspectus.storage.checked_files import LARGE_FILE, remember, state
from conspectus.storage.derived import delete_derived
from conspectus.storage.errors import IndexBusy, IndexNotFound, IndexUnusable, UsageError, unwritten
from conspectus.storage.hashing import digest, file_digest
from conspectus.storage.manifest import (
    FORMAT_VERSION,
    MANIFEST,
    MEMO,
    Manifest,
    current_version,
    damaged_files,
    is_index,
)
from filelock import FileLock, Timeout

_STAGING_PREFIX = ".staging-"
_LOCK = ".lock"
_HISTORY = "PUBLISHED"
"""The file that lists the published versions, the last one last."""


@contextmanager
def build_lock(root: Path, wait: float = 0.0, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Lock the index for one build, creating its folder if missing. Readers are not blocked.

    If another process has the lock, `waiting` is called, and IndexBusy is raised after `wait` seconds. The operating
    system releases the lock when its process ends, even by a crash.
    Raises IndexNotFound if the folder contains other files, so that nothing is written among them;
    UsageError for a name that is not UTF-8, which Arrow cannot write to; IndexUnusable if nothing can be written, at
    first or within the block (for example, the disk is full).
    """
    if any("\udc80" <= sign <= "\udcff" for sign in str(root)):
        raise UsageError(f"the name of the index folder is not UTF-8: {str(root)!r}; name another with --index")
    if root.exists() and not root.is_dir():
        raise IndexNotFound(f"{root} is a file; name a folder with --index")
    if root.exists() and not is_index(root) and not _is_empty(root):
        raise IndexNotFound(f"{root} contains something other than an index; name a new or empty folder with --index")
    is_new = not root.exists()
    lock = FileLock(root / _LOCK)
    try:
        root.mkdir(parents=True, exist_ok=True)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            if not wait:
                raise
            waiting()
            try:
                lock.acquire(timeout=wait)
            except FileNotFoundError:  # the other build failed, and removed the folder it had created
                root.mkdir(parents=True, exist_ok=True)
                lock.acquire(timeout=wait)
    except Timeout as error:
        told = f"has held {root} for {wait:g} s and more" if wait else f"holds {root}"
        raise IndexBusy(f"another build {told}; run the command again when it ends, or use --wait SECONDS") from error
    except OSError as error:
        raise IndexUnusable(f"cannot write in {root}: {error.strerror}; name another folder with --index") from error
    try:
        yield
    except OSError as error:
        if meant := unwritten(root, error):
            raise meant from error
        raise
    finally:
        if is_new:
            _remove_unused(root)
        lock.release()


def _remove_unused(root: Path) -> None:
    """Remove the folder of a build that failed before it wrote anything. The caller must have the lock."""
    if [item.name for item in root.iterdir()] == [_LOCK]:
        (root / _LOCK).unlink()
        root.rmdir()


def _is_empty(root: Path) -> bool:
    """Return whether a folder contains nothing but the first files of a build."""
    begun = {_LOCK} if any((root / MEMO.parent).glob("*")) else {_LOCK, MEMO.parent.name}
    return all(item.name in begun for item in root.iterdir())


@contextmanager
def staging(root: Path) -> Iterator[Path]:
    """Yield an empty folder to write a version into; it is removed unless `publish` took it.

    So is what stands beside it under a name that begins with its own.
    """
    versions = root / "versions"
    versions.mkdir(parents=True, exist_ok=True)
    for left_over in versions.glob(f"{_STAGING_PREFIX}*"):
        shutil.rmtree(left_over)  # left by a crashed build: with the lock, no other process writes here
    folder = versions / f"{_STAGING_PREFIX}{os.getpid()}"
    folder.mkdir()
    try:
        yield folder
    finally:
        for left_over in versions.glob(f"{folder.name}*"):
            shutil.rmtree(left_over, ignore_errors=True)


def version_name(settings: Mapping[str, Any], files: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the first 12 hex digits of the sha256 of settings and file checksums.

    The same content has the same name, whenever and wherever it was built.
    """
    return digest(_json(settings), _json(files))[:12]


def publish(
    root: Path,
    folder: Path,
    *,
    settings: Mapping[str, Any],
    fingerprint: str,
    rows: Mapping[str, int],
    models: Mapping[str, str],
    tools: Mapping[str, str],
    is_current: bool = True,
) -> Manifest:
    """Make the staged folder a version (see `version_name`), by default the current one, and return its manifest."""
    files: dict[str, dict[str, Any]] = {
        path.relative_to(folder).as_posix(): {"sha256": file_digest(path), "bytes": path.stat().st_size}
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
    version = version_name(settings, files)
    manifest = Manifest(FORMAT_VERSION, version, settings, fingerprint, rows, models, tools, files)
    (folder / MANIFEST).write_text(_json(asdict(manifest), indent=2) + "\n", "utf-8")
    for path in (folder, *folder.rglob("*")):
        flush(path)  # sync the folder too: it stores the names of its files
    target = root / "versions" / version
    if damaged_files(root, manifest):
        if target.exists():
            target.rename(folder.with_name(f"{folder.name}-damaged"))
        folder.rename(target)
        flush(target.parent)
    else:
        # The tables are the same; other fields of the manifest (input, packages) may have changed.
        (folder / MANIFEST).replace(target / MANIFEST)
        flush(target)
    large = {name: facts["sha256"] for name, facts in files.items() if facts["bytes"] >= LARGE_FILE}
    remember(target, {name: state((target / name).stat(), checksum) for name, checksum in large.items()})
    if is_current:
        set_current(root, version)
    return manifest


def _json(value: object, indent: int | None = None) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, indent=indent)


def set_current(root: Path, version: str) -> None:
    """Make a version of a local index the one that readers open."""
    before = [each for each in published(root) if each != version]
    write_whole(root / _HISTORY, "".join(f"{each}\n" for each in (*before, version)))
    write_whole(root / "CURRENT", f"{version}\n")
    flush(root)


def published(root: Path) -> list[str]:
    """Return the versions that are there and were published, in this order; the last one is current.

    What followed a version that was made current again is not among them.
    """
    file, current = root / _HISTORY, root / "CURRENT"
    if not current.is_file():
        return []
    now, known = current_version(root), complete_versions(root)
    listed = file.read_text("utf-8").split() if file.is_file() else []
    before = listed[: listed.index(now)] if now in listed else listed
    return [version for version in (*before, now) if version in known]


def complete_versions(root: Path) -> list[str]:
    """Return all versions that are there, also those that were not published, sorted."""
    found = (path.parent.name for path in (root / "versions").glob(f"*/{MANIFEST}"))
    return sorted(name for name in found if not name.startswith("."))


def roll_back(root: Path) -> str:
    """Make the version published before the current one current again, with the build lock; UsageError if none is."""
    versions = published(root)
    if len(versions) < 2:
        raise UsageError(f"{root} has no earlier version; `build.keep_versions` says how many prune keeps")
    write_whole(root / "CURRENT", f"{versions[-2]}\n")
    flush(root)
    return versions[-2]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader, or a start after a crash, sees the old text or the new one."""
    beside = path.with_name(f"{path.name}.new")
    beside.write_text(text, "utf-8")
    flush(beside)
    beside.replace(path)


def flush(path: Path) -> None:
    """Flush a path to disk before anything refers to it."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Pruned:
    """The names of the deleted versions, and the bytes freed, including leftovers of crashed builds."""

    versions: tuple[str, ...]
    bytes: int
    in_use: tuple[str, ...] = ()
    """Versions that were not deleted because a program serves them."""


def prune(root: Path, keep: int = 1) -> Pruned:
    """Delete all versions except the current one and the `keep` - 1 published before it; also those never published.

    Versions that a program serves are not deleted (see `leased`). Leftovers of crashed builds and the derived files of
    deleted versions are deleted too. The caller must have the build lock. Raises IndexNotFound if nothing is published,
    IndexUnusable if a version cannot be deleted.
    """
    current = current_version(root)
    folders = [version for version in (root / "versions").iterdir() if version.is_dir()]
    wanted = {current, *published(root)[-keep:]}
    kept = wanted | leased(root)
    gone = sorted((item for item in folders if item.name not in kept), key=lambda item: item.name)
    freed = 0
    for folder in gone:
        freed += sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())
        try:
            shutil.rmtree(folder)
        except OSError as error:
            why = error.strerror or error
            raise IndexUnusable(f"cannot delete {folder}: {why}; the current version is complete") from error
    freed += delete_derived(root, kept)
    in_use = sorted(item.name for item in folders if item.name in kept - wanted)
    return Pruned(tuple(item.name for item in gone if not item.name.startswith(".")), freed, tuple(in_use))


_PREFIX = ".lease-"


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of one version by this process."""

    file: Path
    _lock: FileLock

    def give_back(self) -> None:
        """End the lease."""
        self._lock.release()
        self.file.unlink(missing_ok=True)


def take_lease(root: Path, version: str) -> Lease | None:
    """Mark a version as in use.

    Args:
        root: The index folder.
        version: The name of the version.

    Returns:
        The lease; None if nothing can be written, so that nothing can be marked (or pruned by this user).
    """
    file = root / "versions" / f"{_PREFIX}{version}-{os.getpid()}-{secrets.token_hex(4)}"
    lock = FileLock(file, thread_local=False)
    try:
        lock.acquire(timeout=0)
    except OSError:
        return None
    return Lease(file, lock)


def leased(root: Path) -> set[str]:
    """Return the versions that programs have in use, and delete the leases of programs that crashed."""
    found = set()
    for file in (root / "versions").glob(f"{_PREFIX}*"):
        lock = FileLock(file)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            found.add(file.name.removeprefix(_PREFIX).partition("-")[0])
        except OSError:
            continue  # released in the meantime
        else:
            file.unlink(missing_ok=True)
            lock.release()
    return found
