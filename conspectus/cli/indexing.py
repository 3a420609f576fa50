"""Making an index."""

import os
from typing import Annotated

import typer

from conspectus import show
from conspectus.cli.app import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    QuietOption,
    SetOption,
    SettingsOption,
    app,
    chosen_settings,
    complain,
    examples,
    print_json,
)
from conspectus.progress import progress
from storage.errors import FAILURES_PAST_THRESHOLD


@app.command(
    short_help="Make an index of documents, or bring it up to date.",
    epilog=examples(
        "conspectus index docs notes/*.md",
        "conspectus index docs --index docs.index --set chunks.chunk_size=300",
    ),
)
def index(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, globs or URLs.", metavar="INPUT")],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the index equal to its input: new documents are added, changed ones redone, missing ones gone.

    Reads .txt .md .html .pdf .docx .pptx .xlsx .epub .csv .tsv .json .jsonl .parquet .eml .mbox .zip .tar .gz,
    on disk or behind a URL (https://..., s3://...). What cannot be read is listed by: conspectus status
    --failures. A killed run goes on where it was; an unchanged input is a no-op. Where PREFECT_API_URL is set, the same
    steps run as a Prefect flow.
    """
    chosen = chosen_settings(settings, overrides)
    if os.environ.get("PREFECT_API_URL"):
        if quiet:
            os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
        from pipelines.tasks import run_flow

        done = run_flow(inputs, index, chosen)
    else:
        from pipelines.index import build_index, summary
        from pipelines.runner import RunHere

        with progress(quiet) as report:
            done = summary(build_index(inputs, index, chosen, RunHere(report), report))
    if as_json:
        print_json(done)
    else:
        typer.echo(show.build(done))
    threshold = chosen.build.failure_threshold
    if done["failed_share"] > threshold:
        share = f"{done['failed_share']:.1%} of the items failed, more than build.failure_threshold ({threshold:.1%})"
        complain(f"the index is published, but {share}")
        raise typer.Exit(FAILURES_PAST_THRESHOLD)
