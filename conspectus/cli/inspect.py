"""`conspectus status`, `reports`, `outline`, `entities`, `verify`, `doctor`: contents of an index, and its setup."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    JsonOption,
    KgLabelsOption,
    KgOption,
    OpenieOption,
    SetOption,
    SettingsOption,
    WhereOption,
    app,
    chosen_settings,
    examples,
    open_filtered,
    print_json,
)
from conspectus.render.builds import check_text, preview_text, status_text
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.storage.settings import Settings


@app.command(
    short_help="Show the contents of an index, or what an update would redo.",
    epilog=examples("conspectus status", "conspectus status --failures --index docs.index", "conspectus status docs"),
)
def status(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Show what an update to these files, folders, globs or URLs would redo.",
            metavar="INPUT",
            show_default=False,
        ),
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    failures: Annotated[bool, typer.Option("--failures", help="List all failures with their reasons.")] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    openie: OpenieOption = None,
    kg: KgOption = None,
    kg_labels: KgLabelsOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the contents of an index, and what failed.

    With INPUT, show which documents `conspectus index` with the same arguments would find new, changed and gone, how
    much it would extract and embed, and what it would ask a model (as `conspectus index --estimate`). Nothing is
    written and no server is called.
    """
    if inputs:
        if failures:
            raise UsageError("--failures lists the failures of the index; INPUT previews an update: give one of them")
        _preview(inputs, index, chosen_settings(settings, overrides, openie, kg, kg_labels), as_json=as_json)
        return
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.records import SKIP, Failure

    place = index
    if "://" in index:
        from conspectus.pipelines.remote_index.local_copy import located

        place = str(located(index))
    opened = StoredIndex.open(place)
    lost = opened.rows(Failure)
    if as_json:
        failed = [asdict(failure) for failure in lost if failure.stage != SKIP]
        skipped = [failure.item_id for failure in lost if failure.stage == SKIP]
        print_json({**asdict(opened.manifest), "index": index, "failures": failed, "skipped": skipped})
    else:
        typer.echo(status_text(opened, failures))


def _preview(inputs: list[str], index: str, chosen: "Settings", *, as_json: bool) -> None:
    from conspectus.pipelines.diff import preview, summary
    from conspectus.pipelines.remote_index.local_copy import written

    with written(index, publishes=False) as folder:
        made = summary(preview(inputs, folder, chosen))
    made["index"] = made["estimate"]["index"] = index
    print_json(made) if as_json else typer.echo(preview_text(made))


@app.command(
    short_help="Browse the community reports, level by level.",
    epilog=examples("conspectus reports --level c0", "conspectus reports --community 0123456789abcdef"),
)
def reports(
    index: IndexOption = DEFAULT_INDEX,
    level: Annotated[
        str | None, typer.Option("--level", help="Only one level: c0 (coarsest), c1, ...", metavar="LEVEL")
    ] = None,
    community: Annotated[
        str | None, typer.Option("--community", help="Show the report on one community in full.", metavar="ID")
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Browse the community reports level by level, or read one with its citations."""
    from conspectus import reports as browse

    if level and community:
        raise UsageError("--level lists reports and --community shows one; give one of them")
    context = open_filtered(index, settings, overrides, where, access).context
    if community:
        one = browse.opened(context, community)
        print_json(browse.full_json(one)) if as_json else typer.echo(browse.full(one))
    else:
        found = browse.entries(context, level)
        print_json(browse.listed_json(found)) if as_json else typer.echo(browse.listed(found))


@app.command(
    short_help="Show the documents with their headings.",
    epilog=examples("conspectus outline", "conspectus outline guide.html --depth 2", "conspectus outline docs --json"),
)
def outline(
    document: Annotated[
        str | None,
        typer.Argument(
            help="Only the document of this name or id, or those in this folder.",
            metavar="DOCUMENT",
            show_default=False,
        ),
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    depth: Annotated[
        int | None,
        typer.Option("--depth", min=0, help="Maximum depth of headings (all).", metavar="N", show_default=False),
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the documents of an index with their nested headings, and the numbers of links from and to them."""
    from conspectus import outline as outlines

    found = outlines.outlined(open_filtered(index, settings, overrides, where, access).context.index, document)
    print_json(outlines.json_of(found)) if as_json else typer.echo(outlines.text(found, depth))


@app.command(
    short_help="Show what an index is about: its best connected entities and largest communities.",
    epilog=examples("conspectus entities --index docs.index", "conspectus entities --top 10 --communities 5"),
)
def entities(
    index: IndexOption = DEFAULT_INDEX,
    top: Annotated[int, typer.Option("--top", min=0, help="Number of entities.", metavar="N")] = 50,
    communities: Annotated[int, typer.Option("--communities", min=0, help="Number of communities.", metavar="N")] = 20,
    as_json: JsonOption = False,
) -> None:
    """Show the entities that share passages with the most others, and the largest communities with a report."""
    from conspectus import entities as about
    from conspectus.pipelines.remote_index.local_copy import located
    from conspectus.storage.index import StoredIndex

    opened = StoredIndex.open(located(index))
    found = about.most_connected(opened, top), about.largest_communities(opened, communities)
    print_json(about.as_json(*found)) if as_json else typer.echo(about.as_text(*found))


@app.command(short_help="Check an index.", epilog=examples("conspectus verify --index docs.index"))
def verify(index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False) -> None:
    """Check every checksum, id, span and row count of an index; exit with status 4 if anything is wrong.

    Of an index in an object store every object is read, and damaged files of the local copy are fetched again.
    """
    from conspectus.pipelines.readers.remote import is_url
    from conspectus.pipelines.remote_index.local_copy import verify_remote
    from conspectus.storage.errors import IndexCorrupt
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.verify import verify as find_problems

    problems = verify_remote(index) if is_url(index) else find_problems(StoredIndex.open(index))
    if as_json:
        print_json({"index": index, "problems": [asdict(problem) for problem in problems]})
    elif not problems:
        typer.echo(f"{index}: sound; all checksums, ids, spans and row counts are correct")
    else:
        typer.echo("\n".join(f"{problem.where}: {problem.what}" for problem in problems))
    if problems:
        raise typer.Exit(IndexCorrupt.exit_status)


@app.command(
    short_help="Check the configuration.",
    epilog=examples("conspectus doctor", "conspectus doctor --no-calls --json"),
)
def doctor(
    index: IndexOption = DEFAULT_INDEX,
    calls: Annotated[
        bool, typer.Option("--calls/--no-calls", help="Also call the configured servers: a few calls of a few tokens.")
    ] = True,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check what is configured: model, embedding, spaCy pipeline, Prefect, disk, index.

    No secret is printed. The exit status is that of the first failed check.
    """
    from conspectus.doctor import examine

    checks = []
    for check in examine(chosen_settings(settings, overrides), index, calls=calls):
        checks.append(check)
        if not as_json:
            typer.echo(check_text(check))
    if as_json:
        print_json([asdict(check) for check in checks])
    failed = [check for check in checks if check.state == "failed"]
    if failed:
        raise typer.Exit(failed[0].exit_status)
