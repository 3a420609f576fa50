"""`conspectus import-graphrag`: an index from the output of Microsoft GraphRAG."""

from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import (
    DEFAULT_INDEX,
    chosen_settings,
    print_json,
)
from conspectus.cli.command import command
from conspectus.cli.index import check_lost
from conspectus.progress import progress
from conspectus.render.builds import import_text


@command(
    "Make an index from the output of Microsoft GraphRAG.",
    "conspectus import-graphrag ragtest --index ragtest.index",
    "conspectus import-graphrag ragtest/output --index ragtest.index --json",
    name="import-graphrag",
)
def import_graphrag(
    folder: Annotated[Path, typer.Argument(metavar="DIR")],
    index: str = DEFAULT_INDEX,
    settings: Path | None = None,
    overrides: list[str] | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Make an index from the output of Microsoft GraphRAG: documents, graph, communities and reports.

    Reads the tables of GraphRAG 3, 2 and 1. No model is called: vectors, synonyms and the graph that PageRank walks are
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

    chosen = chosen_settings(settings, overrides)
    with progress(quiet) as report, written(index, wait=chosen.build.wait) as local:
        done = imported_summary(imported(folder, local, chosen, None, report))
    done["index"] = index
    if as_json:
        print_json(done)
    else:
        typer.echo(import_text(done))
    check_lost(done, chosen)
