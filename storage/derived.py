"""Files derived from the tables of a version, created on first use and memory-mapped from then on.

They are caches: `INDEX/cache/<name>/<version>-<form>/`, never needed to read an index and, like the memo, trusted. They
are written next to their final path and renamed, so they are complete or absent, and are deleted with their version.
Views of an index, and read-only indexes, have theirs in a temporary folder until the process ends.
"""

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from conspectus.storage.checked_files import FOLDER
from conspectus.storage.index import StoredIndex
from conspectus.storage.memory_index import MemoryIndex
from conspectus.storage.spilled import spilling_to
from conspectus.storage.tables import TABLES

_TABLES = tuple(f"table-{name}" for name in TABLES)
DERIVED = (FOLDER, "sparql", "graph", "names", "topics", "joins", "entity-names", "title-names", *_TABLES)
"""The names of all derived files."""


def derived_folder(index: StoredIndex, name: str, form: int | str, make: Callable[[Path], None]) -> Path:
    """Return the folder of derived files, creating them if they are missing.

    Args:
        index: The open index.
        name: One of `DERIVED`.
        form: Version of the file format, changed with the content of the files, and a name if there are several.
        make: Writes them into a folder that it creates.

    Raises:
        Exception: Whatever `make` raises; nothing is left behind.
    """
    if not isinstance(index, MemoryIndex):
        place = index.root / "cache" / name / f"{index.manifest.version}-{form}"
        if place.is_dir():
            return place
        try:
            place.parent.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=".", dir=place.parent))
        except OSError:
            pass  # the index is read-only
        else:
            return _made(folder, place, make)
    folder = Path(tempfile.mkdtemp(prefix=f"conspectus-{name}-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return _made(folder, folder / "made", make)


def _made(folder: Path, place: Path, make: Callable[[Path], None]) -> Path:
    making = folder / "making"
    try:
        with spilling_to(folder):
            make(making)
        try:
            making.replace(place)
        except OSError:
            if not place.is_dir():  # another process was faster
                raise
    finally:
        shutil.rmtree(folder if folder != place.parent else making, ignore_errors=True)
    return place


def delete_derived(root: Path, kept: set[str]) -> int:
    """Delete the derived files of all versions except `kept`, and return the number of bytes freed."""
    freed = 0
    for name in DERIVED:
        for folder in (root / "cache" / name).glob("*"):
            if folder.name.partition("-")[0] not in kept:
                freed += sum(item.stat().st_size for item in folder.rglob("*") if item.is_file())
                shutil.rmtree(folder, ignore_errors=True)
    return freed
