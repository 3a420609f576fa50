"""`conspectus index`: documents in, an index out."""

import os
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge
from conspectus.cli.app import complain, print_json
from conspectus.cli.command import Build, command
from conspectus.progress import progress
from conspectus.render.builds import build_text, checks_text, estimate_text, lost_text
from conspectus.storage.errors import FAILURES_PAST_THRESHOLD, ChecksFailed, ConspectusError, UsageError

if TYPE_CHECKING:
    from conspectus.api import Index
    from conspectus.storage.settings import Settings

_LONGEST_CALL = 86_400.0
"""Seconds. An upper bound, because JSON has no infinity."""


@command(
    "Make an index of documents, or update it.",
    "conspectus index docs notes/*.md",
    "conspectus index docs --index docs.index --set chunks.chunk_size=300",
    "conspectus index docs --retry-failed",
    "conspectus index --kg films.tsv --index films.index",
    "conspectus index docs --estimate",
    "conspectus index docs --watch",
)
def index(
    build: Build,
    inputs: Annotated[list[str] | None, typer.Argument(metavar="INPUT", show_default=False)] = None,
    retry_failed: bool = False,
    watch: bool = False,
    estimate: bool = False,
    latency: Annotated[float | None, typer.Option("--latency", min=0.0, max=_LONGEST_CALL)] = None,
    exact: bool = False,
    wait: Annotated[float | None, Ge(0.0)] = None,
    batch: Path | None = None,
    runner: str | None = None,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Make the index equal to its input: new documents are added, changed ones redone, missing ones removed.

    Reads .txt .log .md .rst .org .adoc .wiki .man .1 .tex .mdx .qmd .rmd .html .pdf .docx .odt .odp .pptx .xlsx .xls
    .ods .epub .rtf .xml .nxml .fb2 .vtt .srt .ics .vcf .csv .tsv .json .jsonl .parquet .ipynb .py .yaml .toml .eml
    .msg .mbox .zip .tar .gz .bz2 .xz .zst and other source code, and pictures if conspectus[ocr] is installed, on
    disk or behind a URL (https://..., s3://...). Files of other formats are skipped. Unreadable files are listed by:
    conspectus status --failures. A killed run continues where it stopped; an unchanged input is a no-op. If
    PREFECT_API_URL is set, the same steps run as a Prefect flow.

    Communities that a change does not affect keep their reports. --exact computes communities as in a build from
    scratch, and then most reports are written again.

    A model's reply that lost a part (a record, a report, an answer) is cached like any other. --retry-failed asks again
    for these replies and for calls that failed; a better reply replaces the cached one.

    --openie takes the entities and triples of each document from a file. Documents that it does not name are read by
    extraction.pipeline. Unusable rows are listed as failures. In HippoRAG's openie_results_*.json the rows are
    passages; without INPUT these are the documents.

    --kg imports a knowledge graph, with documents or without: tables (.csv, .tsv) of triples, edges or nodes, RDF,
    GraphML, GEXF, JSON, a Wikidata dump, each also as .gz. Entities of documents and of the graph are joined by name.

    The exit status is 5 if more items of one kind (documents, chunks, descriptions, reports) lost something than
    build.failure_threshold allows. An item counts once, whether it lost a part or everything.

    --batch sends nothing to the model. The requests of a stage are written as files for OpenAI's batch API, at half the
    price, and the exit status is 10. Put the output files into the same folder and repeat the command until the index
    is built. Each stage needs a batch: extraction, gleaning (twice), votes on names, summaries, reports.

    --watch goes on after the build: changes of the files within seconds are one update, until Ctrl-C. What fails is
    told, and does not end it.

    If build.checks names a file of questions (conspectus check), a version whose answers are wrong is not published,
    and the exit status is 11.

    --estimate calls no server and writes nothing: it counts the prompts, assumes replies as long as the cached or the
    usual ones, and reports by step what the build would take.

    Args:
        inputs: Files, folders, globs or URLs.
        retry_failed: Retry what failed, and ask again for replies that lost a part.
        watch: Follow the files and folders, and update the index when they change.
        latency: With --estimate: seconds per call. [default: from the length of the reply]
        exact: Compute communities from scratch (communities.update=exact).
        wait: Wait this long for another build of this index to finish. [default: build.wait]
        batch: Write the model's requests as batch files into this folder, and take results from there.
    """
    if batch is not None and retry_failed:
        raise UsageError("--retry-failed calls the server immediately; omit --batch")
    given = {"build.wait": wait, "build.runner": runner, "build.batch": batch}
    given["communities.update"] = "exact" if exact else None
    chosen = build.chosen(*(f"{key}={value}" for key, value in given.items() if value is not None))
    index = build.index
    inputs = inputs or []
    if not inputs and not chosen.kg.files and not chosen.extraction.openie:
        raise UsageError("Missing argument 'INPUT': give documents, or a graph with --kg")
    if latency is not None and not estimate:
        raise UsageError("--latency only applies with --estimate")
    if estimate:
        print_estimate(build, chosen, inputs, as_json=as_json, latency=latency, retry_failed=retry_failed)
        return
    if os.environ.get("PREFECT_API_URL"):
        if quiet:
            os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
        from conspectus.pipelines.prefect_flow import run_flow

        done = run_flow(inputs, index, chosen, retry_failed=retry_failed)
        _end(done, chosen, as_json=as_json)
        return

    def work(building: Any, **given: Any) -> Any:  # noqa: ANN401  (the module, an index)
        return building.build(inputs, retry_failed=retry_failed, **given)

    def again() -> None:
        change(build, chosen, work, as_json=as_json, quiet=quiet)

    if watch:
        _follow(inputs, Path(index), again)
    else:
        again()


def _follow(inputs: Sequence[str], index: Path, again: Callable[[], None]) -> None:
    """Update an index now and after every change of its input, until Ctrl-C. An error is told, and does not end it."""
    from conspectus.watching import watched

    places, options = watched(inputs, index)
    from watchfiles import watch

    for number, changed in enumerate(watch(*places, **options)):
        if changed or not number:  # the first, without a change, comes at once: what changes meanwhile is seen
            try:
                again()
            except (ConspectusError, OSError) as error:
                complain(str(error))
            except typer.Exit:
                pass  # too much failed, which was told


def update(build: Build, inputs: Sequence[str], names: Sequence[str], *, as_json: bool, quiet: bool) -> None:
    """Remove the named documents from an index, or add others, as `change` does."""

    def work(building: Any, **given: Any) -> Any:  # noqa: ANN401  (the module, an index)
        return building.remove(names, **given) if names else building.add(inputs, **given)

    change(build, build.chosen(), work, as_json=as_json, quiet=quiet)


def change(build: Build, chosen: "Settings", work: "Callable[..., Index]", *, as_json: bool, quiet: bool) -> None:
    """Change an index by a function of `building`, and print what was done; exit with status 5 if too much failed."""
    with progress(quiet) as report:
        report("load", 0, 0)
        from conspectus import building
        from conspectus.pipelines.build_report import summary

        report("load", 1, 1)
        try:
            made = work(building, index=build.index, settings=chosen, progress=report).report
        except ChecksFailed as error:
            checks = [asdict(each) for each in error.results]
            told = {"index": build.index, "version": error.version, "published": False, "checks": checks}
            print_json(told) if as_json else typer.echo(checks_text(error.results))
            raise
    assert made is not None, "the index was changed"
    _end({**summary(made), "index": build.index}, chosen, as_json=as_json)


def _end(done: dict[str, Any], chosen: "Settings", *, as_json: bool) -> None:
    print_json(done) if as_json else typer.echo(build_text(done))
    check_lost(done, chosen)


def check_lost(done: dict[str, Any], chosen: "Settings") -> None:
    """Exit with status 5 if too much failed in a build."""
    threshold = chosen.build.failure_threshold
    if done["failed_share"] > threshold:
        share = f"{lost_text(done['lost'][0])} ({done['failed_share']:.1%}) lost something"
        complain(f"the index is published, but {share}, more than build.failure_threshold ({threshold:.1%})")
        raise typer.Exit(FAILURES_PAST_THRESHOLD)


def print_estimate(
    build: Build,
    chosen: "Settings",
    inputs: Sequence[str],
    *,
    as_json: bool,
    **more: Any,  # noqa: ANN401
) -> None:
    """Print what a build would take; `more` is passed to `estimate`."""
    from conspectus.pipelines.estimation.estimate import estimate
    from conspectus.pipelines.estimation.totals import summary
    from conspectus.pipelines.remote_index.local_copy import written

    with written(build.index, publishes=False) as folder:
        made = {**summary(estimate(inputs, folder, chosen, **more)), "index": build.index}
    print_json(made) if as_json else typer.echo(estimate_text(made))
