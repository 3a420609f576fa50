"""Versions of an index that nobody needs any more."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from conspectus.storage.errors import IndexUnusable
from conspectus.storage.manifest import MANIFEST, current_version


@dataclass(frozen=True, slots=True)
class Pruned:
    """The names of the versions that were deleted, and the bytes that they and left-overs of dead builds took."""

    versions: tuple[str, ...]
    bytes: int


def prune(root: Path, keep: int = 1) -> Pruned:
    """Delete all versions but the one in force and the `keep` - 1 that were published last before it.

    What builds that died left behind goes too. The caller holds the build lock. IndexNotFound where nothing is
    published, IndexUnusable where a version cannot be deleted.
    """
    current = current_version(root)
    folders = [each for each in (root / "versions").iterdir() if each.is_dir()]
    published = sorted(
        (each for each in folders if (each / MANIFEST).is_file() and not each.name.startswith(".")),
        key=lambda each: (each.name != current, -(each / MANIFEST).stat().st_mtime_ns, each.name),
    )
    kept = {current, *(each.name for each in published[:keep])}
    gone = sorted((each for each in folders if each.name not in kept), key=lambda each: each.name)
    freed = 0
    for folder in gone:
        freed += sum(each.stat().st_size for each in folder.rglob("*") if each.is_file())
        try:
            shutil.rmtree(folder)
        except OSError as error:
            why = error.strerror or error
            raise IndexUnusable(f"cannot delete {folder}: {why}; the version in force is whole") from error
    return Pruned(tuple(each.name for each in gone if not each.name.startswith(".")), freed)
