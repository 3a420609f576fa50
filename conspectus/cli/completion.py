"""`conspectus completion`: a shell script to complete commands, options and methods."""

from enum import StrEnum
from typing import Annotated

import typer
from conspectus.cli.app import COMPLETION, app, examples


class Shell(StrEnum):
    """A shell that supports completion."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@app.command(
    short_help="Print a script for the shell's completion.",
    epilog=examples(
        "conspectus completion bash >> ~/.bashrc",
        "conspectus completion zsh > ~/.zfunc/_conspectus",
        "conspectus completion fish > ~/.config/fish/completions/conspectus.fish",
    ),
)
def completion(shell: Annotated[Shell, typer.Argument(help="The shell.")]) -> None:
    """Print a script that lets a shell complete commands, options and the names of methods."""
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="conspectus", complete_var=COMPLETION, shell=shell.value))


def prepare() -> None:
    """Let the program answer completion requests of the shell."""
    from typer._completion_classes import completion_init

    completion_init()
