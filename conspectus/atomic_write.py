"""Write files atomically: to a temporary file, then renamed into place."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from conspectus.storage.errors import UsageError
from conspectus.storage.publishing import flush


@contextmanager
def placing(to: Path, names: Sequence[str], *, force: bool, keeps: Sequence[str] = ()) -> Iterator[Path]:
    """Yield a path to write one file or folder at; it replaces `to` when the block ends.

    If the block raises, nothing changes. `names` are patterns for the files of a folder, empty for a single file;
    `keeps` are names in a folder that stay as they are when it is replaced.
    Raises UsageError if `to` exists, unless a folder is written and `to` is an empty one. With `force`, a file may
    also replace a file, and a folder may replace a folder that contains only files with such names.
    """
    check_place(to, names, force=force, keeps=keeps)
    # In the same folder, because files cannot be renamed across file systems.
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.absolute().parent) as beside:
        staged = Path(beside) / to.name
        yield staged
        for path in (staged, *staged.rglob("*")):
            flush(path)
        check_place(to, names, force=force, keeps=keeps)  # it may have changed meanwhile
        if to.is_dir():
            for name in keeps:
                if (to / name).exists():
                    (to / name).rename(staged / name)
            to.rename(Path(beside) / "before")
        staged.replace(to)


def check_place(to: Path, names: Sequence[str], *, force: bool, keeps: Sequence[str] = ()) -> None:
    """Raise UsageError if a path cannot be written, before any work is done."""
    folder = to.absolute().parent
    if not to.name:
        raise UsageError(f"{to} is not the name of a file or folder; give one with --to")
    if not folder.is_dir():
        raise UsageError(f"{to}: there is no folder {folder}")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"{to}: cannot write in {folder}: permission denied")
    if not os.path.lexists(to):
        return
    if not names:
        if to.is_dir():
            raise UsageError(f"{to} is a folder; name a file to write")
        if not force:
            raise UsageError(f"{to} already exists; --force overwrites it")
        return
    if not to.is_dir():
        raise UsageError(f"{to} is a file; name a folder to write")
    paths = (path.relative_to(to) for path in to.rglob("*") if path.is_symlink() or not path.is_dir())
    there = sorted(path.as_posix() for path in paths if path.parts[0] not in keeps)
    if not any(to.iterdir()):
        return
    if not force:
        raise UsageError(f"{to} is not empty; --force overwrites an existing export")
    others = [item for item in there if not any(_matches(item, name) for name in names)]
    if others or to.is_symlink() or to.is_mount():
        held = f"holds {others[0]}, which is no part of such an export" if others else "is a link"
        raise UsageError(f"{to} {held}; name a new or an empty folder")


def _matches(path: str, pattern: str) -> bool:
    """Return whether a path has the form of a pattern, as deep as that."""
    return path.count("/") == pattern.count("/") and fnmatchcase(path, pattern)
