"""The command line: `conspectus --help` teaches it.

Exit statuses: 0 success, 1 unexpected error, 2 wrong usage (option, setting, method), 3 unreadable input,
4 unusable index, 5 published but with more failures than build.failure_threshold, 6 a model is needed,
7 something is not installed, 130 interrupted.
"""

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from conspectus import show
from conspectus.progress import progress
from storage.errors import FAILURES_PAST_THRESHOLD, ConspectusError, InputError
from storage.settings import Settings, as_yaml, load_settings, parse_override

app = typer.Typer(
    name="conspectus",
    help="One knowledge index over your documents, and every Graph RAG method to ask it.\n\n"
    "Start: conspectus index FOLDER, then conspectus ask 'QUESTION'. No model, key or server is needed.",
    epilog="Exit statuses: 0 success, 1 unexpected error, 2 wrong usage, 3 unreadable input, 4 unusable index, "
    "5 published with too many failures, 6 a model is needed, 7 something is not installed.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

DEFAULT_INDEX = Path(".conspectus/index")

IndexOption = Annotated[Path, typer.Option("--index", help="The index folder.")]
SettingsOption = Annotated[
    Path | None,
    typer.Option("--settings", help="A settings file. [default: ./settings.yaml where there is one]"),
]
SetOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Outweigh one setting; repeatable."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
MethodOption = Annotated[str, typer.Option("--method", help="How to find evidence; see: conspectus methods.")]
QuestionArgument = Annotated[str, typer.Argument(help="The question, in quotes.", metavar="QUESTION")]


@app.command()
def init(
    directory: Annotated[Path, typer.Argument(help="Where to write settings.yaml.")] = Path(),
    force: Annotated[bool, typer.Option("--force", help="Overwrite a settings.yaml that is there.")] = False,
) -> None:
    """Write a settings.yaml in which every key stands with its default and its meaning."""
    target = directory / "settings.yaml"
    if target.exists() and not force:
        raise InputError(f"{target} exists already; --force overwrites it")
    directory.mkdir(parents=True, exist_ok=True)
    target.write_text(as_yaml(), "utf-8")
    typer.echo(f"wrote {target}")


@app.command()
def index(
    inputs: Annotated[list[str], typer.Argument(help="Files, folders or globs.", metavar="INPUT...")],
    index: IndexOption = DEFAULT_INDEX,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Make the index equal to its input: new documents are added, changed ones redone, missing ones gone.

    Reads .txt .md .csv .jsonl .parquet. What cannot be read is listed by: conspectus status --failures.
    A killed run goes on where it was; an unchanged input is a no-op. Where PREFECT_API_URL is set, the same
    steps run as a Prefect flow.

    Example: conspectus index examples/corpus --index .conspectus/demo
    """
    chosen = _settings(settings, overrides)
    with progress(quiet) as report:
        if os.environ.get("PREFECT_API_URL"):
            from pipelines.tasks import index as flow

            done = flow([str(each) for each in inputs], str(index), settings=chosen.model_dump(mode="json"))
        else:
            from pipelines.index import build_index, summary
            from pipelines.runner import RunHere

            done = summary(build_index(inputs, index, chosen, RunHere(report)))
    if as_json:
        _print_json(done)
    else:
        typer.echo(show.build(done))
    if done["failed_share"] > chosen.build.failure_threshold:
        raise typer.Exit(FAILURES_PAST_THRESHOLD)


@app.command()
def ask(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "auto",
    level: Annotated[
        str | None, typer.Option("--level", help="c0 (coarsest) to c3, for global search.", metavar="C0..C3")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Print the steps that led to the answer.")] = False,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Answer a question, with numbered citations into the documents.

    Example: conspectus ask "Who directed the film of the novel?" --index .conspectus/demo
    """
    from conspectus.api import open_index

    opened = open_index(index, _settings(settings, overrides))
    answer = opened.ask(question, f"global:{level.lower()}" if level and method in {"global", "auto"} else method)
    if as_json:
        _print_json(show.answer_json(answer))
    else:
        typer.echo(show.answer(answer, trace))


@app.command()
def retrieve(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "ppr",
    k: Annotated[int, typer.Option("--k", min=1, help="How many passages.")] = 5,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the passages that bear on a question, without answering it.

    Example: conspectus retrieve "Who directed the film?" --method hybrid --k 3 --index .conspectus/demo
    """
    from conspectus.api import open_index

    opened = open_index(index, _settings(settings, overrides))
    evidence = opened.retrieve(question, method, k)
    if as_json:
        _print_json(show.evidence_json(question, method, evidence))
    else:
        typer.echo(show.evidence(evidence))


@app.command()
def methods(as_json: JsonOption = False) -> None:
    """List the ways to ask."""
    from query.methods import METHODS

    if as_json:
        _print_json({name: each.about for name, each in METHODS.items()})
    else:
        typer.echo("\n".join(f"{name:11}  {each.about}" for name, each in METHODS.items()))


@app.command()
def status(
    index: IndexOption = DEFAULT_INDEX,
    failures: Annotated[bool, typer.Option("--failures", help="List what was lost, and why.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Say what an index holds."""
    from storage.index import Index
    from storage.records import Failure

    opened = Index.open(index)
    lost = opened.rows(Failure)
    if as_json:
        shown: dict[str, Any] = {**asdict(opened.manifest), "index": str(index)}
        shown["failures"] = [asdict(each) for each in lost]
        _print_json(shown)
    else:
        typer.echo(show.status(opened.manifest, lost, failures))


@app.command()
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


@app.command()
def evaluate(
    suite: Annotated[Path, typer.Argument(help="A folder with corpus.jsonl and questions.jsonl.", metavar="SUITE")],
    methods: Annotated[
        str, typer.Option("--methods", help="Methods to compare, with commas.")
    ] = "bm25,dense,hybrid,ppr",
    k: Annotated[str, typer.Option("--k", help="Ranks at which recall is taken, with commas.")] = "2,5",
    index: Annotated[
        Path | None,
        typer.Option("--index", help="Where the suite's index is kept. [default: .conspectus/suites/...]"),
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the result to a file as JSON.")] = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress on stderr.")] = False,
) -> None:
    """Measure methods side by side on a question set: recall, with bootstrap 95 % intervals, and seconds.

    The index is built on first use and kept; SUITE is never written to.

    Example: conspectus evaluate examples/suite --methods bm25,dense,hybrid,ppr --k 2,5
    """
    from conspectus.api import open_index
    from pipelines.evaluation.evaluate import as_json, evaluate
    from pipelines.evaluation.suites import read_suite, suite_index
    from pipelines.index import build_index
    from pipelines.runner import RunHere

    chosen = _settings(settings, overrides)
    ranks = _ranks(k)
    names = [each.strip() for each in methods.split(",") if each.strip()]
    show.check_methods(names)
    questions = read_suite(suite)
    began = time.perf_counter()
    with progress(quiet) as report:
        target = index or suite_index(questions, chosen)
        build_index([questions.corpus], target, chosen, RunHere(report))
        build_seconds = time.perf_counter() - began
        scores = evaluate(questions, open_index(target, chosen).context, names, ranks, report)
    result = as_json(questions, chosen.model_dump(mode="json"), scores, build_seconds)
    if json_file:
        json_file.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", "utf-8")
    typer.echo(show.scores(result))


def _ranks(text: str) -> list[int]:
    try:
        ranks = [int(each) for each in text.split(",")]
    except ValueError as error:
        raise typer.BadParameter(f"--k takes whole numbers with commas between, not {text!r}") from error
    if min(ranks) < 1:
        raise typer.BadParameter("--k takes ranks of 1 and more")
    return ranks


def _settings(file: Path | None, overrides: list[str] | None) -> Settings:
    if file is None and Path("settings.yaml").is_file():
        file = Path("settings.yaml")
    sections: dict[str, dict[str, object]] = {}
    for text in overrides or ():
        section, key, value = parse_override(text)
        sections.setdefault(section, {})[key] = value
    return load_settings(file, sections)


def _print_json(value: object) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


def main() -> None:
    """Run the command line; a user's mistake is one line on stderr and an exit status, never a traceback."""
    try:
        app()
    except ConspectusError as error:
        _fail(str(error), error.exit_status)
    except OSError as error:
        _fail(f"{error.filename or ''}: {error.strerror or error}".lstrip(": "), 1)
    except KeyboardInterrupt:
        _fail("interrupted; run the same command again to go on", 130)


def _fail(message: str, exit_status: int) -> None:
    sys.stderr.write(f"conspectus: {message}\n")
    sys.exit(exit_status)


if __name__ == "__main__":
    main()
