"""`conspectus completion`: a shell script to complete commands, options and methods."""

from enum import StrEnum

import typer
from conspectus.cli.app import COMPLETION
from conspectus.cli.command import command


class Shell(StrEnum):
    """A shell that supports completion."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"


@command(
    "Print a script for the shell's completion.",
    "conspectus completion bash >> ~/.bashrc",
    "conspectus completion zsh > ~/.zfunc/_conspectus",
    "conspectus completion fish > ~/.config/fish/completions/conspectus.fish",
)
def completion(
    shell: Shell,
) -> None:
    """Print a script that lets a shell complete commands, options and the names of methods.

    Args:
        shell: The shell.
    """
    from typer._completion_shared import get_completion_script

    typer.echo(get_completion_script(prog_name="conspectus", complete_var=COMPLETION, shell=shell.value))


def prepare() -> None:
    """Let the program answer completion requests of the shell."""
    from typer._completion_classes import completion_init

    completion_init()
