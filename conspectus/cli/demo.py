"""`conspectus demo` and `completion`: a first look, and a script for the shell."""

from enum import StrEnum
from pathlib import Path

import conspectus
import typer
from conspectus.cli.app import COMPLETION
from conspectus.cli.ask import ask
from conspectus.cli.command import Build, Source, command
from conspectus.cli.index import index as make_index
from conspectus.query.menu import DEFAULT_METHOD
from conspectus.storage.errors import InputError
from typer._completion_classes import completion_init
from typer._completion_shared import get_completion_script

FOLDER = Path(".conspectus/demo")
QUESTIONS = (
    ("Global: a question about the whole", "What are the main themes of The House of Weights?", "global"),
    ("Multi-hop: no single passage holds the answer", "Who directed the film shot at Marrow, Vey in 1962?", ""),
    ("Single fact", "What is painted in the hall of the House of Weights?", ""),
    (
        "Unknown: nothing in the documents supports an answer",
        "Which moons of Jupiter did Galileo discover?",
        "",
    ),
)


@command(
    "Index example texts and ask them four questions.",
    "conspectus demo",
)
def demo(
    index: Path = FOLDER,
) -> None:
    """Index example texts and ask them four questions: pages and a novel of an invented world. No model is needed.

    Args:
        index: Where the index is made.
    """
    texts = example_texts()
    inputs = [str(texts / "world" / "pages"), str(texts / "novel" / "the-house-of-weights.md")]
    typer.echo(f"$ conspectus index {' '.join(inputs)} --index {index}")
    make_index(Build(index=str(index)), inputs)
    for what, question, method in QUESTIONS:
        named = f" --method {method}" if method else ""
        typer.echo(f'\n{what}\n$ conspectus ask "{question}"{named} --index {index}')
        ask({"question": question, "method": method or DEFAULT_METHOD, "topics": ()}, Source(index=str(index)))


def example_texts() -> Path:
    """Return the folder of the example texts: in an installed package, or next to it in a checkout."""
    home = Path(conspectus.__file__).parent
    for folder in (home / "examples", home.parent / "examples"):
        if (folder / "world" / "pages").is_dir():
            return folder
    raise InputError("the example texts are not installed")


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
    typer.echo(get_completion_script(prog_name="conspectus", complete_var=COMPLETION, shell=shell.value))


def prepare() -> None:
    """Let the program answer completion requests of the shell."""
    completion_init()
