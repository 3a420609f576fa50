"""Find the files of an input and assign their names.

A file's name (`uri`) is its path relative to its input, so that an index does not depend on the location of the
folder: relative to a folder, to the part of a glob without wildcards, or a file's own name. The same applies to URLs.
If two files would have one name, the later (by full path) is prefixed with as many of its parent folders as make it
different.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import NamedTuple

from conspectus.pipelines.readers.formats import is_wanted, storable
from conspectus.pipelines.readers.object_store import shown
from conspectus.pipelines.readers.remote import STAGE, RemoteFile, find_remote, is_url, local_path
from conspectus.storage.errors import InputError
from conspectus.storage.manifest import is_index
from conspectus.storage.records import Failure

_WILDCARDS = frozenset("*?[")
_CUT_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read, and its name: unique within a run, in POSIX form, never absolute."""

    path: Path | RemoteFile
    uri: str


def find_files(inputs: Sequence[Path | str]) -> tuple[list[InputFile], list[Failure]]:
    """Return the distinct files of the inputs, sorted by uri, and the failures.

    An input is a file, a folder, a glob, or a URL that names one of them; URLs are strings, as a Path has no //.

    A folder means all files below it except hidden ones, clutter (Thumbs.db, editors' `name~`) and output of this
    program (settings.yaml, indexes). Symbolic links are followed only to files inside the folder. Of two names for one
    file the longer is used: that from the input nearer to the root. Raises InputError if an input does not exist, is
    an index, or contains no file.
    """
    if not inputs:
        raise InputError("no input given: name a file, a folder or a glob")
    found: list[_Found] = []
    failures: list[Failure] = []
    for one in inputs:
        of_this = list(_of_input(one))
        if not of_this:
            raise InputError(f"no file in {shown(str(one))}")
        found += [item for item in of_this if not isinstance(item, Failure)]
        failures += [item for item in of_this if isinstance(item, Failure)]
    return _named_apart(found), sorted(set(failures), key=lambda failure: failure.item_id)


class _Found(NamedTuple):
    """A file, its path below the input, its full name, a key that is equal for the same file, and if it is a link."""

    path: Path | RemoteFile
    below: str
    place: str
    same: Path | str
    linked: bool = False

    @classmethod
    def here(cls, path: Path, below: str, linked: bool = False) -> "_Found":
        return cls(path, below, str(path.absolute()), path.resolve(), linked)


def _of_input(given: Path | str) -> Iterator[_Found | Failure]:
    path = Path(given)
    if isinstance(given, str) and is_url(given):
        local = local_path(given)
        if local is None:
            for item in find_remote(given):
                yield item if isinstance(item, Failure) else _Found(item, item.below, item.place, item.place)
            return
        given = path = local
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:
        raise InputError(f"{given} cannot be read: {error.strerror}") from error
    if is_folder and is_index(path):
        raise InputError(f"{given} is an index; name the documents to build it from")
    if is_folder:
        yield from _below(path, path, path.resolve())
    elif exists:
        yield _Found.here(path, path.name)
    elif _WILDCARDS.intersection(str(given)):
        yield from _of_glob(path)
    else:
        note = " (give a URL as a string: a Path has one / less)" if _CUT_URL.match(str(given)) else ""
        raise InputError(f"no such file or folder: {given}{note}")


def _of_glob(pattern: Path) -> Iterator[_Found | Failure]:
    fixed = next(at for at, part in enumerate(pattern.parts) if _WILDCARDS.intersection(part))
    root = Path(*pattern.parts[:fixed])
    wanted = pattern.parts[fixed:]
    hidden_too = any(part.startswith(".") for part in wanted)
    try:
        matches = sorted(root.glob(str(Path(*wanted))))
    except ValueError as error:
        raise InputError(f"{pattern}: {error}") from error
    matches = [
        match
        for match in matches
        if is_wanted(match.relative_to(root).parts, hidden_too)
        and not any(is_index(parent) for parent in match.parents if parent.is_relative_to(root))
    ]
    if not matches:
        raise InputError(f"no such file or folder: {pattern}")
    for match in matches:
        yield from _entry(match, root, root.resolve())


def _below(folder: Path, root: Path, real_root: Path) -> Iterator[_Found | Failure]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield _failure(folder, root, "cannot be read", error.strerror or "")
        return
    for entry in entries:
        if is_wanted([entry.name]):
            yield from _entry(entry, root, real_root)


def _entry(path: Path, root: Path, real_root: Path) -> Iterator[_Found | Failure]:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: a link to itself
        yield _failure(path, root, "broken symbolic link" if path.is_symlink() else "cannot be read")
        return
    linked = target != real_root / path.relative_to(root)
    if not target.is_relative_to(real_root):
        yield _failure(path, root, "symbolic link leads outside the input folder")
    elif not path.is_dir():
        yield _Found.here(path, path.relative_to(root).as_posix(), linked)
    elif not (linked or is_index(path)):  # the target of a link to a folder inside is found there
        yield from _below(path, root, real_root)


def _failure(path: Path, root: Path, reason: str, detail: str = "") -> Failure:
    return Failure(STAGE, storable(path.relative_to(root).as_posix()), reason, detail)


def _named_apart(found: list[_Found]) -> list[InputFile]:
    """Return each file once, with a name of its own."""
    once: dict[Path | str, _Found] = {}
    for item in sorted(found, key=lambda item: (item.linked, -item.below.count("/"), item.below)):
        once.setdefault(item.same, item)
    files: dict[str, InputFile] = {}
    for item in sorted(once.values(), key=lambda item: (item.below, item.place)):
        name = next(name for name in _names(item) if name not in files)
        files[name] = InputFile(item.path, name)
    return [files[name] for name in sorted(files)]


def _names(found: _Found) -> Iterator[str]:
    """Yield the path below the input, then with more and more folders of the input before it."""
    own = tuple(part for part in found.place.split("/") if part)[: -1 - found.below.count("/")]
    for first in range(len(own), -1, -1):
        name = storable("/".join((*own[first:], found.below)))
        yield name
    # Reached only by names that differ in bytes that cannot be stored.
    yield from (f"{name}~{number}" for number in count(2))
