"""Files of a version are checked before they are believed: none is parsed or mapped that is not what the manifest says.

A file is read once a process for that (about a second for 400 MB), and again where it is another one. A checksum
protects against damage and against who can write to the files but not to the manifest; a whole index of a stranger's
making passes. So what is parsed is checked besides, where it is parsed.
"""

import os
import stat
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.hashing import file_digest

_checked: set[tuple[int, int, int, int, int, str]] = set()
_lock = threading.Lock()


def believed(folder: Path, name: str, files: Mapping[str, Mapping[str, Any]]) -> Path:
    """Return the path of a version's file, given by its place in the folder, once it is what the manifest says.

    IndexCorrupt where the manifest does not name it, or it is missing, a link, no file, or of another size or checksum.
    """
    path = folder / name
    facts = files.get(name)
    if facts is None:
        raise IndexCorrupt(f"{path} is missing: the manifest does not name it; {_AGAIN}")
    try:
        if path.resolve() != folder.resolve() / name:
            raise IndexCorrupt(f"{path} is a link, which nothing in an index is; {_AGAIN}")
        found = path.lstat()
        if not stat.S_ISREG(found.st_mode):
            raise IndexCorrupt(f"{path} is not a file; {_AGAIN}")
        if found.st_size != facts["bytes"]:
            raise IndexCorrupt(f"{path} has {found.st_size} bytes; the manifest says {facts['bytes']}; {_AGAIN}")
        _check(path, found, facts["sha256"])
    except FileNotFoundError as error:
        raise IndexCorrupt(f"{path} is missing; {_AGAIN}") from error
    except OSError as error:
        raise IndexCorrupt(f"{path} cannot be read: {error.strerror}; {_AGAIN}") from error
    return path


def believed_below(folder: Path, place: str, files: Mapping[str, Mapping[str, Any]]) -> Path:
    """Return the path of a folder in a version's, once every file that the manifest names below it is believed."""
    for name in files:
        if name.startswith(f"{place}/"):
            believed(folder, name, files)
    return folder / place


_AGAIN = "see: conspectus verify, and build the index again"


def _check(path: Path, found: os.stat_result, checksum: str) -> None:
    known = (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, checksum)
    with _lock:
        if known in _checked:
            return
    if file_digest(path) != checksum:
        raise IndexCorrupt(f"{path} is not what its checksum says; {_AGAIN}")
    with _lock:
        _checked.add(known)
