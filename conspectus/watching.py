"""Files that an index follows: of `conspectus index --watch`, and of a server's administration."""

from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.remote import is_url
from conspectus.storage.errors import MissingPart, UsageError

QUIET, MOST = 1_000, 5_000
"""An update begins after so many milliseconds without a change, or with changes."""


def watched(inputs: Sequence[str], index: Path) -> tuple[set[Path], dict[str, Any]]:
    """Return the places and the options with which `watch` or `awatch` of watchfiles follows the input of an index.

    These yield the changes, and an empty set after each second without one. URLs are not followed, nor is the folder of
    the index. Raises MissingPart if watchfiles is not installed, UsageError if there is nothing to follow.
    """
    try:
        from watchfiles import Change, DefaultFilter
    except ImportError as error:
        raise MissingPart("following files needs watchfiles: pip install 'conspectus[watch]'") from error
    files = {Path(each).absolute() for each in inputs if Path(each).is_file()}
    folders = {_folder(each) for each in inputs if not is_url(each) and not Path(each).is_file()}
    places = folders | {file.parent for file in files}  # an editor replaces a file, so its folder is watched
    if not places or not all(place.is_dir() for place in places):
        raise UsageError("only files and folders that exist can be followed")

    class Inputs(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            known = Path(path) in files or any(Path(path).is_relative_to(folder) for folder in folders)
            return known and super().__call__(change, path)

    only, deep = Inputs(ignore_paths=[index.absolute()]), bool(folders)
    times = {"debounce": MOST, "step": QUIET, "rust_timeout": QUIET, "yield_on_timeout": True}
    return places, {"watch_filter": only, "recursive": deep, **times}


def _folder(name: str) -> Path:
    """Return a folder, or that above the first part of a glob with a wildcard."""
    return Path(*takewhile(lambda part: not {*"*?["} & {*part}, Path(name).absolute().parts))
