"""Making an index of what other programs have made of documents."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    QuietOption,
    SetOption,
    SettingsOption,
    app,
    chosen_settings,
    examples,
    print_json,
)
from conspectus.cli.index import check_lost
from conspectus.progress import progress
from conspectus.render import import_report as show_importing


@app.command(
    name="import-graphrag",
    short_help="Make an index of what Microsoft GraphRAG has indexed.",
    epilog=examples(
        "conspectus import-graphrag ragtest --index ragtest.index",
        "conspectus import-graphrag ragtest/output --index ragtest.index --json",
    ),
)
def import_graphrag(
    folder: Annotated[
        Path, typer.Argument(help="The output folder of a GraphRAG project, or the project.", metavar="DIR")
    ],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make an index of what Microsoft GraphRAG has indexed: its documents, its graph, its communities and reports.

    Reads the tables of GraphRAG 3, 2 and 1. No model is asked: vectors, synonyms and the graph that PageRank walks are
    made here, and every method works on it. `conspectus export graphrag` writes such tables.

    What does not fit together there (ends of relationships that no entity describes, chunks that stand in no document)
    is kept as well as can be, and listed by: conspectus status --failures. Importing again is a no-op where nothing has
    changed, and makes the index equal to the tables where something has; documents are added and removed there.
    """
    from conspectus.pipelines.exchange.graphrag.importer import import_graphrag as imported
    from conspectus.pipelines.exchange.graphrag.importer import imported_summary
    from conspectus.pipelines.runner import RunHere

    chosen = chosen_settings(settings, overrides)
    with progress(quiet) as report:
        done = imported_summary(imported(folder, index, chosen, RunHere(report), report))
    if as_json:
        print_json(done)
    else:
        typer.echo(show_importing.imported(done))
    check_lost(done, chosen)
