"""`conspectus evaluate`, `questions` and `judge`: measuring methods."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import DEFAULT_INDEX, check_folder_of, complain, model_of
from conspectus.cli.command import Chosen, command
from conspectus.progress import progress
from conspectus.query.menu import find_method
from conspectus.render.scores import judgement_text, scores_text, sweep_text
from conspectus.rows import json_text
from conspectus.storage.errors import UsageError

if TYPE_CHECKING:
    from conspectus.pipelines.evaluation.suites import Topic


@command(
    "Measure methods side by side on a question set.",
    "conspectus evaluate examples/world",
    "conspectus evaluate examples/world --methods bm25,ppr --k 2,5 --json result.json",
    "conspectus evaluate examples/world --methods ppr,global:c0 --answers",
    "conspectus evaluate films --methods tog2,fasttog --topic given,linked --questions 200",
    "conspectus evaluate films --methods fasttog --sweep max_community_size=1,2,4,8",
)
def evaluate(
    suite: Path,
    methods: str = "bm25,dense,hybrid,ppr",
    k: str = "2,5",
    answers: bool = False,
    index: Path | None = None,
    json_file: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
    chosen: Chosen = Chosen(),
    openie: Path | None = None,
    topic: str = "given",
    some: Annotated[int | None, typer.Option("--questions", min=1)] = None,
    questions_from: Path | None = None,
    sweep: str | None = None,
    quiet: bool = False,
) -> None:
    """Measure methods side by side on a question set: recall and answers, with bootstrap 95 % intervals, and seconds.

    Answers are compared with the accepted ones by ROUGE-L, coverage (the share of the accepted answer's sentences, and
    of its weighted words, that the answer contains), exact match and token F1. The index of the suite is built on first
    use and kept; --openie makes a separate one. Nothing is written to SUITE.

    A suite with kg.tsv is about a graph. For it, Hits@1 (the first entity of the answer is right), exact match and F1
    compare sets of entities; claims are scored by accuracy; depth and calls describe the walks. The questions may be in
    questions.jsonl or in a published file of MetaQA, WebQSP, CWQ, RoG, QALD, KILT (Zero-Shot RE, T-REx), Creak or
    FEVER.

    Args:
        suite: A folder with corpus.jsonl or kg.tsv, and questions; or its questions.
        methods: Methods, separated by commas.
        k: Ranks at which recall is measured.
        answers: Also measure the answers. Always done for methods that find no passages.
        index: Where to keep the index of the suite. [default: .conspectus/suites/...]
        json_file: Also write the result to a file as JSON.
        topic: Where walks start: at the topics that the suite gives, at entities linked from the question, or both in
            turn.
        some: Evaluate a random sample of N questions (fixed seed).
        questions_from: Ask the questions of this file, of a parallel set in another language, over the documents of
            SUITE.
        sweep: Measure with each value of a setting.
    """
    from conspectus.building import evaluate as evaluate_suite

    check_folder_of("--json", json_file)
    with progress(quiet) as report:
        result = evaluate_suite(
            suite,
            _method_names(methods),
            k=_ranks(k),
            answers=answers,
            topics=_topics(topic),
            questions=some,
            questions_from=questions_from,
            sweep=sweep,
            index=index,
            settings=chosen.load(openie=openie),
            progress=report,
        )
    for note in result["notes"]:
        complain(note)
    if json_file:
        json_file.write_text(json_text(result) + "\n", "utf-8")
    typer.echo(sweep_text(result) if sweep else scores_text(result))


@command(
    "Let a model write questions about a whole corpus.",
    "conspectus questions --to questions.jsonl",
    'conspectus questions --about "Minutes of a club" --users 2 --tasks 2 --questions 2 --to questions.jsonl',
)
def questions(
    to: Annotated[Path, typer.Option("--to", dir_okay=False)],
    index: str = DEFAULT_INDEX,
    users: Annotated[int, Ge(1)] = 5,
    tasks: Annotated[int, Ge(1)] = 5,
    questions: Annotated[int, Ge(1)] = 5,
    about: str | None = None,
    force: bool = False,
    chosen: Chosen = Chosen(),
) -> None:
    """Let a model write questions that need the whole corpus: users, their tasks, and questions for each task.

    The file is input for `conspectus judge`, or the questions.jsonl of a question set. Needs a model.

    Args:
        to: The file to write.
        users: Number of kinds of users.
        tasks: Tasks for each kind of user.
        questions: Questions for each task.
        about: What the documents are. [default: the topics of the coarsest reports]
        force: Overwrite an existing file.
    """
    import asyncio

    from conspectus.api import open_index
    from conspectus.pipelines.evaluation.questions import Description, describe_corpus, generate, write_questions

    if to.exists() and not force:
        raise UsageError(f"{to} already exists; --force overwrites it")
    check_folder_of("--to", to)
    context = open_index(index, chosen.load()).context
    model = model_of(context, "writing questions")
    description = Description(about) if about else describe_corpus(context)
    made = asyncio.run(generate(model, description, users, tasks, questions))
    write_questions(to, made.questions)
    for failure in made.failures:
        detail = f" ({failure.detail})" if failure.detail else ""
        complain(f"{failure.item_id}: {failure.reason}{detail}")
    typer.echo(f"wrote {len(made.questions)} questions to {to}")


@command(
    "Let a model compare the answers of methods in pairs.",
    "conspectus judge questions.jsonl --methods global:c0,ppr --index docs.index",
    "conspectus judge examples/world --methods global:c0,ppr --repeats 2 --json result.json",
)
def judge(
    suite: Path,
    methods: Annotated[str, typer.Option("--methods")],
    index: str = DEFAULT_INDEX,
    repeats: Annotated[int, Ge(1)] = 5,
    json_file: Annotated[Path | None, typer.Option("--json", dir_okay=False)] = None,
    chosen: Chosen = Chosen(),
) -> None:
    """Let a model compare the answers of methods in pairs: comprehensiveness, diversity, empowerment, directness.

    Each pair is judged in both orders, --repeats times: questions x pairs x 4 x 2 x repeats calls. Win rates have 95 %
    bootstrap intervals over questions; the table also shows how often the judge contradicts itself. Needs a model.

    Args:
        suite: A question set, or a file of questions.
        methods: Methods, separated by commas.
        repeats: How often each pair is judged in both orders.
        json_file: Also write the result to a file as JSON.
    """
    import asyncio

    from conspectus.api import open_index
    from conspectus.pipelines.evaluation.judge import answer_all, as_json
    from conspectus.pipelines.evaluation.judge import judge as judge_all
    from conspectus.pipelines.evaluation.suites import read_questions

    names = _method_names(methods)
    if len(names) < 2:
        raise UsageError("--methods names only one method; a comparison needs two")
    check_folder_of("--json", json_file)
    asked = read_questions(suite)
    context = open_index(index, chosen.load()).context
    model = model_of(context, "judging")
    texts, unanswered = asyncio.run(answer_all(context, names, asked))
    found = asyncio.run(judge_all(model, asked, names, texts, repeats))
    result = as_json(replace(found, failures=(*unanswered, *found.failures)))
    if json_file:
        json_file.write_text(json_text(result) + "\n", "utf-8")
    typer.echo(judgement_text(result))


def _ranks(text: str) -> list[int]:
    try:
        ranks = [int(rank) for rank in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--k takes whole numbers separated by commas, not {text!r}") from error
    if min(ranks) < 1:
        raise UsageError("--k takes ranks of 1 or more")
    return ranks


def _topics(text: str) -> "list[Topic]":
    """Return the starts of walks."""
    known: dict[str, Topic] = {"given": "given", "linked": "linked"}
    names = [name.strip() for name in text.split(",")]
    if not known.keys() >= set(names):
        raise UsageError(f"--topic takes `given`, `linked` or both separated by a comma, not {text!r}")
    return [known[name] for name in names]


def _method_names(text: str) -> list[str]:
    """Return the method names; raise UnknownMethod before anything is built."""
    names = list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    if not names:
        raise UsageError("--methods names no method; see: conspectus methods")
    for name in names:
        find_method(name)
    return names
