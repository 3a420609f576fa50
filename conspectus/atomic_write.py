"""Write files atomically: to a temporary file, then renamed into place."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path

from conspectus.storage.errors import UsageError


@contextmanager
def placing(to: Path, names: Sequence[str], *, force: bool) -> Iterator[Path]:
    """Give a path to write one file at, or one folder; what is there when the block ends takes the place `to`.

    Where the block raises, nothing has changed. `names` are patterns of what is in a folder that is written, none for
    what is one file. UsageError where `to` is taken, but for an empty folder that a folder is to be; with `force` also
    where it is taken by the same kind of thing: a file, or a folder that holds nothing but such names.
    """
    check_place(to, names, force=force)
    # In the same folder: from one file system to another nothing is renamed.
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.absolute().parent) as beside:
        staged = Path(beside) / to.name
        yield staged
        for path in (staged, *staged.rglob("*")):
            _flush(path)
        check_place(to, names, force=force)  # it took a while
        if to.is_dir():
            to.rename(Path(beside) / "before")
        staged.replace(to)


def check_place(to: Path, names: Sequence[str], *, force: bool) -> None:
    """Refuse a place that cannot be written, before anything is made for it."""
    folder = to.absolute().parent
    if not to.name:
        raise UsageError(f"{to} is no name of a file or folder to write; name one with --to")
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
            raise UsageError(f"{to} exists already; --force overwrites it")
        return
    if not to.is_dir():
        raise UsageError(f"{to} is a file; name a folder to write")
    there = sorted(path.name for path in to.iterdir())
    if not there:
        return
    if not force:
        raise UsageError(f"{to} is not empty; --force overwrites an export that is there")
    others = [item for item in there if not any(fnmatchcase(item, name) for name in names)]
    if others or to.is_symlink() or to.is_mount():
        held = f"holds {others[0]}, which is no part of such an export" if others else "is a link"
        raise UsageError(f"{to} {held}; name a new or an empty folder")


def _flush(path: Path) -> None:
    """Ask the disk to have it before it takes the place of another."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
