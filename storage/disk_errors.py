"""Why something could not be written into an index, in words that say what to do."""

import errno
import os
import shutil
from pathlib import Path

from conspectus.storage.errors import IndexUnusable

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NOTHING = 262_144
"""Bytes: where fewer are free, what could not be written found no space. SQLite and FAISS do not say why."""


def no_space(folder: Path) -> IndexUnusable:
    """Return the error of a disk that is full."""
    return IndexUnusable(
        f"no space left on the disk of {folder}: free some and run the same command again; "
        "what is published stays in force, and what was paid for is kept"
    )


def is_full(folder: Path) -> bool:
    """Tell whether next to nothing can be written where a folder is; False where that cannot be told."""
    try:
        return shutil.disk_usage(folder).free < _NOTHING
    except OSError:
        return False


def unwritten(root: Path, error: OSError) -> IndexUnusable | None:
    """Return what an error of writing into `root` means; None for one that has nothing to do with it."""
    within = error.filename is not None and Path(os.fsdecode(error.filename)).absolute().is_relative_to(root.absolute())
    # NumPy only counts what was written: its errors have neither a number nor a name.
    if error.errno in _FULL or ((within or error.errno is None) and is_full(root)):
        return no_space(root)
    if within:
        why = f"{error.filename}: {error.strerror}"
        return IndexUnusable(f"cannot write in {root}: {why}; put that right and run the same command again")
    return None
