"""Asking an index."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    JsonOption,
    MethodOption,
    QuestionArgument,
    SessionOption,
    SetOption,
    SettingsOption,
    TraceOption,
    WhereOption,
    app,
    check_folder_of,
    chosen_settings,
    examples,
    open_filtered,
    print_json,
    question_text,
)
from conspectus.query.menu import DEFAULT_METHOD, DEFAULT_RETRIEVER, at_level
from conspectus.render.answers import answer_json, evidence_json, evidence_text, methods_text, support_text
from conspectus.render.terminal import safe_lines
from conspectus.storage.errors import UsageError
from conspectus.storage.level_names import Level

if TYPE_CHECKING:
    from conspectus.api import Index
    from conspectus.pipelines.evaluation.suites import SuiteQuestion
    from conspectus.query.conversation.history import Conversation
    from conspectus.query.types import Answer, Say

_AT_ONCE = 64
"""Questions of `retrieve --questions` in one batch; its results are printed before the next batch."""

OptionalQuestion = Annotated[
    str | None, typer.Argument(help="The question, in quotes.", metavar="QUESTION", callback=question_text)
]


@app.command(
    short_help="Answer a question, with citations into the documents.",
    epilog=examples(
        'conspectus ask "Who directed the film of the novel?"',
        'conspectus ask "What are the main themes?" --method global --level c0 --index docs.index',
        'conspectus ask "And who wrote it?" --session talk.jsonl',
        "conspectus ask \"What changed?\" --where 'year >= 2020 and lang = en' --access team-a",
        'conspectus ask "Who directed it?" --method tog2 --topic "Jack Frost" --index films.index',
        'conspectus ask "Who directed it?" --method fasttog --topic "Jack Frost" --show walk.svg',
        'conspectus ask "Who directed Grey Heron?" --endpoint http://localhost:7878/query',
    ),
)
def ask(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = DEFAULT_METHOD,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            help="Community level for global search, c0 (coarsest) to c3. Implies --method global.",
            metavar="C0..C3",
            case_sensitive=False,
        ),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="An entity at which a walk over the graph starts. Repeatable.", metavar="NAME"),
    ] = None,
    endpoint: Annotated[
        str | None,
        typer.Option(
            "--endpoint", help="Ask the graph behind this SPARQL endpoint instead of an index.", metavar="URL"
        ),
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    session: SessionOption = None,
    trace: TraceOption = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--show",
            help="Draw the walk or the subgraph into this file: SVG or PNG, a subgraph also as HTML.",
            metavar="FILE",
            dir_okay=False,
        ),
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with numbered citations into the documents.

    With --where and --access, only matching documents are searched or shown to a model.

    With --session the question may be a follow-up ("And who wrote it?"). The question and its answer are appended to
    the file, which is created if it does not exist.

    Methods that walk over the graph start at the entities of --topic, or else at those that the question names. --show
    draws such a walk, and --trace prints it decision by decision.

    With --endpoint, the question goes to the graph behind a SPARQL endpoint. Section `endpoint` of the
    settings controls how names are found there and how much is read.
    """
    name = at_level(method, level) if level else method
    check_folder_of("--show", picture)
    _check_form(picture)
    topics = topic or []
    history = _history(session)
    if endpoint is None:
        opened = open_filtered(index, settings, overrides, where, access)
    else:
        from conspectus.endpoint import open_endpoint

        if where or access or session:
            raise UsageError("--where, --access and --session are for an index, not for --endpoint")
        opened = open_endpoint(endpoint, chosen_settings(settings, overrides)).about(question, name, topics)
    if as_json:
        answer = opened.ask(question, name, history=history, topics=topics)
    else:
        answer = print_answer(lambda say: opened.ask(question, name, say, history, topics), trace)
    if as_json:
        walk = {"walk": opened.walk_json(answer)} if answer.evidence.walk else {}
        print_json(answer_json(answer) | walk)
    elif trace and answer.evidence.walk:
        typer.echo(f"\n{opened.walk_text(answer)}")
    if session:  # after printing: an answer that was paid for is shown even if the file cannot be written
        from conspectus.query.conversation.history import turn_of
        from conspectus.query.conversation.session import append_turn

        append_turn(session, turn_of(answer))
    if picture:
        _draw(opened, answer, picture)


def _history(session: Path | None) -> "Conversation | None":
    if session is None:
        return None
    from conspectus.query.conversation.session import read_session

    return read_session(session)


def _check_form(picture: Path | None) -> None:
    """Reject a drawing that cannot be made before an answer is paid for."""
    if picture is None:
        return
    form = picture.suffix.lower()
    if form not in {".svg", ".html", ".png"}:
        raise UsageError(f"--show {picture}: the file name must end in .svg, .html or .png")
    if form == ".png":
        from conspectus.render.png import BLANK, png_of

        png_of(BLANK)


def _draw(opened: "Index", answer: "Answer", picture: Path) -> None:
    form = picture.suffix.lower()
    drawn = opened.draw(answer, "html" if form == ".html" else "svg")
    if form == ".png":
        from conspectus.render.png import png_of

        picture.write_bytes(png_of(drawn))
    else:
        picture.write_text(drawn, "utf-8")


def print_answer(ask: "Callable[[Say], Answer]", trace: bool) -> "Answer":
    """Print an answer while it is written, then its sources, and return it."""
    from conspectus.query.citations.marks import single_marks, without_verdicts

    streamed: list[str] = []

    def say(piece: str) -> None:
        streamed.append(piece)
        typer.echo(safe_lines(piece), nl=False)

    answer = ask(say)
    typer.echo()
    if single_marks("".join(streamed).strip()) != single_marks(
        without_verdicts(answer.text).strip()
    ):  # the streamed text differs from the answer; [1, 2] for [1][2] is no difference
        typer.echo(f"\n{safe_lines(answer.text)}")
    typer.echo(support_text(answer, trace))
    return answer


@app.command(
    short_help="Find passages, without answering.",
    epilog=examples(
        'conspectus retrieve "Who directed the film?"',
        'conspectus retrieve "Who directed the film?" --method hybrid --k 3 --json',
        "conspectus retrieve --questions questions.jsonl --json",
    ),
)
def retrieve(
    question: OptionalQuestion = None,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = DEFAULT_RETRIEVER,
    k: Annotated[int, typer.Option("--k", min=1, help="Number of passages.", metavar="N")] = 5,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="Instead of QUESTION: a file of JSON lines, each with an id and a question.",
            metavar="FILE",
        ),
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    session: SessionOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the best passages for a question, without answering it.

    With --session the question may be a follow-up to the conversation in the file, which is not changed. --questions
    looks up many questions; with --json it prints one line of JSON for each, with its id.
    """
    if (question is None) == (questions is None):
        raise UsageError("give either a question or --questions FILE")
    if questions and session:
        raise UsageError("--session is for one question, not for --questions")
    if questions:
        from conspectus.pipelines.evaluation.suites import read_questions

        asked = read_questions(questions)
        opened = open_filtered(index, settings, overrides, where, access)
        _retrieve_all(asked, opened, method, k, as_json)
        return
    assert question is not None, "checked above"
    history = _history(session)
    opened = open_filtered(index, settings, overrides, where, access)
    evidence = opened.retrieve(question, method, k, history)
    if as_json:
        print_json(evidence_json(question, method, evidence))
    else:
        typer.echo(evidence_text(evidence))


def _retrieve_all(questions: "Sequence[SuiteQuestion]", opened: "Index", method: str, k: int, as_json: bool) -> None:
    for start in range(0, len(questions), _AT_ONCE):
        batch = questions[start : start + _AT_ONCE]
        texts = [question.question for question in batch]
        for question, found in zip(batch, opened.retrieve_many(texts, method, k), strict=True):
            if as_json:
                typer.echo(json.dumps({"id": question.id, **evidence_json(question.question, method, found)}))
            else:
                typer.echo(f"{safe_lines(question.question)}\n{evidence_text(found)}\n")


@app.command(short_help="List all methods.", epilog=examples("conspectus methods"))
def methods(settings: SettingsOption = None, overrides: SetOption = None, as_json: JsonOption = False) -> None:
    """List all methods by the name that --method takes; those that the settings do not let run say what is missing."""
    from conspectus.query import menu

    chosen = chosen_settings(settings, overrides)
    about = {
        name: f"{method.about}; needs {missing}" if (missing := method.missing(chosen)) else method.about
        for name, method in menu.methods().items()
    }
    if as_json:
        print_json(about)
    else:
        typer.echo(methods_text(about))
