"""`conspectus ask`, `retrieve`, `explain`, `methods` and `chat`: questions to an index."""

import io
import json
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from conspectus.cli.app import check_folder_of, complain, print_json
from conspectus.cli.command import SHARED, Chosen, Source, command
from conspectus.operation_table import ASK, OPERATIONS
from conspectus.query.conversation.history import turn_of
from conspectus.query.menu import DEFAULT_METHOD, at_level, find_method
from conspectus.render.answers import (
    answer_json,
    evidence_json,
    evidence_text,
    explanation_json,
    explanation_text,
    methods_text,
    support_text,
)
from conspectus.render.png import BLANK, png_of
from conspectus.render.terminal import one_line, safe_lines
from conspectus.storage.errors import ModelError, UsageError
from conspectus.storage.level_names import Level

if TYPE_CHECKING:
    from conspectus.api import Index
    from conspectus.pipelines.evaluation.suites import SuiteQuestion
    from conspectus.query.conversation.history import Conversation
    from conspectus.query.types import Answer, Step


_AT_ONCE = 64
"""Questions of `retrieve --questions` in one batch; its results are printed before the next batch."""


@command(
    "Answer a question, with citations into the documents.",
    'conspectus ask "Who directed the film of the novel?"',
    'conspectus ask "What are the main themes?" --method global --level c0 --index docs.index',
    'conspectus ask "And who wrote it?" --session talk.jsonl',
    "conspectus ask \"What changed?\" --where 'year >= 2020 and lang = en' --access team-a",
    'conspectus ask "Who directed it?" --method tog2 --topic "Jack Frost" --index films.index',
    'conspectus ask "Who directed it?" --method fasttog --topic "Jack Frost" --show walk.svg',
    'conspectus ask "Who directed Grey Heron?" --endpoint http://localhost:7878/query',
    operation=ASK,
)
def ask(
    given: dict[str, Any],
    source: Source,
    level: Annotated[Level | None, typer.Option("--level", case_sensitive=False)] = None,
    endpoint: str | None = None,
    session: Path | None = None,
    trace: bool = False,
    picture: Annotated[Path | None, typer.Option("--show", dir_okay=False)] = None,
    as_json: bool = False,
) -> None:
    """Answer a question, with numbered citations into the documents.

    With --where and --access, only matching documents are searched or shown to a model.

    With --session the question may be a follow-up ("And who wrote it?"). The question and its answer are appended to
    the file, which is created if it does not exist.

    Methods that walk over the graph start at the entities of --topic, or else at those that the question names. --show
    draws such a walk, and --trace prints it decision by decision.

    With --endpoint, the question goes to the graph behind a SPARQL endpoint (settings: section `endpoint`).

    Args:
        level: Community level for global search, c0 (coarsest) to c3. Implies --method global.
        endpoint: Ask the graph behind this SPARQL endpoint instead of an index.
        picture: Draw the walk or the subgraph into this file: SVG or PNG.
    """
    if level:
        given["method"] = at_level(given["method"], level)
    given["topics"] = given["topics"] or ()
    check_folder_of("--show", picture)
    if picture:
        _picture(picture, BLANK)  # what cannot be drawn is refused before an answer is paid for
    history = _history(session)
    if endpoint is None:
        opened = source.open()
    else:
        from conspectus.endpoint import open_endpoint

        if source.narrowed or session:
            raise UsageError("filters and --session are for an index, not for --endpoint")
        opened = open_endpoint(endpoint, source.load()).about(**given)
    if as_json:
        answer = opened.ask(**given, history=history)
        print_json(answer_json(answer, opened.walk_json(answer) if answer.evidence.walk else None))
    else:
        answer = print_answer(lambda: opened.ask(**given, history=history), trace)
        if trace and answer.evidence.walk:
            typer.echo(f"\n{opened.walk_text(answer)}")
    if session:  # after printing: an answer that was paid for is shown even if the file cannot be written
        from conspectus.query.conversation.session import append_turn

        append_turn(session, turn_of(answer))
    if picture:
        picture.write_bytes(_picture(picture, opened.draw(answer)))


def _history(session: Path | None) -> "Conversation | None":
    if session is None:
        return None
    from conspectus.query.conversation.session import read_session

    return read_session(session)


def _picture(picture: Path, drawn: str) -> bytes:
    """Return a drawing in the form that the name of a file asks for."""
    forms: dict[str, Callable[[str], bytes]] = {".svg": str.encode, ".png": png_of}
    if picture.suffix.lower() not in forms:
        raise UsageError(f"--show {picture}: the file name must end in .svg or .png")
    return forms[picture.suffix.lower()](drawn)


def print_answer(ask: "Callable[[], Answer]", trace: bool) -> "Answer":
    """Print an answer and its sources, and return it. Until it is there, a terminal shows the step that was taken."""
    from conspectus.query.step_listeners import steps_told_to

    def tell(step: "Step") -> None:
        if sys.stderr.isatty():
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{one_line(f'{step.name}: {step.detail}')[:width]}")
            sys.stderr.flush()

    try:
        with steps_told_to(tell):
            answer = ask()
    finally:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")
    typer.echo(f"{safe_lines(answer.text.strip())}\n{support_text(answer, trace)}")
    return answer


@command(
    "Find passages, without answering.",
    'conspectus retrieve "Who directed the film?"',
    'conspectus retrieve "Who directed the film?" --method hybrid --k 3 --json',
    "conspectus retrieve --questions questions.jsonl --json",
    operation=OPERATIONS["retrieve"],
)
def retrieve(
    given: dict[str, Any],
    source: Source,
    question: Annotated[str | None, SHARED["question"]] = None,
    questions: Path | None = None,
    session: Path | None = None,
    as_json: bool = False,
) -> None:
    """Find the best passages for a question, without answering it.

    With --session the question may be a follow-up to the conversation in the file, which is not changed. --questions
    looks up many questions; with --json it prints one line of JSON for each, with its id.

    Args:
        questions: Instead of QUESTION: a file of JSON lines, each with an id and a question.
    """
    if (question is None) == (questions is None):
        raise UsageError("give either a question or --questions FILE")
    if questions:
        from conspectus.pipelines.evaluation.suites import read_questions

        if session:
            raise UsageError("--session is for one question, not for --questions")
        _retrieve_all(read_questions(questions), source.open(), as_json, **given)
        return
    assert question is not None, "checked above"
    evidence = source.open().retrieve(question, **given, history=_history(session))
    print_json(evidence_json(question, given["method"], evidence)) if as_json else typer.echo(evidence_text(evidence))


def _retrieve_all(questions: "Sequence[SuiteQuestion]", opened: "Index", as_json: bool, method: str, k: int) -> None:
    for start in range(0, len(questions), _AT_ONCE):
        batch = questions[start : start + _AT_ONCE]
        texts = [question.question for question in batch]
        for question, found in zip(batch, opened.retrieve_many(texts, method, k), strict=True):
            if as_json:
                typer.echo(json.dumps({"id": question.id, **evidence_json(question.question, method, found)}))
            else:
                typer.echo(f"{safe_lines(question.question)}\n{evidence_text(found)}\n")


@command(
    "Explain why passages were found, path by path.",
    'conspectus explain "Who directed the film shot at Marrow, Vey?"',
    'conspectus explain "Who directed the film shot at Marrow, Vey?" --passage 2 --svg why.svg',
    'conspectus explain "Who directed the film?" --method bm25 --json',
    operation=OPERATIONS["explain"],
)
def explain(
    given: dict[str, Any],
    source: Source,
    svg: Annotated[Path | None, typer.Option("--svg", dir_okay=False)] = None,
    as_json: bool = False,
) -> None:
    """Explain why passages were found: the parts of their scores, and the names over which the walk reached them.

    Each path starts at a seed of the walk (a name in the question, or a passage similar to it) and shows its share of
    the passage's PageRank score. bm25, dense and hybrid are explained by shared words, cosines and ranks.

    Args:
        svg: Draw the paths into this file.
    """
    check_folder_of("--svg", svg)
    found = source.open().explain(**given)
    if svg:
        from conspectus.render.drawings import explanation_svg

        svg.write_text(explanation_svg(found), "utf-8")
    print_json(explanation_json(found)) if as_json else typer.echo(explanation_text(found))


@command(
    "List all methods.",
    "conspectus methods",
)
def methods(
    chosen: Chosen = Chosen(),
    as_json: bool = False,
) -> None:
    """List all methods by the name that --method takes; those that the settings do not let run say what is missing."""
    from conspectus.query import menu

    settings = chosen.load()
    about = {
        name: f"{method.about}; needs {missing}" if (missing := method.missing(settings)) else method.about
        for name, method in menu.methods().items()
    }
    print_json(about) if as_json else typer.echo(methods_text(about))


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
                print_answer(lambda question=line: talk.ask(question), trace)  # type: ignore[misc]
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
