"""Ask and change an index in an object store through local folders that are ordinary indexes.

    CACHE/<name>-<hash of the URL>/files/    fetched files, by checksum; `copy` and `work` link to them
    CACHE/<name>-<hash of the URL>/copy/     the index as readers map it: its current version
    CACHE/<name>-<hash of the URL>/work/     the index as a writer changes it, with the memo of its builds

CACHE is the folder `CONSPECTUS_CACHE`, or `conspectus/indexes` in the user's cache folder. It may be deleted whenever
no program uses it. A reader goes on with its copy if the store gives no answer; a writer needs the store.
"""

import logging
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from conspectus.pipelines.readers.remote import is_url
from conspectus.pipelines.remote_index.objects import Gone, Record, Store, Unreachable
from conspectus.pipelines.remote_index.parts import Parts
from conspectus.pipelines.remote_index.shared_memo import SharedMemo, shared_memo
from conspectus.storage.errors import ConspectusError, IndexBusy, IndexCorrupt, IndexNotFound
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import MANIFEST, MEMO, current_version, damaged_files, parsed_manifest, read_manifest
from conspectus.storage.publishing import Pruned, prune, set_current
from conspectus.storage.settings import Settings
from filelock import FileLock, Timeout

if TYPE_CHECKING:
    from conspectus.pipelines.purge import Purged
    from conspectus.storage.verify import Problem

_log = logging.getLogger("conspectus")

CACHE_VARIABLE = "CONSPECTUS_CACHE"
_TRIES = 5
"""A version that is pruned while it is fetched is followed by a newer one."""


def located(place: str | Path, *, offline: bool = True) -> Path:
    """Return the local folder of an index: a folder itself, or an up-to-date copy of an index in an object store.

    Args:
        place: A folder, or a URL.
        offline: Whether a copy that may be out of date is returned, with a warning, if the store gives no answer.

    Raises:
        IndexNotFound: Nothing is published at the URL.
        IndexCorrupt: An object is not what its checksum says.
        IndexUnusable: The store refuses, or gives no answer and there is no copy.
        UsageError, MissingPart: As for `Store`.
    """
    if not is_url(str(place)):
        return Path(place)
    store = Store(str(place))
    home = _home(store)
    copy = home / "copy"
    with _named(store, copy), _lock(home / "fetching.lock", store, wait=-1):
        try:
            _fetched(store, home, copy, _published(store))
        except Unreachable as error:
            if not offline or not (copy / "CURRENT").is_file():
                raise
            _log.warning("%s; going on with version %s, which was fetched before", error, current_version(copy))
        read_manifest(copy, current_version(copy))
    return copy


@contextmanager
def written(place: str | Path, *, wait: float = 0.0, publishes: bool = True) -> Iterator[Path]:
    """Yield the local folder of an index to change; a version that was published there is published at the URL.

    After an error nothing is published at the URL; results that were computed are kept for the next build.

    Args:
        place: A folder, or a URL.
        wait: Seconds to wait for another writer on this machine.
        publishes: False to look at the folder only, as a preview does.

    Raises:
        IndexBusy: Another writer published in the meantime, or another program on this machine changes the index.
        IndexUnusable: The store ignores conditions, refuses, or gives no answer.
        UsageError, MissingPart: As for `Store`.
    """
    if not is_url(str(place)):
        yield Path(place)
        return
    store = Store(str(place))
    home = _home(store)
    work = home / "work"
    with _named(store, work), _lock(home / "writing.lock", store, wait):
        if publishes:
            store.probe()
        base = store.current()
        with _lock(home / "fetching.lock", store, wait=-1):
            if base:
                _fetched(store, home, work, base)
            else:
                (work / "CURRENT").unlink(missing_ok=True)  # of a build that could not be published
        before = _state(work)
        with shared_memo(store, work / MEMO):
            yield work
            if publishes and _state(work) != before:
                _published_from(store, home, work, base)


def prune_remote(place: str, keep: int = 1, purging: Settings | None = None) -> "Purged":
    """Delete old versions of an index in an object store, and what killed writers left.

    A writer that has begun and not yet published gets IndexBusy: its parts may be among what is deleted. Readers need
    only their copies.

    Args:
        place: The URL.
        keep: The number of versions to keep, including the current one.
        purging: The settings of the index, to also delete from this machine's copies and memo what was made of texts
            that the current version does not contain; None to delete versions only.

    Returns:
        What was deleted; the bytes are those in the store.

    Raises:
        IndexNotFound: Nothing is published.
        IndexBusy: Another writer published in the meantime, or a server on this machine uses what is to be purged.
        IndexUnusable: The store ignores conditions, refuses, or gives no answer.
    """
    from conspectus.pipelines.purge import Purged, purge

    store = Store(place)
    current = _published(store)
    forgotten: dict[str, int] = {}
    if purging:
        copy = located(place, offline=False)
        with _named(store, copy):
            purge(copy, purging)
        with written(place) as work:
            forgotten = SharedMemo(work / MEMO, Parts(store)).purge(lambda: purge(work, purging).forgotten)
    kept = {record.folder for record in store.latest(keep)}
    gone = {folder: size for folder, size in store.folders().items() if folder not in kept}
    if gone:
        store.probe()
        # After this no writer that began earlier can publish: none of them needs what was listed above.
        store.republish(current)
        store.delete(sorted(gone))
    versions = {folder.partition("-")[0] for folder in gone} - {folder.partition("-")[0] for folder in kept}
    return Purged(Pruned(tuple(sorted(versions)), sum(gone.values())), forgotten)


def verify_remote(place: str) -> "list[Problem]":
    """Return the problems of an index in an object store: every object is read, then the copy is checked as any index.

    Files of the copy that are damaged are fetched again.
    """
    from conspectus.storage.verify import Problem, verify

    store = Store(place)
    record = _published(store)
    damaged = store.damaged(record, parsed_manifest(store.manifest(record), store.url, record.version).files)
    if damaged:
        where = f"{store.url}/versions/{record.folder}"
        return [Problem(f"{where}/{name}", "missing or not what its checksum says") for name in damaged]
    home = _home(store)
    with _lock(home / "fetching.lock", store, wait=-1):
        _drop_damaged(home)
    return verify(StoredIndex.open(located(place)))


def _published(store: Store) -> Record:
    record = store.current()
    if record is None:
        raise IndexNotFound(
            f"no index at {store.url}: nothing is published there; build one with: "
            f"conspectus index INPUT --index {store.url}"
        )
    return record


def _fetched(store: Store, home: Path, root: Path, record: Record) -> None:
    """Make a published version the current one of a local index. The caller must have the lock for fetching."""
    for _ in range(_TRIES):
        if _state(root) == (record.version, record.manifest):
            return
        try:
            _check_out(store, home, root, record)
            break
        except Gone:  # pruned, because there is a newer one?
            newer = _published(store)
            if newer.folder == record.folder:
                raise
            record = newer
    set_current(root, record.version)
    prune(root)
    _drop_unused(home)


def _check_out(store: Store, home: Path, root: Path, record: Record) -> None:
    versions = root / "versions"
    versions.mkdir(parents=True, exist_ok=True)
    pool = home / "files"
    pool.mkdir(exist_ok=True)
    data, target = store.manifest(record), versions / record.version
    manifest = parsed_manifest(data, store.url, record.version)
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=versions) as scratch:
        made = Path(scratch, record.version)
        made.mkdir()
        (made / MANIFEST).write_bytes(data)
        if all((target / name).is_file() for name in manifest.files):
            (made / MANIFEST).replace(target / MANIFEST)
            return
        store.fetch(record, manifest.files, pool)
        for name, facts in manifest.files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            _link(pool / facts["sha256"], made / name)
        if target.exists():
            shutil.rmtree(target)
        made.replace(target)


def _published_from(store: Store, home: Path, work: Path, base: Record | None) -> None:
    version = current_version(work)
    folder = work / "versions" / version
    manifest = read_manifest(work, version)
    store.upload(folder, manifest, base)
    with _lock(home / "fetching.lock", store, wait=-1):
        (home / "files").mkdir(exist_ok=True)
        for name, facts in manifest.files.items():  # a reader on this machine need not fetch what was made here
            if not (home / "files" / facts["sha256"]).exists():
                _link(folder / name, home / "files" / facts["sha256"])
        prune(work)


def _state(root: Path) -> tuple[str, str] | tuple[()]:
    """Return the current version of a local index and the hash of its manifest; () if there is none."""
    try:
        version = current_version(root)
        return version, sha256((root / "versions" / version / MANIFEST).read_bytes()).hexdigest()
    except (IndexNotFound, IndexCorrupt, FileNotFoundError):
        return ()


def _link(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # a file system without links
        shutil.copyfile(source, target)


def _drop_unused(home: Path) -> None:
    """Delete fetched files that no version has any more."""
    for path in (home / "files").glob("*"):
        if path.stat().st_nlink == 1:
            path.unlink()


def _drop_damaged(home: Path) -> None:
    """Delete the files of the copy that are not what their checksum says, so that they are fetched again."""
    copy = home / "copy"
    with suppress(IndexNotFound, IndexCorrupt):
        manifest = read_manifest(copy, current_version(copy))
        damaged = damaged_files(copy, manifest)
        for name in damaged:
            (copy / "versions" / manifest.version / name).unlink(missing_ok=True)
            (home / "files" / manifest.files[name]["sha256"]).unlink(missing_ok=True)
        if damaged:
            (copy / "CURRENT").unlink()


def cache_folder() -> Path:
    """Return the folder of all local copies."""
    given = os.environ.get(CACHE_VARIABLE)
    return (
        Path(given) if given else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "conspectus/indexes")
    )


def _home(store: Store) -> Path:
    """Return the folder of an index in the cache, created if missing and readable by its user only."""
    name = re.sub(r"[^A-Za-z0-9.-]+", "-", store.url.rpartition("/")[2]).strip(".-") or "index"
    home = cache_folder() / f"{name[:40]}-{sha256(store.place.encode()).hexdigest()[:16]}"
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    return home


@contextmanager
def _lock(path: Path, store: Store, wait: float) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=wait)
    except Timeout as error:
        raise IndexBusy(
            f"another program on this machine changes {store.url}; run the command again, or --wait SECONDS"
        ) from error
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _named(store: Store, folder: Path) -> Iterator[None]:
    """Let messages name the URL instead of a local folder of it."""
    try:
        yield
    except ConspectusError as error:
        error.args = tuple(
            item.replace(str(folder), store.url) if isinstance(item, str) else item for item in error.args
        )
        raise
