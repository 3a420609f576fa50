"""`conspectus index --watch`: update an index whenever its files change."""

from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path

import typer
from conspectus.cli.app import complain
from conspectus.pipelines.readers.remote import is_url
from conspectus.storage.errors import ConspectusError, MissingPart, UsageError

QUIET, MOST = 1_000, 5_000
"""An update begins after so many milliseconds without a change, or with changes."""


def follow(inputs: Sequence[str], index: Path, update: Callable[[], None]) -> None:
    """Update an index now and after every change of its input, until Ctrl-C. An error is told, and does not end it.

    URLs are not followed, nor is the folder of the index. Raises MissingPart if watchfiles is not installed, UsageError
    if there is nothing to follow.
    """
    try:
        from watchfiles import Change, DefaultFilter, watch
    except ImportError as error:
        raise MissingPart("--watch needs watchfiles: pip install 'conspectus[watch]'") from error
    files = {Path(each).absolute() for each in inputs if Path(each).is_file()}
    folders = {_folder(each) for each in inputs if not is_url(each) and not Path(each).is_file()}
    places = folders | {file.parent for file in files}  # an editor replaces a file, so its folder is watched
    if not places or not all(place.is_dir() for place in places):
        raise UsageError("--watch follows files and folders that exist")

    class Inputs(DefaultFilter):
        def __call__(self, change: Change, path: str) -> bool:
            known = Path(path) in files or any(Path(path).is_relative_to(folder) for folder in folders)
            return known and super().__call__(change, path)

    only, deep = Inputs(ignore_paths=[index.absolute()]), bool(folders)
    # It yields an empty set at once, so that what changes during the first build is seen.
    changes = watch(
        *places, watch_filter=only, debounce=MOST, step=QUIET, rust_timeout=QUIET, yield_on_timeout=True, recursive=deep
    )
    for number, changed in enumerate(changes):
        if changed or not number:
            try:
                update()
            except (ConspectusError, OSError) as error:
                complain(str(error))
            except typer.Exit:
                pass  # too much failed, which was told


def _folder(name: str) -> Path:
    """Return a folder, or that above the first part of a glob with a wildcard."""
    return Path(*takewhile(lambda part: not {*"*?["} & {*part}, Path(name).absolute().parts))
