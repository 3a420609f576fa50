"""Writing the settings to begin with, and prompts that fit the documents."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import QuietOption, SetOption, SettingsOption, app, chosen_settings, examples
from conspectus.progress import progress
from conspectus.render import text as show
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import as_yaml


@app.command(
    short_help="Write a settings.yaml to change, and prompts that fit your documents.",
    epilog=examples(
        "conspectus init",
        "conspectus init project",
        "conspectus init project --tune docs --set llm.model=gpt-4o-mini",
    ),
)
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write settings.yaml.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            "--tune",
            help="Fit the prompts to these files, folders, globs or URLs; repeatable. Needs a model.",
            metavar="INPUT",
        ),
    ] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, help="With --tune: chunks to read. [default: 15]", metavar="N")
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    quiet: QuietOption = False,
) -> None:
    """Write a settings.yaml in which every key stands with its default and its meaning.

    Other commands read the settings.yaml of the folder that they are run in. --tune has the language model read a
    sample of the documents and writes what fits its prompts to them, in their language: who it is to be, kinds of
    entities, and examples, as text files in FOLDER/prompts that can be changed by hand. It starts from FOLDER's
    settings.yaml where there is one (--force to overwrite it) and keeps what that and --set say.
    """
    target = directory / "settings.yaml"
    if not tune and (settings or overrides or sample):
        raise UsageError("--settings, --set and --sample go with --tune; without it settings.yaml holds the defaults")
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; --force overwrites it")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a folder to write settings.yaml in")
    if tune:
        _tuned(directory, tune, sample, settings or (target if target.is_file() else None), overrides, force, quiet)
        return
    directory.mkdir(parents=True, exist_ok=True)
    target.write_text(as_yaml(), "utf-8")
    typer.echo(f"wrote {target}")


def _tuned(
    directory: Path,
    inputs: list[str],
    sample: int | None,
    file: Path | None,
    overrides: list[str] | None,
    force: bool,
    quiet: bool,
) -> None:
    from conspectus.pipelines.tuning.tune import CHUNKS, tune
    from conspectus.pipelines.tuning.write import check_free, check_writable, write_tuning

    chosen = chosen_settings(file, overrides)
    if not force:
        check_free(directory, chosen)
    check_writable(directory, chosen)
    with progress(quiet) as report:
        tuning = tune(inputs, chosen, sample or CHUNKS, report)
    for path in write_tuning(directory, chosen, tuning):
        typer.echo(f"wrote {path}")
    typer.echo(show.tuned(tuning))
