"""Asking an index."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

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
    print_json,
    question_text,
)
from conspectus.render import text as show
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.api import Index
    from conspectus.pipelines.evaluation.suites import Question
    from conspectus.query.types import Answer, Say

_AT_ONCE = 64
"""Questions looked up together: what is found for them is printed before the next are."""

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
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", help="A thing that a walk over the graph begins at; repeatable.", metavar="NAME"),
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    session: SessionOption = None,
    trace: TraceOption = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            "--show",
            help="Draw the walk over the graph, or the subgraph, into this file: SVG or PNG, a subgraph also HTML.",
            metavar="FILE",
            dir_okay=False,
        ),
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with numbered citations into the documents.

    With --where and --access only what the permitted documents support is looked at, and shown to a model.

    With --session the question may be a follow-up ("And who wrote it?"). The question and its answer are added to the
    file, which is made if it is missing.

    With --topic a method that walks over the graph begins at the things of these names; without it, at those that it
    finds in the question. With --show such a walk is drawn; with --trace it is told decision by decision.
    """
    from conspectus.api import open_index
    from conspectus.query.conversation.history import turn_of
    from conspectus.query.conversation.session import append_turn, read_session

    if level and method not in {"auto", "global"}:
        raise UsageError(f"the method {method!r} has no --level; only global has")
    check_folder_of("--show", picture)
    _check_form(picture)
    topics = topic or []
    history = read_session(session) if session else None
    opened = open_index(index, chosen_settings(settings, overrides)).filter(where, access)
    name = f"global:{level}" if level else method
    if as_json:
        answer = opened.ask(question, name, history=history, topics=topics)
    else:
        answer = told(lambda say: opened.ask(question, name, say, history, topics), trace)
    if as_json:
        walk = {"walk": opened.walk_json(answer)} if answer.evidence.walk else {}
        print_json(show.answer_json(answer) | walk)
    elif trace and answer.evidence.walk:
        typer.echo(f"\n{opened.walk_text(answer)}")
    if session:  # an answer may be paid for: it is shown even where it cannot be written down
        append_turn(session, turn_of(answer))
    if picture:
        _draw(opened, answer, picture)


def _check_form(picture: Path | None) -> None:
    """Refuse a drawing that cannot be made before an answer is paid for."""
    if picture is None:
        return
    form = picture.suffix.lower()
    if form not in {".svg", ".html", ".png"}:
        raise UsageError(f"--show {picture}: name a file that ends in .svg, .html or .png")
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


def told(ask: "Callable[[Say], Answer]", trace: bool) -> "Answer":
    """Print an answer as it is made, then what supports it, and return it."""
    from conspectus.query.citations.marks import single_marks, without_verdicts

    said: list[str] = []

    def say(piece: str) -> None:
        said.append(piece)
        typer.echo(show.said(piece), nl=False)

    answer = ask(say)
    typer.echo()
    if single_marks("".join(said).strip()) != single_marks(
        without_verdicts(answer.text).strip()
    ):  # what was streamed is not what the answer says; [1, 2] for [1][2] is no difference
        typer.echo(f"\n{show.said(answer.text)}")
    typer.echo(show.support(answer, trace))
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
    method: MethodOption = "ppr",
    k: Annotated[int, typer.Option("--k", min=1, help="How many passages.", metavar="N")] = 5,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            help="In place of QUESTION: a file of JSON lines, each with an id and a question.",
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
    """Find the passages that bear on a question, best first, without answering it.

    With --session the question may be a follow-up to what stands in the file, which is not changed. With --questions
    many are looked up, and with --json one line of JSON is printed for each, with its id.
    """
    from conspectus.api import open_index
    from conspectus.pipelines.evaluation.suites import read_questions
    from conspectus.query.conversation.session import read_session

    if (question is None) == (questions is None):
        raise UsageError("give a question, or a file of them with --questions")
    if questions and session:
        raise UsageError("--session goes with one question; --questions has many")
    if questions:
        asked = read_questions(questions)
        opened = open_index(index, chosen_settings(settings, overrides)).filter(where, access)
        _retrieve_all(asked, opened, method, k, as_json)
        return
    assert question is not None, "one of the two was given"
    history = read_session(session) if session else None
    opened = open_index(index, chosen_settings(settings, overrides)).filter(where, access)
    evidence = opened.retrieve(question, method, k, history)
    if as_json:
        print_json(show.evidence_json(question, method, evidence))
    else:
        typer.echo(show.evidence(evidence))


def _retrieve_all(asked: "Sequence[Question]", opened: "Index", method: str, k: int, as_json: bool) -> None:
    for start in range(0, len(asked), _AT_ONCE):
        some = asked[start : start + _AT_ONCE]
        for each, found in zip(some, opened.retrieve_many([one.question for one in some], method, k), strict=True):
            if as_json:
                typer.echo(json.dumps({"id": each.id, **show.evidence_json(each.question, method, found)}))
            else:
                typer.echo(f"{show.said(each.question)}\n{show.evidence(found)}\n")


@app.command(short_help="List the ways to ask.", epilog=examples("conspectus methods"))
def methods(as_json: JsonOption = False) -> None:
    """List the ways to ask, by the name that --method takes."""
    from conspectus.query.menu import METHODS

    about = {name: f"{each.about}; needs a model" if each.needs_model else each.about for name, each in METHODS.items()}
    if as_json:
        print_json(about)
    else:
        typer.echo(show.methods(about))
