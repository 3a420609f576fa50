"""`conspectus resolve`: list, undo and redo merges of entity names."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from conspectus.cli.app import (
    print_json,
)
from conspectus.cli.command import Build, command
from conspectus.cli.index import change
from conspectus.render.builds import merges_text
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.pipelines.build_report import BuildReport
    from conspectus.pipelines.runner import Progress


@command(
    "List merged entity names; undo merges.",
    "conspectus resolve",
    'conspectus resolve "Sherlock Holmes"',
    'conspectus resolve --undo "Mr. Holmes" --index docs.index',
    "conspectus resolve --undo-all",
    'conspectus resolve --redo "Mr. Holmes"',
)
def resolve(
    build: Build,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME|ID]...")] = None,
    undo: bool = False,
    undo_all: bool = False,
    redo: bool = False,
    redo_all: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """List the entity names that were merged, each with the reason and a score.

    --undo makes the named aliases separate entities again, as if they had never been merged, and later builds keep this
    decision. --redo reverses it. Name an alias, its id or the id of its merge; a canonical name selects all of its
    aliases. Only the index is needed; the settings must be those that it was made with.

    Args:
        names: Names, or ids of merges or entities. [default: all]
        undo: Undo the merges of these names.
        undo_all: Undo all merges.
        redo: Merge these names again.
        redo_all: Redo all merges that were undone.
    """
    wanted = [flag for flag, given in _flags(undo, undo_all, redo, redo_all) if given]
    if len(wanted) > 1:
        raise UsageError(f"{wanted[0]} and {wanted[1]} cannot be combined")
    if wanted in (["--undo"], ["--redo"]) and not names:
        raise UsageError(f"{wanted[0]} needs names; for all of them use {wanted[0]}-all")
    if wanted in (["--undo-all"], ["--redo-all"]) and names:
        raise UsageError(f"{wanted[0]} takes no names; omit them, or use {wanted[0].removesuffix('-all')}")
    if not wanted:
        _list(build.index, names or [], as_json=as_json)
        return

    from conspectus.pipelines.resolution.undo import change_merges

    chosen = build.chosen()

    def work(folder: Path, report: "Progress") -> "BuildReport":
        return change_merges(names or None, folder, chosen, undone=undo or undo_all, progress=report)

    change(build, chosen, work, as_json=as_json, quiet=quiet)


def _flags(undo: bool, undo_all: bool, redo: bool, redo_all: bool) -> list[tuple[str, bool]]:
    return [("--undo", undo), ("--undo-all", undo_all), ("--redo", redo), ("--redo-all", redo_all)]


def _list(index: str, names: list[str], *, as_json: bool) -> None:
    from dataclasses import asdict

    from conspectus.pipelines.remote_index.local_copy import located
    from conspectus.pipelines.resolution.undo import merges_in, named

    folder = located(index)
    merges = merges_in(folder)
    if names:
        merges = named(names, merges, folder)
    if as_json:
        print_json({"index": index, "merges": [asdict(merge) for merge in merges]})
    else:
        typer.echo(merges_text(Path(index), merges))
