"""Asking an index."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from conspectus import show
from conspectus.cli.app import (
    DEFAULT_INDEX,
    IndexOption,
    JsonOption,
    MethodOption,
    QuestionArgument,
    SessionOption,
    SetOption,
    SettingsOption,
    TraceOption,
    app,
    chosen_settings,
    examples,
    print_json,
)
from storage.errors import UsageError

if TYPE_CHECKING:
    from query.types import Answer, Say


@app.command(
    short_help="Answer a question, with citations into the documents.",
    epilog=examples(
        'conspectus ask "Who directed the film of the novel?"',
        'conspectus ask "What are the main themes?" --method global --level c0 --index docs.index',
        'conspectus ask "And who wrote it?" --session talk.jsonl',
    ),
)
def ask(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "auto",
    level: Annotated[
        Literal["c0", "c1", "c2", "c3"] | None,
        typer.Option(
            "--level",
            help="For global search (which --method auto then is): c0 (coarsest) to c3.",
            metavar="C0..C3",
            case_sensitive=False,
        ),
    ] = None,
    session: SessionOption = None,
    trace: TraceOption = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with numbered citations into the documents.

    With --session the question may be a follow-up ("And who wrote it?"). The question and its answer are added to the
    file, which is made if it is missing.
    """
    from conspectus.api import open_index
    from query.conversation import turn_of
    from query.session import append_turn, read_session

    if level and method not in {"auto", "global"}:
        raise UsageError(f"the method {method!r} has no --level; only global has")
    history = read_session(session) if session else None
    opened = open_index(index, chosen_settings(settings, overrides))
    name = f"global:{level}" if level else method
    if as_json:
        answer = opened.ask(question, name, history=history)
    else:
        answer = told(lambda say: opened.ask(question, name, say, history), trace)
    if as_json:
        print_json(show.answer_json(answer))
    if session:  # an answer may be paid for: it is shown even where it cannot be written down
        append_turn(session, turn_of(answer))


def told(ask: "Callable[[Say], Answer]", trace: bool) -> "Answer":
    """Print an answer as it is made, then what supports it, and return it."""
    said: list[str] = []

    def say(piece: str) -> None:
        said.append(piece)
        typer.echo(show.said(piece), nl=False)

    answer = ask(say)
    typer.echo()
    if _in_single_marks("".join(said)) != _in_single_marks(answer.text):  # a model said what no passage supports
        typer.echo(f"\n{show.said(answer.text)}")
    typer.echo(show.support(answer, trace))
    return answer


def _in_single_marks(text: str) -> str:
    """Return a text with [1][2] for [1, 2]: an answer that differs in nothing else is not printed twice."""
    from query.grounding import keeping

    return keeping(text.strip(), range(1_000))


@app.command(
    short_help="Find passages, without answering.",
    epilog=examples(
        'conspectus retrieve "Who directed the film?"',
        'conspectus retrieve "Who directed the film?" --method hybrid --k 3 --json',
    ),
)
def retrieve(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "ppr",
    k: Annotated[int, typer.Option("--k", min=1, help="How many passages.", metavar="N")] = 5,
    session: SessionOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that bear on a question, best first, without answering it.

    With --session the question may be a follow-up to what stands in the file, which is not changed.
    """
    from conspectus.api import open_index
    from query.session import read_session

    history = read_session(session) if session else None
    opened = open_index(index, chosen_settings(settings, overrides))
    evidence = opened.retrieve(question, method, k, history)
    if as_json:
        print_json(show.evidence_json(question, method, evidence))
    else:
        typer.echo(show.evidence(evidence))


@app.command(short_help="List the ways to ask.", epilog=examples("conspectus methods"))
def methods(as_json: JsonOption = False) -> None:
    """List the ways to ask, by the name that --method takes."""
    from query.methods import METHODS

    about = {name: f"{each.about}; needs a model" if each.needs_model else each.about for name, each in METHODS.items()}
    if as_json:
        print_json(about)
    else:
        typer.echo(show.methods(about))
