"""`conspectus init`: a settings file, and prompts tuned to the documents."""

from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import QuietOption, SetOption, SettingsOption, app, chosen_settings, examples
from conspectus.progress import progress
from conspectus.render.builds import tuning_text
from conspectus.storage.errors import UsageError


@app.command(
    short_help="Write a settings.yaml, and prompts tuned to your documents.",
    epilog=examples(
        "conspectus init",
        "conspectus init project",
        "conspectus init project --tune docs --set llm.model=gpt-4o-mini",
    ),
)
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write settings.yaml.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite existing files.")] = False,
    tune: Annotated[
        list[str] | None,
        typer.Option(
            "--tune",
            help="Tune the prompts to these files, folders, globs or URLs. Repeatable. Needs a model.",
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
    """Write a settings.yaml with every setting, its default and its meaning.

    Other commands read the settings.yaml of the folder in which they run. With --tune the language model reads a sample
    of the documents and writes prompts for them in their language: a persona, entity types and examples, as text files
    in FOLDER/prompts that you can edit. It starts from FOLDER's settings.yaml if there is one (--force overwrites it)
    and keeps the settings of that file and of --set.
    """
    from conspectus.storage.settings import as_yaml

    target = directory / "settings.yaml"
    if not tune and (settings or overrides or sample):
        raise UsageError("--settings, --set and --sample need --tune; without it, settings.yaml contains the defaults")
    if target.exists() and not force:
        raise UsageError(f"{target} already exists; --force overwrites it")
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
    from conspectus.pipelines.tuning.tune import CHUNKS, check_free, check_writable, tune, write_tuning

    chosen = chosen_settings(file, overrides)
    if not force:
        check_free(directory, chosen)
    check_writable(directory, chosen)
    with progress(quiet) as report:
        tuning = tune(inputs, chosen, sample or CHUNKS, report)
    for path in write_tuning(directory, chosen, tuning):
        typer.echo(f"wrote {path}")
    typer.echo(tuning_text(tuning))
