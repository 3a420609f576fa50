"""`conspectus add`, `remove` and `prune`: changes to an existing index."""

from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import (
    DEFAULT_INDEX,
    chosen_settings,
    print_json,
)
from conspectus.cli.command import Build, command
from conspectus.cli.index import print_estimate, update
from conspectus.render.builds import pruning_text
from conspectus.storage.errors import UsageError


@command(
    "Add documents to an index.",
    "conspectus add notes/new.md",
    "conspectus add more.jsonl --index docs.index",
)
def add(
    inputs: Annotated[list[str], typer.Argument(metavar="INPUT...")],
    build: Build,
    estimate: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Add documents to an index; documents with the same ids or names are replaced.

    The result is the same as indexing all documents together; the earlier ones are read from the index. A file is
    named by its path below the input, as in `conspectus index`: `add docs` gives the files of docs the names that
    `index docs` gave them. The settings must be those that the index was made with.

    Args:
        inputs: Files, folders, globs or URLs.
    """
    if estimate:
        print_estimate(build, build.chosen(), inputs, as_json=as_json, names=())
    else:
        update(build, inputs, (), as_json=as_json, quiet=quiet)


@command(
    "Remove documents from an index.",
    "conspectus remove notes/old.md",
    "conspectus remove 17 notes --index docs.index",
)
def remove(
    names: Annotated[list[str], typer.Argument(metavar="ID_OR_URI...")],
    build: Build,
    estimate: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Remove documents from an index, and everything that only they supported.

    The result is the same as indexing the other documents. Older versions and the cache still contain the removed text
    until: conspectus prune --purge. The settings must be those that the index was made with.

    Args:
        names: Ids or URIs of documents, or names of files and folders.
    """
    if estimate:
        print_estimate(build, build.chosen(), (), as_json=as_json, names=names)
    else:
        update(build, (), names, as_json=as_json, quiet=quiet)


@command(
    "Delete old versions of an index.",
    "conspectus prune",
    "conspectus prune --keep 2",
    "conspectus prune --purge --index docs.index",
)
def prune(
    index: str = DEFAULT_INDEX,
    keep: Annotated[int | None, Ge(1)] = None,
    purge: bool = False,
    settings: Path | None = None,
    overrides: list[str] | None = None,
    as_json: bool = False,
) -> None:
    """Delete old versions of an index; the current one and the most recent ones before it are kept.

    With --purge, nothing made from text outside the current version remains in the index folder: vectors,
    extractions and replies for such text, and all answers, are deleted from the cache. The rest of the cache still
    makes later builds cheap.

    Args:
        keep: Versions to keep, the current one included. [default: build.keep_versions more than the current one]
        purge: Also delete everything made from text that is no longer in the index; keeps 1 version.
    """
    from dataclasses import asdict

    from conspectus.building import prune as prune_index

    if purge and keep not in (None, 1):
        raise UsageError("--purge keeps only the current version; omit --keep")
    purged = prune_index(index, keep, purge=purge, settings=chosen_settings(settings, overrides))
    done = {"index": index, **asdict(purged.pruned), "forgotten": purged.forgotten}
    print_json(done) if as_json else typer.echo(pruning_text(done))
