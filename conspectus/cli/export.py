"""`conspectus export`: an index in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    JsonOption,
    QuietOption,
    SetOption,
    SettingsOption,
    WhereOption,
    app,
    examples,
    open_filtered,
    print_json,
)
from conspectus.exporting import EXPORTS, find_export
from conspectus.progress import progress
from conspectus.render.builds import export_json, export_text


def _help() -> str:
    width = max(map(len, EXPORTS))
    formats = (f"  {name:{width}}  {format_.about}" for name, format_ in EXPORTS.items())
    return "\n".join([_WHAT, "", "\b", "Formats:", *formats])


_WHAT = """Write an index in a format that other programs read.

An existing PATH is an error unless --force is given; --force replaces a file, or a folder that contains only files of
this format. The export is written to a temporary path and renamed, so it is complete or absent.

With --where and --access, only matching documents and the content that they support are written."""


@app.command(
    short_help="Write an index in another program's format.",
    help=_help(),
    epilog=examples(
        "conspectus export graphml --to graph.graphml",
        "conspectus export csv --index docs.index --to tables --force",
    ),
)
def export(
    format_: Annotated[
        str,
        typer.Argument(metavar="FORMAT", help=f"One of: {', '.join(EXPORTS)}."),
    ],
    to: Annotated[Path, typer.Option("--to", help="The file or the folder to write.", metavar="PATH")],
    index: IndexOption = DEFAULT_INDEX,
    force: Annotated[bool, typer.Option("--force", help="Replace an existing export at PATH.")] = False,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write an index in a format that other programs read."""

    from conspectus.atomic_write import check_place

    check_place(to, find_export(format_).holds, force=force)
    opened = open_filtered(index, settings, overrides, where, access)
    with progress(quiet) as report:
        report(f"writing {format_}", 0, 1)
        done = opened.export(format_, to, force=force)
        report(f"writing {format_}", 1, 1)
    if as_json:
        print_json(export_json(format_, done))
    else:
        typer.echo(export_text(done, to))
