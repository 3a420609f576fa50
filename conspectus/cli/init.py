"""`conspectus init`: a settings file, and prompts tuned to the documents."""

from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.command import Chosen, command
from conspectus.progress import progress
from conspectus.render.builds import tuning_text
from conspectus.storage.errors import UsageError


@command(
    "Write a settings.yaml, and prompts tuned to your documents.",
    "conspectus init",
    "conspectus init project",
    "conspectus init project --tune docs --set llm.model=gpt-4o-mini",
)
def init(
    directory: Annotated[Path, typer.Argument(metavar="FOLDER")] = Path(),
    force: bool = False,
    tune: list[str] | None = None,
    sample: Annotated[int | None, Ge(1)] = None,
    chosen: Chosen = Chosen(),
    quiet: bool = False,
) -> None:
    """Write a settings.yaml with every setting, its default and its meaning.

    Other commands read the settings.yaml of the folder in which they run. With --tune the language model reads a sample
    of the documents and writes prompts for them in their language: a persona, entity types and examples, as text files
    in FOLDER/prompts that you can edit. It starts from FOLDER's settings.yaml if there is one (--force overwrites it)
    and keeps the settings of that file and of --set.

    Args:
        directory: Where to write settings.yaml.
        force: Overwrite existing files.
        tune: Tune the prompts to these files, folders, globs or URLs. Repeatable. Needs a model.
        sample: With --tune: chunks to read. [default: 15]
    """
    from conspectus.storage.settings import as_yaml

    target = directory / "settings.yaml"
    if not tune and (chosen != Chosen() or sample):
        raise UsageError("--settings, --set and --sample need --tune; without it, settings.yaml contains the defaults")
    if target.exists() and not force:
        raise UsageError(f"{target} already exists; --force overwrites it")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a folder to write settings.yaml in")
    if not tune:
        directory.mkdir(parents=True, exist_ok=True)
        target.write_text(as_yaml(), "utf-8")
        typer.echo(f"wrote {target}")
        return
    from conspectus.pipelines.tuning.tune import CHUNKS, check_free, check_writable, write_tuning
    from conspectus.pipelines.tuning.tune import tune as tuned

    settings = Chosen(chosen.settings or (target if target.is_file() else None), chosen.overrides).load()
    if not force:
        check_free(directory, settings)
    check_writable(directory, settings)
    with progress(quiet) as report:
        tuning = tuned(tune, settings, sample or CHUNKS, report)
    for path in write_tuning(directory, settings, tuning):
        typer.echo(f"wrote {path}")
    typer.echo(tuning_text(tuning))
