"""A conversation on a terminal, or through a pipe."""

import io
import sys
from collections.abc import Iterator

import typer

from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    MethodOption,
    SetOption,
    SettingsOption,
    TraceOption,
    WhereOption,
    app,
    chosen_settings,
    complain,
    examples,
)
from conspectus.cli.ask import told
from conspectus.storage.errors import ModelError

_QUIT, _NEW = "/quit", "/new"


@app.command(
    short_help="Ask one question after the other, each building on those before.",
    epilog=examples(
        "conspectus chat",
        "conspectus chat --method ppr --index docs.index",
    ),
)
def chat(
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "auto",
    where: WhereOption = None,
    access: AccessOption = None,
    trace: TraceOption = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
) -> None:
    """Read questions from stdin, a line each, and answer them with citations; each may build on those before it.

    /new begins a new conversation, /quit or the end of the input ends. A question that a model's server gives no
    answer to is told on stderr and forgotten; the exit status is then 8 in the end.
    """
    from conspectus.api import open_index
    from conspectus.query.menu import find_method

    find_method(method)
    talk = open_index(index, chosen_settings(settings, overrides)).filter(where, access).chat(method)
    failed: ModelError | None = None
    for line in _lines():
        if line == _QUIT:
            break
        if line == _NEW:
            talk.new()
        elif line.startswith("/"):
            complain(f"{line.split()[0]} is no command; there are {_NEW} and {_QUIT}")
        else:
            try:
                told(lambda say, question=line: talk.ask(question, say=say), trace)  # type: ignore[misc]
            except ModelError as error:
                failed = error
                complain(str(error))
            else:
                typer.echo()
    if failed:
        raise typer.Exit(failed.exit_status)


def _lines() -> Iterator[str]:
    """Yield the lines of stdin that are not blank, without the space around them; a terminal is prompted for each."""
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")
    prompted = sys.stdin.isatty()
    while True:
        if prompted:
            sys.stderr.write("> ")
            sys.stderr.flush()
        line = sys.stdin.readline()
        if not line:
            break
        if line.strip():
            yield line.strip()
    if prompted:
        sys.stderr.write("\n")
