"""`conspectus chat`: a conversation on a terminal or through a pipe."""

import io
import sys
from collections.abc import Iterator

import typer
from conspectus.cli.app import (
    complain,
)
from conspectus.cli.ask import print_answer
from conspectus.cli.command import Source, command
from conspectus.query.menu import DEFAULT_METHOD
from conspectus.storage.errors import ModelError

_QUIT, _NEW, _HELP = "/quit", "/new", "/help"
_COMMANDS = f"""Ask a question, one per line. It may refer to earlier ones: "And who wrote it?"
{_NEW}   start a new conversation; the next question stands alone
{_HELP}  show this
{_QUIT}  end the conversation (or press Ctrl-D)"""


@command(
    "Hold a conversation with an index.",
    "conspectus chat",
    "conspectus chat --method ppr --index docs.index",
)
def chat(source: Source, method: str = DEFAULT_METHOD, trace: bool = False) -> None:
    """Read questions from stdin, one per line, and answer them with citations. Each may refer to earlier ones.

    /new starts a new conversation, /help lists the commands, /quit or the end of the input exits. Thanks and greetings
    are not treated as questions. If the model's server fails on a question, the error is printed on stderr, the
    question is skipped, and the final exit status is 8.
    """
    from conspectus.query.conversation.anaphora import is_courtesy
    from conspectus.query.menu import find_method

    find_method(method)
    talk = source.open().chat(method)
    failed: ModelError | None = None
    for line in _lines():
        if line == _QUIT:
            break
        if line == _NEW:
            talk.new()
        elif line == _HELP:
            typer.echo(_COMMANDS)
        elif line.startswith("/"):
            complain(f"{line.split()[0]} is not a command; the commands are {_NEW}, {_HELP} and {_QUIT}")
        elif is_courtesy(line):
            complain(f"nothing is asked; ask a question, or see {_HELP}")
        else:
            try:
                print_answer(lambda say, question=line: talk.ask(question, say=say), trace)  # type: ignore[misc]
            except ModelError as error:
                failed = error
                complain(str(error))
            else:
                typer.echo()
    if failed:
        raise typer.Exit(failed.exit_status)


def _lines() -> Iterator[str]:
    """Yield the non-blank lines of stdin, stripped; show a prompt on a terminal."""
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
