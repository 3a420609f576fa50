"""`conspectus import-graphrag` and `export`: an index from and for other programs."""

from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import DEFAULT_INDEX, print_json
from conspectus.cli.command import Chosen, Source, command
from conspectus.cli.index import check_lost
from conspectus.exporting import EXPORTS, check_place, find_export
from conspectus.progress import progress
from conspectus.render.builds import export_json, export_text, import_text


@command(
    "Make an index from the output of Microsoft GraphRAG.",
    "conspectus import-graphrag ragtest --index ragtest.index",
    "conspectus import-graphrag ragtest/output --index ragtest.index --json",
    name="import-graphrag",
)
def import_graphrag(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    index: str = DEFAULT_INDEX,
    chosen: Chosen = Chosen(),
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Make an index from the output of Microsoft GraphRAG: documents, graph, communities and reports.

    Reads the tables of GraphRAG 3 and 2. No model is called: vectors, synonyms and the graph that PageRank walks are
    computed here, and every method works on the result. `conspectus export graphrag` writes such tables.

    Inconsistencies (a relationship whose entity is missing, a chunk that no document contains) are imported as far as
    possible and listed by: conspectus status --failures. Importing again is a no-op if the tables are unchanged, and
    otherwise makes the index equal to them. Add and remove documents in GraphRAG, not here.

    Args:
        folder: The output folder of a GraphRAG project, or the project.
    """
    from conspectus.pipelines.exchange.graphrag.importer import import_graphrag as imported
    from conspectus.pipelines.exchange.graphrag.importer import imported_summary
    from conspectus.pipelines.remote_index.local_copy import written

    settings = chosen.load()
    with progress(quiet) as report, written(index, wait=settings.build.wait) as local:
        done = imported_summary(imported(folder, local, settings, None, report))
    done["index"] = index
    print_json(done) if as_json else typer.echo(import_text(done))
    check_lost(done, settings)


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

    chosen = find_export(format_)
    if not chosen.to_server:
        check_place(Path(to), chosen.holds, force=force, keeps=chosen.keeps)
    opened = source.open()
    with progress(quiet) as report:
        report(f"writing {format_}", 0, 1)
        done = opened.export(format_, to, force=force)
        report(f"writing {format_}", 1, 1)
    print_json(export_json(format_, done)) if as_json else typer.echo(export_text(done, to))
