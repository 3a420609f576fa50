"""Writing an index in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.atomic_write import check_place
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
    chosen_settings,
    examples,
    print_json,
)
from conspectus.exporting import EXPORTS, find_export
from conspectus.progress import progress
from conspectus.render import export as show_exporting


def _help() -> str:
    width = max(map(len, EXPORTS))
    formats = (f"  {name:{width}}  {each.about}" for name, each in EXPORTS.items())
    return "\n".join([_WHAT, "", "\b", "Formats:", *formats])


_WHAT = """Write an index in a format that other programs read.

What is at PATH already stays, unless --force is given; then a file is replaced, and a folder that holds nothing but
what this format writes. Nothing is half-written: the export is made beside PATH and renamed.

With --where and --access only what the permitted documents support is written."""


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
    force: Annotated[bool, typer.Option("--force", help="Replace an export that is at PATH.")] = False,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Write an index in a format that other programs read."""
    from conspectus.api import open_index

    check_place(to, find_export(format_).holds, force=force)
    opened = open_index(index, chosen_settings(settings, overrides))
    with progress(quiet) as report:
        report(f"writing {format_}", 0, 1)
        done = opened.filter(where, access).export(format_, to, force=force)
        report(f"writing {format_}", 1, 1)
    if as_json:
        print_json(show_exporting.exported_json(format_, done))
    else:
        typer.echo(show_exporting.exported(done, to))
