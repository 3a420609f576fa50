"""`conspectus add`, `remove`, `prune`, `correct`, `check` and `rollback`: an index that exists."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import DEFAULT_INDEX, print_json
from conspectus.cli.command import Build, Chosen, Source, command
from conspectus.cli.index import print_estimate, update
from conspectus.render.builds import checks_text, corrections_text, merges_text, pruning_text
from conspectus.storage.errors import ChecksFailed, UsageError
from conspectus.storage.records import Correction, Merge
from conspectus.storage.text.normalise import entity_key


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
    chosen: Chosen = Chosen(),
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
    from conspectus.building import prune as prune_index

    if purge and keep not in (None, 1):
        raise UsageError("--purge keeps only the current version; omit --keep")
    purged = prune_index(index, keep, purge=purge, settings=chosen.load())
    done = {"index": index, **asdict(purged.pruned), "forgotten": purged.forgotten}
    print_json(done) if as_json else typer.echo(pruning_text(done))


MERGES = "merges"


@command(
    "Correct the graph: merge, split, rename, forbid.",
    "conspectus correct",
    'conspectus correct merge "Mara Quill" "M. Quill"',
    'conspectus correct split Mercury "Mercury (planet)" --words orbit --words sun',
    'conspectus correct forbid "Mara Quill" sold "Brass Lamp" --comment "a misread list" --apply',
    'conspectus correct merges "Sherlock Holmes"',
)
def correct(
    build: Build,
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]")] = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    document: list[str] | None = None,
    passage: list[str] | None = None,
    words: list[str] | None = None,
    comment: str = "",
    apply: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write a correction of the graph into the file of corrections, or list those of the index.

    Every build and update applies the file. To undo a correction, remove its lines. The kinds are: merge NAME NAME...
    (the first stays), same NAME NAME... (in several languages), apart NAME NAME (never merged), rename NAME NEW, split
    NAME NEW with --document, --passage or --words, type NAME TYPE, forbid NAME, and forbid or fix SOURCE PREDICATE
    TARGET (a relation; for fix the three that are right follow).

    Without KIND, list the corrections of the index and where they are in force; with merges, names that were merged.

    Args:
        kind: The kind of correction, or merges.
        names: The names that it concerns, and what they become.
        document: For split: an id or a URI of a document, or the name of a file or folder. Repeatable.
        passage: For split: the id of a passage. Repeatable.
        words: For split: a word in the sentences that mean NEW. Repeatable.
        comment: Why.
        apply: Rebuild the index now, from the documents in it.
    """
    given = [(where, at) for where, at in (("document", document), ("passage", passage), ("words", words)) if at]
    if len(given) > (kind == "split"):
        raise UsageError("split takes one of --document, --passage and --words; other kinds take none")
    if kind and kind != MERGES:
        from conspectus.building import correct as write
        from conspectus.storage.settings.loading import FILES_BESIDE

        where, at = given[0] if given else ("", [])
        file = build.chosen().build.corrections or str((build.settings or Path()).parent / FILES_BESIDE["corrections"])
        line = write(kind, *(names or []), file=file, where=where, at=at, comment=comment)
        if not apply:
            told = f"{file}: {line}\n  in force from the next build on; --apply rebuilds now"
            print_json({"file": file, "correction": line}) if as_json else typer.echo(told)
            return
    if apply:
        update(build, (), (), as_json=as_json, quiet=quiet)
        return
    from conspectus.pipelines.remote_index.local_copy import located
    from conspectus.storage.index import StoredIndex

    opened, keys = StoredIndex.open(located(build.index)), set(map(entity_key, names or []))
    if kind == MERGES:
        merges = [row for row in opened.rows(Merge) if not keys or keys & {entity_key(row.alias), entity_key(row.name)}]
        merges.sort(key=lambda row: (entity_key(row.name), entity_key(row.alias), row.id))
        shown = {"index": build.index, "merges": [asdict(row) for row in merges]}
        print_json(shown) if as_json else typer.echo(merges_text(Path(build.index), merges))
    else:
        rows = opened.rows(Correction)
        print_json([asdict(row) for row in rows]) if as_json else typer.echo(corrections_text(rows) or "no corrections")


@command(
    "Ask the questions of a file of checks.",
    "conspectus check",
    "conspectus check --file checks.jsonl --index docs.index",
)
def check(source: Source, file: Path | None = None, as_json: bool = False) -> None:
    """Ask the questions of a file of checks, and list those whose answers are not as they must be.

    Each line is JSON: {"question": "...", "cites": [documents], "contains": [texts]}, or "declines": true for a
    question that must not be answered; "method" names a method. A build that fails more of the checks in build.checks
    than build.checks_failed is not published. The exit status is 11 if more than build.checks_failed fail.

    Args:
        file: The file. [default: build.checks, or checks.jsonl beside the settings]
    """
    settings = source.load().build
    if not (file or settings.checks):
        raise UsageError("name a file of checks, or set build.checks")
    index = source.open()
    results = index.check(file or settings.checks)
    print_json([asdict(each) for each in results]) if as_json else typer.echo(checks_text(results))
    if sum(bool(each.wrong) for each in results) > settings.checks_failed:
        raise typer.Exit(ChecksFailed.exit_status)


@command("Make the previous version of an index current.", "conspectus rollback --index docs.index")
def rollback(index: str = DEFAULT_INDEX, as_json: bool = False) -> None:
    """Make the version that was published before the current one current again; prune deletes the one that was left."""
    from conspectus.building import rollback as roll_back

    version = roll_back(index).manifest.version
    print_json({"index": index, "version": version}) if as_json else typer.echo(
        f"{index}: version {version} is current"
    )
