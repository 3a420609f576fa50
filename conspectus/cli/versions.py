"""`conspectus check` and `rollback`: whether a version is good, and back to the one before."""

from dataclasses import asdict
from pathlib import Path

import typer
from conspectus.cli.app import DEFAULT_INDEX, print_json
from conspectus.cli.command import Source, command
from conspectus.render.builds import checks_text
from conspectus.storage.errors import ChecksFailed, UsageError


@command(
    "Ask the questions of a file of checks.",
    "conspectus check",
    "conspectus check --file checks.jsonl --index docs.index",
)
def check(source: Source, file: Path | None = None, as_json: bool = False) -> None:
    """Ask the questions of a file of checks, and list those whose answers are not as they must be.

    Each line is JSON: {"question": "...", "cites": [documents], "contains": [texts]}, or "declines": true for a
    question that must not be answered; "method" names a method. A build that fails more of the checks in build.checks
    than build.checks_failed is not published. The exit status is 11 if more than build.checks_failed fail.

    Args:
        file: The file. [default: build.checks, or checks.jsonl beside the settings]
    """
    settings = source.chosen().build
    if not (file or settings.checks):
        raise UsageError("name a file of checks, or set build.checks")
    index = source.open()
    results = index.check(file or settings.checks)
    print_json([asdict(each) for each in results]) if as_json else typer.echo(checks_text(results))
    if sum(bool(each.wrong) for each in results) > settings.checks_failed:
        raise typer.Exit(ChecksFailed.exit_status)


@command("Make the previous version of an index current.", "conspectus rollback --index docs.index")
def rollback(index: str = DEFAULT_INDEX, as_json: bool = False) -> None:
    """Make the version that was published before the current one current again; prune deletes the one that was left."""
    from conspectus.building import rollback as roll_back

    version = roll_back(index).manifest.version
    print_json({"index": index, "version": version}) if as_json else typer.echo(
        f"{index}: version {version} is current"
    )
