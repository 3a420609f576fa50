"""Making an index."""

import os
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
    complain,
    examples,
    print_json,
)
from conspectus.progress import progress
from conspectus.render.builds import build_text, estimate_text, lost_text
from conspectus.storage.errors import FAILURES_PAST_THRESHOLD, UsageError
from conspectus.storage.settings import Settings

_LONGEST_CALL = 86_400.0
"""Seconds; `inf` would be no JSON."""


@app.command(
    short_help="Make an index of documents, or bring it up to date.",
    epilog=examples(
        "conspectus index docs notes/*.md",
        "conspectus index docs --index docs.index --set chunks.chunk_size=300",
        "conspectus index docs --retry-failed",
        "conspectus index --kg films.tsv --index films.index",
        "conspectus index docs --estimate",
    ),
)
def index(
    inputs: Annotated[
        list[str] | None, typer.Argument(help="Files, folders, globs or URLs.", metavar="INPUT", show_default=False)
    ] = None,
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    openie: OpenieOption = None,
    kg: KgOption = None,
    kg_labels: KgLabelsOption = None,
    retry_failed: Annotated[
        bool,
        typer.Option(
            "--retry-failed", help="Try again what had failed, and ask again for replies that lost something."
        ),
    ] = False,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Only say what it would take: tokens, calls, cost and time. Asks nobody.")
    ] = False,
    latency: Annotated[
        float | None,
        typer.Option(
            "--latency",
            min=0.0,
            max=_LONGEST_CALL,
            help="With --estimate: seconds a call. [default: from its reply]",
            metavar="SECONDS",
        ),
    ] = None,
    exact: Annotated[
        bool,
        typer.Option("--exact", help="Divide communities anew, as a build from nothing does (communities.update)."),
    ] = False,
    wait: Annotated[
        float | None,
        typer.Option(
            "--wait",
            min=0.0,
            help="Wait so long for another build of this index to end. [default: build.wait]",
            metavar="SECONDS",
        ),
    ] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the index equal to its input: new documents are added, changed ones redone, missing ones gone.

    Reads .txt .md .html .pdf .docx .pptx .xlsx .epub .csv .tsv .json .jsonl .parquet .eml .mbox .zip .tar .gz,
    on disk or behind a URL (https://..., s3://...). What cannot be read is listed by: conspectus status
    --failures. A killed run goes on where it was; an unchanged input is a no-op. Where PREFECT_API_URL is set, the same
    steps run as a Prefect flow.

    Communities that a change does not touch stay, and so do their reports; with --exact everything is as in a build
    from nothing, and most reports are made again.

    A model's reply that lost something (a record, a report, an answer) is remembered like any other. --retry-failed
    asks again for exactly these, and for the calls that failed; a better reply takes the place of the remembered one.

    With --openie the named entities and triples of each document come from a file; a document that it does not name is
    read by extraction.pipeline, and how many these are is told. What cannot be used of it is listed among the failures.
    HippoRAG's openie_results_*.json is read too, by passage; without INPUT its passages are the documents.

    With --kg a knowledge graph is brought along, and no documents are needed: .tsv and .csv (head, relation, tail), .nt
    (N-Triples), .graphml (LightRAG's and nano-graphrag's too), or a Wikidata dump (.json), each also .gz. Things of
    documents and of the graph meet by their names.

    The exit status is 5 where more items of one kind (documents, chunks, descriptions, reports) lost something than
    build.failure_threshold allows. An item counts once, whether it lost a part or the whole.

    With --estimate no server is called and nothing is written: the build is rehearsed with replies that are remembered
    or made up, and what it would take is told by step.
    """
    if exact:
        overrides = [*(overrides or []), "communities.update=exact"]
    if wait is not None:
        overrides = [*(overrides or []), f"build.wait={wait}"]
    chosen = chosen_settings(settings, overrides, openie, kg, kg_labels)
    inputs = inputs or []
    if not inputs and not chosen.kg.files and not chosen.extraction.openie:
        raise UsageError("Missing argument 'INPUT': name documents, or a graph with --kg")
    if latency is not None and not estimate:
        raise UsageError("--latency is for --estimate: how long a call really takes nobody sets")
    if estimate:
        _estimate(inputs, index, chosen, latency, retry_failed=retry_failed, as_json=as_json)
        return
    if os.environ.get("PREFECT_API_URL"):
        if quiet:
            os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
        from conspectus.pipelines.tasks import run_flow

        done = run_flow(inputs, index, chosen, retry_failed=retry_failed)
    else:
        from conspectus.pipelines.build_report import summary
        from conspectus.pipelines.index import build_index
        from conspectus.pipelines.runner import RunHere

        with progress(quiet) as report:
            made = build_index(inputs, index, chosen, RunHere(report), report, retry_failed=retry_failed)
            done = summary(made)
    end(done, chosen, as_json=as_json)


def end(done: dict[str, Any], chosen: Settings, *, as_json: bool) -> None:
    """Print what a build did; it ends the program with its exit status where too much was lost."""
    if as_json:
        print_json(done)
    else:
        typer.echo(build_text(done))
    check_lost(done, chosen)


def check_lost(done: dict[str, Any], chosen: Settings) -> None:
    """End the program with its exit status where a build lost too much."""
    threshold = chosen.build.failure_threshold
    if done["failed_share"] > threshold:
        share = f"{lost_text(done['lost'][0])} ({done['failed_share']:.1%}) lost something"
        complain(f"the index is published, but {share}, more than build.failure_threshold ({threshold:.1%})")
        raise typer.Exit(FAILURES_PAST_THRESHOLD)


def _estimate(
    inputs: list[str], index: Path, chosen: Settings, latency: float | None, *, retry_failed: bool, as_json: bool
) -> None:
    from conspectus.pipelines.estimation.estimate import estimate, summary

    made = summary(estimate(inputs, index, chosen, latency=latency, retry_failed=retry_failed))
    if as_json:
        print_json(made)
    else:
        typer.echo(estimate_text(made))
