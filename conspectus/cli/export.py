"""`conspectus export`: an index in the formats of other programs."""

from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import (
    print_json,
)
from conspectus.cli.command import Source, command
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

With --where and --access, only matching documents and the content that they support are written.

`neo4j` sends the graph to the server at --to; NEO4J_USERNAME and NEO4J_PASSWORD are the user."""


@command(
    "Write an index in another program's format.",
    "conspectus export graphml --to graph.graphml",
    "conspectus export csv --index docs.index --to tables --force",
    "conspectus export neo4j --index docs.index --to bolt://localhost:7687/docs",
    about=_help(),
)
def export(
    format_: Annotated[str, typer.Argument(metavar="FORMAT", help=f"One of: {', '.join(EXPORTS)}.")],
    to: Annotated[str, typer.Option("--to")],
    source: Source,
    force: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write an index in a format that other programs read.

    Args:
        to: The file or the folder to write, or the address of a server.
        force: Replace an existing export at PATH.
    """

    from conspectus.atomic_write import check_place

    chosen = find_export(format_)
    if not chosen.to_server:
        check_place(Path(to), chosen.holds, force=force, keeps=chosen.keeps)
    opened = source.open()
    with progress(quiet) as report:
        report(f"writing {format_}", 0, 1)
        done = opened.export(format_, to, force=force)
        report(f"writing {format_}", 1, 1)
    if as_json:
        print_json(export_json(format_, done))
    else:
        typer.echo(export_text(done, to))
