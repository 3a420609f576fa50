"""The command line: `conspectus --help` teaches it.

Results go to stdout; progress, warnings and errors to stderr. With --json stdout is one JSON document.

Exit statuses: 0 success, 1 unexpected error, 2 wrong usage (option, setting, method), 3 unreadable input,
4 unusable index, 5 published but with more failures than build.failure_threshold, 6 a model is needed,
7 something is not installed, 8 a model's server gave no usable answer, 9 the budget is reached, 130 interrupted.
"""

import importlib.metadata
import io
import json
import os
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from conspectus import show
from conspectus.progress import progress
from storage.errors import FAILURES_PAST_THRESHOLD, ConspectusError, NeedsModel, UsageError
from storage.settings import Settings, as_yaml, load_settings, parse_override

if TYPE_CHECKING:
    from prompts.llm import LanguageModel
    from query.context import Context

DEFAULT_INDEX = Path(".conspectus/index")
INTERRUPTED = 130


def _examples(*lines: str) -> str:
    return "\n".join(["\b", "Examples:", *(f"  {line}" for line in lines)])


app = typer.Typer(
    name="conspectus",
    help="One knowledge index over your documents, and every Graph RAG method to ask it.\n\n"
    "First make an index, then ask it. No model, key or server is needed.",
    epilog=_examples(
        "conspectus index docs",
        'conspectus ask "Who founded the company?"',
    )
    + "\n\nExit statuses: 0 success, 1 unexpected error, 2 wrong usage, 3 unreadable input, 4 unusable index, "
    "5 published with too many failures, 6 a model is needed, 7 something is not installed, "
    "8 a model's server gave no usable answer, 9 the budget is reached, 130 interrupted.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

IndexOption = Annotated[Path, typer.Option("--index", help="The index folder.", metavar="FOLDER")]
SettingsOption = Annotated[
    Path | None,
    typer.Option("--settings", help="A settings file. [default: ./settings.yaml where there is one]", metavar="FILE"),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Outweigh one setting; repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
QuietOption = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")]
MethodOption = Annotated[
    str, typer.Option("--method", help="How to find evidence; see: conspectus methods.", metavar="NAME")
]


def _question(text: str) -> str:
    if not text.strip():
        raise typer.BadParameter("the question is empty")
    return text.encode("utf-8", "replace").decode("utf-8")  # bytes that are no UTF-8 arrive as lone surrogates


QuestionArgument = Annotated[
    str, typer.Argument(help="The question, in quotes.", metavar="QUESTION", callback=_question)
]


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"conspectus {importlib.metadata.version('conspectus')}")
        raise typer.Exit


@app.callback()
def _program(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None: ...


@app.command(
    short_help="Write a settings.yaml to change.",
    epilog=_examples("conspectus init", "conspectus init project"),
)
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write settings.yaml.", metavar="FOLDER")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a settings.yaml that is there.")] = False,
) -> None:
    """Write a settings.yaml in which every key stands with its default and its meaning.

    Other commands read the settings.yaml of the folder that they are run in.
    """
    target = directory / "settings.yaml"
    if target.exists() and not force:
        raise UsageError(f"{target} exists already; --force overwrites it")
    if directory.exists() and not directory.is_dir():
        raise UsageError(f"{directory} is a file, not a folder to write settings.yaml in")
    directory.mkdir(parents=True, exist_ok=True)
    target.write_text(as_yaml(), "utf-8")
    typer.echo(f"wrote {target}")


@app.command(
    short_help="Make an index of documents, or bring it up to date.",
    epilog=_examples(
        "conspectus index docs notes/*.md",
        "conspectus index docs --index docs.index --set chunks.chunk_size=300",
    ),
)
def index(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders, globs or URLs.", metavar="INPUT")],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Make the index equal to its input: new documents are added, changed ones redone, missing ones gone.

    Reads .txt .md .html .pdf .docx .pptx .xlsx .epub .csv .tsv .json .jsonl .parquet .eml .mbox .zip .tar .gz,
    on disk or behind a URL (https://..., s3://...). What cannot be read is listed by: conspectus status
    --failures. A killed run goes on where it was; an unchanged input is a no-op. Where PREFECT_API_URL is set, the same
    steps run as a Prefect flow.
    """
    chosen = _settings(settings, overrides)
    if os.environ.get("PREFECT_API_URL"):
        if quiet:
            os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "WARNING")
        from pipelines.tasks import run_flow

        done = run_flow(inputs, index, chosen)
    else:
        from pipelines.index import build_index, summary
        from pipelines.runner import RunHere

        with progress(quiet) as report:
            done = summary(build_index(inputs, index, chosen, RunHere(report), report))
    if as_json:
        _print_json(done)
    else:
        typer.echo(show.build(done))
    threshold = chosen.build.failure_threshold
    if done["failed_share"] > threshold:
        share = f"{done['failed_share']:.1%} of the items failed, more than build.failure_threshold ({threshold:.1%})"
        _complain(f"the index is published, but {share}")
        raise typer.Exit(FAILURES_PAST_THRESHOLD)


@app.command(
    short_help="Answer a question, with citations into the documents.",
    epilog=_examples(
        'conspectus ask "Who directed the film of the novel?"',
        'conspectus ask "What are the main themes?" --method global --level c0 --index docs.index',
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
    trace: Annotated[bool, typer.Option("--trace", help="Print the steps that led to the answer.")] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with numbered citations into the documents."""
    from conspectus.api import open_index

    if level and method not in {"auto", "global"}:
        raise UsageError(f"the method {method!r} has no --level; only global has")
    opened = open_index(index, _settings(settings, overrides))
    name = f"global:{level}" if level else method
    if as_json:
        _print_json(show.answer_json(opened.ask(question, name)))
        return
    said: list[str] = []

    def say(piece: str) -> None:
        said.append(piece)
        typer.echo(show.said(piece), nl=False)

    answer = opened.ask(question, name, say)
    typer.echo()
    if "".join(said).strip() != answer.text:  # a model said what no passage supports
        typer.echo(f"\n{show.said(answer.text)}")
    typer.echo(show.support(answer, trace))


@app.command(
    short_help="Find passages, without answering.",
    epilog=_examples(
        'conspectus retrieve "Who directed the film?"',
        'conspectus retrieve "Who directed the film?" --method hybrid --k 3 --json',
    ),
)
def retrieve(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "ppr",
    k: Annotated[int, typer.Option("--k", min=1, help="How many passages.", metavar="N")] = 5,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that bear on a question, best first, without answering it."""
    from conspectus.api import open_index

    opened = open_index(index, _settings(settings, overrides))
    evidence = opened.retrieve(question, method, k)
    if as_json:
        _print_json(show.evidence_json(question, method, evidence))
    else:
        typer.echo(show.evidence(evidence))


@app.command(short_help="List the ways to ask.", epilog=_examples("conspectus methods"))
def methods(as_json: JsonOption = False) -> None:
    """List the ways to ask, by the name that --method takes."""
    from query.methods import METHODS

    about = {name: each.about for name, each in METHODS.items()}
    if as_json:
        _print_json(about)
    else:
        typer.echo(show.methods(about))


@app.command(
    short_help="Say what an index holds.",
    epilog=_examples("conspectus status", "conspectus status --failures --index docs.index"),
)
def status(
    index: IndexOption = DEFAULT_INDEX,
    failures: Annotated[bool, typer.Option("--failures", help="List what was lost, and why.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what an index holds, and what of the input was lost."""
    from storage.index import Index
    from storage.records import Failure

    opened = Index.open(index)
    lost = opened.rows(Failure)
    if as_json:
        shown = {**asdict(opened.manifest), "index": str(index), "failures": [asdict(each) for each in lost]}
        _print_json(shown)
    else:
        typer.echo(show.status(opened.manifest, lost, failures))


@app.command(
    short_help="Browse the community reports, level by level.",
    epilog=_examples("conspectus reports --level c0", "conspectus reports --community 0123456789abcdef"),
)
def reports(
    index: IndexOption = DEFAULT_INDEX,
    level: Annotated[
        str | None, typer.Option("--level", help="Only one level: c0 (coarsest), c1, ...", metavar="LEVEL")
    ] = None,
    community: Annotated[
        str | None, typer.Option("--community", help="Show the report on one community in full.", metavar="ID")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Browse what the documents are about without a question: the reports level by level, or one with citations."""
    from conspectus import browse
    from conspectus.api import open_index

    if level and community:
        raise UsageError("--level lists reports and --community shows one; give one of them")
    context = open_index(index).context
    if community:
        one = browse.opened(context, community)
        _print_json(browse.full_json(one)) if as_json else typer.echo(browse.full(one))
    else:
        found = browse.entries(context, level)
        _print_json(browse.listed_json(found)) if as_json else typer.echo(browse.listed(found))


@app.command(short_help="Check an index.", epilog=_examples("conspectus verify --index docs.index"))
def verify(index: IndexOption = DEFAULT_INDEX, as_json: JsonOption = False) -> None:
    """Check every checksum, id, span and row count of an index; exit status 4 where something is wrong."""
    from storage.errors import IndexCorrupt
    from storage.index import Index
    from storage.verify import verify as find_problems

    problems = find_problems(Index.open(index))
    if as_json:
        _print_json({"index": str(index), "problems": [asdict(each) for each in problems]})
    elif not problems:
        typer.echo(f"{index}: sound; every file, id and span is what it should be")
    else:
        typer.echo("\n".join(f"{each.where}: {each.what}" for each in problems))
    if problems:
        raise typer.Exit(IndexCorrupt.exit_status)


@app.command(
    short_help="Say what is configured and what of it works.",
    epilog=_examples("conspectus doctor", "conspectus doctor --no-calls --json"),
)
def doctor(
    index: IndexOption = DEFAULT_INDEX,
    calls: Annotated[
        bool, typer.Option("--calls/--no-calls", help="Ask the configured servers: a few calls of a few tokens.")
    ] = True,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say what is configured and what of it works: model, embedding, spaCy pipeline, Prefect, disk, index.

    No secret is printed. The exit status is that of the first check that failed.
    """
    from conspectus.doctor import examine

    checks = []
    for check in examine(_settings(settings, overrides), index, calls=calls):
        checks.append(check)
        if not as_json:
            typer.echo(show.check(check))
    if as_json:
        _print_json([asdict(each) for each in checks])
    failed = [each for each in checks if each.state == "failed"]
    if failed:
        raise typer.Exit(failed[0].exit_status)


@app.command(
    short_help="Measure methods side by side on a question set.",
    epilog=_examples(
        "conspectus evaluate examples/encyclopedia",
        "conspectus evaluate examples/encyclopedia --methods bm25,ppr --k 2,5 --json result.json",
        "conspectus evaluate examples/encyclopedia --methods ppr,global:c0 --answers",
    ),
)
def evaluate(
    suite: Annotated[Path, typer.Argument(help="A folder with corpus.jsonl and questions.jsonl.", metavar="SUITE")],
    methods: Annotated[
        str, typer.Option("--methods", help="Methods to compare, with commas.", metavar="NAME,...")
    ] = "bm25,dense,hybrid,ppr",
    k: Annotated[str, typer.Option("--k", help="Ranks at which recall is taken.", metavar="N,...")] = "2,5",
    answers: Annotated[
        bool, typer.Option("--answers", help="Measure the answers too; always done where a method finds no passages.")
    ] = False,
    index: Annotated[
        Path | None,
        typer.Option(
            "--index", help="Where the suite's index is kept. [default: .conspectus/suites/...]", metavar="FOLDER"
        ),
    ] = None,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Also write the result to a file as JSON.", dir_okay=False, metavar="FILE"),
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    quiet: QuietOption = False,
) -> None:
    """Measure methods side by side on a question set: recall and answers, with bootstrap 95 % intervals, and seconds.

    Answers are compared with the accepted ones: ROUGE-L, coverage (the share of the accepted answer's sentences, and of
    its weighed words, that the answer holds), exact match and token F1. The index is built on first use and kept; SUITE
    is never written to.
    """
    from conspectus.api import open_index
    from pipelines.evaluation.evaluate import as_json, evaluate
    from pipelines.evaluation.suites import read_suite, suite_index
    from pipelines.index import build_index
    from pipelines.runner import RunHere

    chosen = _settings(settings, overrides)
    ranks = _ranks(k)
    names = _methods(methods)
    _check_folder_of("--json", json_file)
    questions = read_suite(suite)
    began = time.perf_counter()
    with progress(quiet) as report:
        target = index or suite_index(questions, chosen)
        build_index([questions.corpus], target, chosen, RunHere(report), report)
        build_seconds = time.perf_counter() - began
        scores = evaluate(questions, open_index(target, chosen).context, names, ranks, report, answers)
    result = as_json(questions, chosen.model_dump(mode="json"), scores, build_seconds)
    if json_file:
        json_file.write_text(_json(result) + "\n", "utf-8")
    typer.echo(show.scores(result))


@app.command(
    short_help="Let a model think up questions about the whole of an index.",
    epilog=_examples(
        "conspectus questions --to questions.jsonl",
        'conspectus questions --about "Minutes of a club" --users 2 --tasks 2 --questions 2 --to questions.jsonl',
    ),
)
def questions(
    to: Annotated[Path, typer.Option("--to", help="Where to write them.", dir_okay=False, metavar="FILE")],
    index: IndexOption = DEFAULT_INDEX,
    users: Annotated[int, typer.Option("--users", min=1, help="Kinds of people.", metavar="N")] = 5,
    tasks: Annotated[int, typer.Option("--tasks", min=1, help="Tasks of each of them.", metavar="N")] = 5,
    questions: Annotated[int, typer.Option("--questions", min=1, help="Questions for each task.", metavar="N")] = 5,
    about: Annotated[
        str | None,
        typer.Option(
            "--about", help="What the documents are. [default: the topics of the coarsest reports]", metavar="TEXT"
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite a file that is there.")] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
) -> None:
    """Let a model think up questions that need the whole of an index: people, their tasks, questions for each task.

    The file can be judged on (conspectus judge), and be the questions.jsonl of a question set. Needs a model.
    """
    import asyncio

    from conspectus.api import open_index
    from pipelines.evaluation.questions import Description, describe_corpus, generate, write_questions

    if to.exists() and not force:
        raise UsageError(f"{to} exists already; --force overwrites it")
    _check_folder_of("--to", to)
    context = open_index(index, _settings(settings, overrides)).context
    model = _model_of(context, "thinking up questions")
    description = Description(about) if about else describe_corpus(context)
    made = asyncio.run(generate(model, description, users, tasks, questions))
    write_questions(to, made.questions)
    for each in made.failures:
        _complain(f"{each.item_id}: {each.reason} ({each.detail})" if each.detail else f"{each.item_id}: {each.reason}")
    typer.echo(f"wrote {len(made.questions)} questions to {to}")


@app.command(
    short_help="Let a model judge methods against each other.",
    epilog=_examples(
        "conspectus judge questions.jsonl --methods global:c0,ppr --index docs.index",
        "conspectus judge examples/encyclopedia --methods global:c0,ppr --repeats 2 --json result.json",
    ),
)
def judge(
    suite: Annotated[Path, typer.Argument(help="A question set, or a file of questions.", metavar="SUITE")],
    methods: Annotated[str, typer.Option("--methods", help="Methods to compare, with commas.", metavar="NAME,...")],
    index: IndexOption = DEFAULT_INDEX,
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="Times that each pair is judged in both orders.", metavar="N")
    ] = 5,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", help="Also write the result to a file as JSON.", dir_okay=False, metavar="FILE"),
    ] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
) -> None:
    """Let a model judge the answers of methods in pairs: comprehensiveness, diversity, empowerment, directness.

    Each pair is judged in both orders, --repeats times: questions x pairs x 4 x 2 x repeats calls. Win rates come with
    bootstrap 95 % intervals over questions, and with how often the judge contradicts itself. Needs a model.
    """
    import asyncio

    from conspectus.api import open_index
    from pipelines.evaluation.judge import answer_all, as_json
    from pipelines.evaluation.judge import judge as judge_all
    from pipelines.evaluation.suites import read_questions

    names = _methods(methods)
    if len(names) < 2:
        raise UsageError("--methods names one method; it takes two to compare")
    _check_folder_of("--json", json_file)
    asked = read_questions(suite)
    context = open_index(index, _settings(settings, overrides)).context
    model = _model_of(context, "judging")
    texts, unanswered = asyncio.run(answer_all(context, names, asked))
    found = asyncio.run(judge_all(model, asked, names, texts, repeats))
    result = as_json(replace(found, failures=(*unanswered, *found.failures)))
    if json_file:
        json_file.write_text(_json(result) + "\n", "utf-8")
    typer.echo(show.judgement(result))


def _model_of(context: "Context", work: str) -> "LanguageModel":
    if context.model is None:
        raise NeedsModel(f"{work} takes a language model: set llm.model (and llm.base_url, unless it is OpenAI's)")
    return context.model


def _ranks(text: str) -> list[int]:
    try:
        ranks = [int(each) for each in text.split(",")]
    except ValueError as error:
        raise UsageError(f"--k takes whole numbers with commas between, not {text!r}") from error
    if min(ranks) < 1:
        raise UsageError("--k takes ranks of 1 and more")
    return ranks


def _methods(text: str) -> list[str]:
    """Return the named methods; a mistake in one shows here, before anything is built."""
    from query.methods import find_method

    names = list(dict.fromkeys(each.strip() for each in text.split(",") if each.strip()))
    if not names:
        raise UsageError("--methods names no method; see: conspectus methods")
    for name in names:
        find_method(name)
    return names


def _check_folder_of(option: str, file: Path | None) -> None:
    """Refuse a file whose folder does not exist before any work is done for it."""
    if file and not file.parent.is_dir():
        raise UsageError(f"{option} {file}: there is no folder {file.parent}")


def _settings(file: Path | None, overrides: list[str] | None) -> Settings:
    if file is None and Path("settings.yaml").is_file():
        file = Path("settings.yaml")
    sections: dict[str, dict[str, object]] = {}
    for text in overrides or ():
        section, key, value = parse_override(text)
        sections.setdefault(section, {})[key] = value
    return load_settings(file, sections)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2)


def _print_json(value: Any) -> None:  # noqa: ANN401  (any JSON)
    typer.echo(_json(value))


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and an exit status, never a traceback."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that cannot show a sign gets its number; in JSON that is the sign again.
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        app()
    except ConspectusError as error:
        _fail(str(error), error.exit_status)
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), ConspectusError.exit_status)
    except SystemExit as ended:
        if ended.code == INTERRUPTED:
            _complain("interrupted; run the same command again to go on")
        raise


def _fail(message: str, exit_status: int) -> None:
    _complain(message)
    sys.exit(exit_status)


def _complain(message: str) -> None:
    sys.stderr.write(f"conspectus: {message}\n")


if __name__ == "__main__":
    main()
