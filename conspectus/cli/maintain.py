"""Changing an index that is there: documents added and removed, old versions and remembered texts deleted."""

from pathlib import Path
from typing import Annotated, Any

import typer

from conspectus.cli.app import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    KgLabelsOption,
    KgOption,
    OpenieOption,
    QuietOption,
    SetOption,
    SettingsOption,
    app,
    chosen_settings,
    examples,
    print_json,
)
from conspectus.cli.index import end
from conspectus.progress import progress
from conspectus.render.builds import migration_text, pruning_text
from conspectus.storage.errors import UsageError


@app.command(
    short_help="Add documents to an index.",
    epilog=examples("conspectus add notes/new.md", "conspectus add more.jsonl --index docs.index"),
)
def add(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, globs or URLs.", metavar="INPUT...")],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    openie: OpenieOption = None,
    kg: KgOption = None,
    kg_labels: KgLabelsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Add documents to those that an index holds, in the place of those with the same ids or names.

    The result is that of indexing all of them together; what was there before is taken from the index itself. A file
    is named by its path below the input, as by `conspectus index`: `add docs` gives the files of docs the names that
    `index docs` gave them. Settings must be those that the index was made with.
    """
    from conspectus.pipelines.build_report import summary
    from conspectus.pipelines.incremental import add_documents
    from conspectus.pipelines.runner import RunHere

    chosen = chosen_settings(settings, overrides, openie, kg, kg_labels)
    with progress(quiet) as report:
        done = summary(add_documents(inputs, index, chosen, RunHere(report), report))
    end(done, chosen, as_json=as_json)


@app.command(
    short_help="Remove documents from an index.",
    epilog=examples("conspectus remove notes/old.md", "conspectus remove 17 notes --index docs.index"),
)
def remove(
    names: Annotated[
        list[str],
        typer.Argument(help="Ids or uris of documents, or names of files and folders.", metavar="ID_OR_URI..."),
    ],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    openie: OpenieOption = None,
    kg: KgOption = None,
    kg_labels: KgLabelsOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Remove documents from an index; what they alone supported goes with them.

    The new version is that of indexing the others. Older versions and the memo still hold what was removed until:
    conspectus prune --purge. Settings must be those that the index was made with.
    """
    from conspectus.pipelines.build_report import summary
    from conspectus.pipelines.incremental import remove_documents
    from conspectus.pipelines.runner import RunHere

    chosen = chosen_settings(settings, overrides, openie, kg, kg_labels)
    with progress(quiet) as report:
        done = summary(remove_documents(names, index, chosen, RunHere(report), report))
    end(done, chosen, as_json=as_json)


@app.command(
    short_help="Delete old versions of an index.",
    epilog=examples("conspectus prune", "conspectus prune --keep 2", "conspectus prune --purge --index docs.index"),
)
def prune(
    index: IndexOption = DEFAULT_INDEX,
    keep: Annotated[
        int, typer.Option("--keep", min=1, help="Versions to keep, the one in force among them.", metavar="N")
    ] = 1,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Also forget all that was made from texts that the index no longer holds: keeps 1 version."
        ),
    ] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete all versions of an index but the one in force and those published last before it.

    With --purge nothing stays in the index folder that came of a text which the version in force does not hold: the
    memo forgets its vectors, extractions and replies, and all answers; then it is written anew. What still holds can
    be built from it without any call.
    """
    from dataclasses import asdict

    from conspectus.pipelines.purge import purge as purge_index
    from conspectus.storage.pruning import prune as prune_index
    from conspectus.storage.publishing import build_lock

    if purge and keep != 1:
        raise UsageError("--purge keeps the version in force only; leave --keep out")
    _check_index(index)
    done: dict[str, Any]
    if purge:
        purged = purge_index(index, chosen_settings(settings, overrides))
        done = {"index": str(index), **asdict(purged.pruned), "forgotten": purged.forgotten}
    else:
        with build_lock(index):
            done = {"index": str(index), **asdict(prune_index(index, keep)), "forgotten": {}}
    print_json(done) if as_json else typer.echo(pruning_text(done))


@app.command(
    short_help="Bring an index of an earlier format up to date.",
    epilog=examples("conspectus migrate", "conspectus migrate --index docs.index"),
)
def migrate(
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make an index of an earlier format one of the present format; the files that it was made from are not needed.

    What the index has is taken over, and what is missing is made. The oldest formats are built anew from the documents
    that the index holds. The old version stays until: conspectus prune.
    """
    from dataclasses import asdict

    from conspectus.pipelines.migration import migrate as migrate_index

    with progress(quiet) as report:
        done = migrate_index(index, chosen_settings(settings, overrides), report)
    print_json({"index": str(index), **asdict(done)}) if as_json else typer.echo(f"{index}: {migration_text(done)}")


def _check_index(index: Path) -> None:
    """Refuse a folder that is no index before anything is made in it."""
    from conspectus.storage.manifest import current_version

    current_version(index)
