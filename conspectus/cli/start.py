"""Writing the settings to begin with."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import app, examples
from storage.errors import UsageError
from storage.settings import as_yaml


@app.command(
    short_help="Write a settings.yaml to change.",
    epilog=examples("conspectus init", "conspectus init project"),
)
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write settings.yaml.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a settings.yaml that is there.")] = False,
) -> None:
    """Write a settings.yaml in which every key stands with its default and its meaning.

    Other commands read the settings.yaml of the folder that they are run in.
    """
    target = directory / "settings.yaml"
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; --force overwrites it")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a folder to write settings.yaml in")
    directory.mkdir(parents=True, exist_ok=True)
    target.write_text(as_yaml(), "utf-8")
    typer.echo(f"wrote {target}")
