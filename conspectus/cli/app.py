"""The program, the options that several commands share, and their printing and errors."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from conspectus.rows import json_text
from conspectus.storage.errors import NeedsModel, UsageError
from conspectus.storage.text.visible import visible

if TYPE_CHECKING:
    from conspectus.prompts.language_model import LanguageModel
    from conspectus.query.context import Context

DEFAULT_INDEX = ".conspectus/index"
COMPLETION = "_CONSPECTUS_COMPLETE"
"""The environment variable by which a shell requests completions."""


def examples(*lines: str) -> str:
    """Return the examples of a command's help."""
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    name="conspectus",
    help="Build one index over your documents and query it with every Graph RAG method.\n\n"
    "First build an index, then ask it questions. No model, key or server is needed.",
    epilog=examples(
        "conspectus index docs",
        'conspectus ask "Who founded the company?"',
    )
    + "\n\nExit statuses: 0 success, 1 unexpected error, 2 wrong usage, 3 unreadable input, 4 unusable index, "
    "5 published with too many failures, 6 a model is needed, 7 something is not installed, "
    "8 a model's server gave no usable answer, 9 the budget is reached, 11 checks failed, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def query_text(text: str | None, *, schema: bool) -> str:
    """Return a query from the command line, or from standard input if it is "-"; reject it together with --schema."""
    if (text is None) == (not schema):
        raise UsageError("give a query, or --schema")
    return sys.stdin.read() if text == "-" else text or ""


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"conspectus {version('conspectus')}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


def model_of(context: "Context", work: str) -> "LanguageModel":
    """Return the configured model; raise NeedsModel, which names the work, if there is none."""
    if context.model is None:
        raise NeedsModel(f"{work} needs a language model: set llm.model (and llm.base_url, unless it is OpenAI's)")
    return context.model


def check_folder_of(option: str, file: Path | None) -> None:
    """Reject a file in a folder that does not exist before any work is done for it."""
    if file and not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.parent}")


def print_json(value: Any) -> None:  # noqa: ANN401  (any JSON)
    """Print a value as JSON."""
    typer.echo(json_text(value, 2))


def complain(message: str) -> None:
    """Print a complaint on stderr."""
    sys.stderr.write(f"conspectus: {visible(message)}\n")
