"""`conspectus add`, `remove`, `prune` and `migrate`: changes to an existing index."""

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
    """Add documents to an index; documents with the same ids or names are replaced.

    The result is the same as indexing all documents together; the earlier ones are read from the index. A file is
    named by its path below the input, as in `conspectus index`: `add docs` gives the files of docs the names that
    `index docs` gave them. The settings must be those that the index was made with.
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
        typer.Argument(help="Ids or URIs of documents, or names of files and folders.", metavar="ID_OR_URI..."),
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
    """Remove documents from an index, and everything that only they supported.

    The result is the same as indexing the other documents. Older versions and the cache still hold the removed text
    until: conspectus prune --purge. The settings must be those that the index was made with.
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
        int, typer.Option("--keep", min=1, help="Versions to keep, the current one included.", metavar="N")
    ] = 1,
    purge: Annotated[
        bool,
        typer.Option(
            "--purge", help="Also delete everything made from text that the index no longer holds; keeps 1 version."
        ),
    ] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete old versions of an index; the current one and the most recent before it stay.

    With --purge nothing in the index folder comes from text that the current version does not hold: vectors,
    extractions and replies of such text, and all answers, are deleted from the cache. What remains in the cache still
    makes later builds cheap.
    """
    from dataclasses import asdict

    from conspectus.pipelines.purge import purge as purge_index
    from conspectus.storage.publishing import build_lock
    from conspectus.storage.publishing import prune as prune_index

    if purge and keep != 1:
        raise UsageError("--purge keeps the current version only; leave --keep out")
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
    short_help="Convert an index of an earlier format.",
    epilog=examples("conspectus migrate", "conspectus migrate --index docs.index"),
)
def migrate(
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Convert an index of an earlier format to the current one, without the original files.

    Existing tables are kept and missing ones are computed; indexes of the oldest formats are built again from the
    documents that they hold. The old version stays until: conspectus prune.
    """
    from dataclasses import asdict

    from conspectus.pipelines.migration import migrate as migrate_index

    with progress(quiet) as report:
        done = migrate_index(index, chosen_settings(settings, overrides), report)
    print_json({"index": str(index), **asdict(done)}) if as_json else typer.echo(f"{index}: {migration_text(done)}")


def _check_index(index: Path) -> None:
    """Reject a folder that is not an index before a lock file is created in it."""
    from conspectus.storage.manifest import current_version

    current_version(index)
