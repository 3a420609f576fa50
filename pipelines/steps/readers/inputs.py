"""Which files an input names, and under which names they are known.

A file's name (`uri`) is its path below the input that it was found under, so that an index does not depend on
where the folder lies: for a folder below it, for a glob below its part without wildcards, for a file its own
name. Where two files would have one name, the later (by full path) gets as many of its parent folders in
front as make it different.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from storage.errors import InputError
from storage.index import is_index
from storage.records import Failure

STAGE = "read"

_CLUTTER = frozenset({"Thumbs.db", "desktop.ini", "__MACOSX", "__pycache__", "settings.yaml"})
_WILDCARDS = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class InputFile:
    """A file to read, and its name: unique in one reading, POSIX form, never absolute."""

    path: Path
    uri: str


def find_files(inputs: Sequence[Path | str]) -> tuple[list[InputFile], list[Failure]]:
    """Return the files that inputs name, sorted by uri, each once, and what could not be followed.

    A folder stands for all files below it but hidden ones, clutter (Thumbs.db, editors' `name~`) and what this
    program makes (settings.yaml, indexes). Symbolic links are followed only to files inside the folder. Of two
    names for one file the longer holds: that from the input nearer to the root. Raises InputError where an input
    does not exist, is an index, or holds no file.
    """
    if not inputs:
        raise InputError("no input given: name a file, a folder or a glob")
    found: list[_Found] = []
    failures: list[Failure] = []
    for each in inputs:
        of_this = list(_of_input(each))
        if not of_this:
            raise InputError(f"no file in {each}")
        found += [item for item in of_this if not isinstance(item, Failure)]
        failures += [item for item in of_this if isinstance(item, Failure)]
    return _named_apart(_once_each(found)), sorted(set(failures), key=lambda failure: failure.item_id)


@dataclass(frozen=True, slots=True)
class _Found:
    """A file, its path below the input, and whether a link was followed on the way."""

    path: Path
    below: str
    linked: bool = False


def storable(name: str) -> str:
    """Return a file name with ? for each byte that is no UTF-8 (Python shows them as lone surrogates)."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _of_input(given: Path | str) -> Iterator[_Found | Failure]:
    path = Path(given)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except OSError as error:
        raise InputError(f"{given} cannot be read: {error.strerror}") from error
    if is_folder and is_index(path):
        raise InputError(f"{given} is an index; name the documents that it is to be made of")
    if is_folder:
        yield from _below(path, path, path.resolve())
    elif exists:
        yield _Found(path, path.name)
    elif _WILDCARDS.intersection(str(given)):
        yield from _of_glob(path)
    else:
        raise InputError(f"no such file or folder: {given}")


def _of_glob(pattern: Path) -> Iterator[_Found | Failure]:
    fixed = next(at for at, part in enumerate(pattern.parts) if _WILDCARDS.intersection(part))
    root = Path(*pattern.parts[:fixed])
    wanted = pattern.parts[fixed:]
    hidden_too = any(part.startswith(".") for part in wanted)
    try:
        matches = sorted(root.glob(str(Path(*wanted))))
    except ValueError as error:
        raise InputError(f"{pattern}: {error}") from error
    matches = [each for each in matches if _wanted(each.relative_to(root), hidden_too) and not _in_index(each, root)]
    if not matches:
        raise InputError(f"no such file or folder: {pattern}")
    for match in matches:
        yield from _entry(match, root, root.resolve())


def _wanted(below: Path, hidden_too: bool) -> bool:
    return not any(_is_clutter(part) or (part.startswith(".") and not hidden_too) for part in below.parts)


def _is_clutter(name: str) -> bool:
    return name.endswith("~") or name in _CLUTTER


def _in_index(path: Path, root: Path) -> bool:
    return any(is_index(each) for each in path.parents if each.is_relative_to(root))


def _below(folder: Path, root: Path, real_root: Path) -> Iterator[_Found | Failure]:
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        yield _failure(folder, root, "cannot be read", error.strerror or "")
        return
    for entry in entries:
        if not (entry.name.startswith(".") or _is_clutter(entry.name)):
            yield from _entry(entry, root, real_root)


def _entry(path: Path, root: Path, real_root: Path) -> Iterator[_Found | Failure]:
    try:
        target = path.resolve(strict=True)
    except (OSError, RuntimeError):  # RuntimeError: a link that leads to itself
        yield _failure(path, root, "broken symbolic link" if path.is_symlink() else "cannot be read")
        return
    linked = target != real_root / path.relative_to(root)
    if not target.is_relative_to(real_root):
        yield _failure(path, root, "symbolic link leads outside the input folder")
    elif not path.is_dir():
        yield _Found(path, path.relative_to(root).as_posix(), linked)
    elif not (linked or is_index(path)):  # what a link to a folder inside leads to is found there
        yield from _below(path, root, real_root)


def _failure(path: Path, root: Path, reason: str, detail: str = "") -> Failure:
    return Failure(STAGE, storable(path.relative_to(root).as_posix()), reason, detail)


def _once_each(found: list[_Found]) -> list[_Found]:
    once: dict[Path, _Found] = {}
    for each in sorted(found, key=lambda each: (each.linked, -each.below.count("/"), each.below)):
        once.setdefault(each.path.resolve(), each)
    return list(once.values())


def _named_apart(found: list[_Found]) -> list[InputFile]:
    files: dict[str, InputFile] = {}
    for each in sorted(found, key=lambda each: (each.below, str(each.path.absolute()))):
        name = next(name for name in _names(each) if name not in files)
        files[name] = InputFile(each.path, name)
    return [files[name] for name in sorted(files)]


def _names(found: _Found) -> Iterator[str]:
    """Yield the path below the input, then with ever more of the input's own folders in front."""
    own = found.path.absolute().parts[1 : -1 - found.below.count("/")]
    for first in range(len(own), -1, -1):
        name = storable("/".join((*own[first:], found.below)))
        yield name
    # Only names that differ in bytes that cannot be stored come here.
    number = 1
    while True:
        number += 1
        yield f"{name}~{number}"
