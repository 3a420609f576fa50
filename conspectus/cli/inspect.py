"""`conspectus status`, `documents`, `entities`, `reports`, ...: contents of an index, and its setup."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, astuple
from itertools import groupby
from typing import TYPE_CHECKING, Annotated, Any

import typer
from annotated_types import Ge
from conspectus.cli.app import DEFAULT_INDEX, print_json
from conspectus.cli.command import Build, Chosen, Source, command
from conspectus.operation_table import OPERATIONS, Operation
from conspectus.render.builds import check_text, differences_text, preview_text, status_text
from conspectus.render.terminal import one_line, safe_lines
from conspectus.storage.errors import IndexCorrupt, UsageError
from conspectus.storage.records import SKIP, Community, Correction, Failure

if TYPE_CHECKING:
    from conspectus.rows import TimelineRow
    from conspectus.storage.settings import Settings


@command(
    "Show the contents of an index, or what an update would redo.",
    "conspectus status",
    "conspectus status --failures --index docs.index",
    "conspectus status docs",
)
def status(
    build: Build,
    inputs: Annotated[list[str] | None, typer.Argument(metavar="INPUT", show_default=False)] = None,
    failures: bool = False,
    as_json: bool = False,
) -> None:
    """Show the contents of an index, and what failed.

    With INPUT, show which documents `conspectus index` with the same arguments would find new, changed and gone, how
    much it would extract and embed, and what it would ask a model (as `conspectus index --estimate`). Nothing is
    written and no server is called.

    Args:
        inputs: Show what an update to these files, folders, globs or URLs would redo.
        failures: List all failures with their reasons.
    """
    if inputs:
        if failures:
            raise UsageError("--failures lists the failures of the index; INPUT previews an update: give one of them")
        _preview(inputs, build.index, build.chosen(), as_json=as_json)
        return
    from conspectus.storage.index import StoredIndex

    place = index = build.index
    if "://" in index:
        from conspectus.pipelines.remote_index.local_copy import located

        place = str(located(index))
    opened = StoredIndex.open(place)
    lost = opened.rows(Failure)
    if as_json:
        failed = [asdict(failure) for failure in lost if failure.stage != SKIP]
        skipped = [failure.item_id for failure in lost if failure.stage == SKIP]
        rows = {**opened.manifest.rows, "communities": opened.arrow(Community, "same_as")["same_as"].null_count}
        told = {"index": index, "failures": failed, "skipped": skipped, "rows": rows}
        print_json({**asdict(opened.manifest), **told, "corrections": [asdict(row) for row in opened.rows(Correction)]})
    else:
        typer.echo(status_text(opened, failures))


def _preview(inputs: list[str], index: str, chosen: "Settings", *, as_json: bool) -> None:
    from conspectus.pipelines.diff import preview, summary
    from conspectus.pipelines.remote_index.local_copy import written

    with written(index, publishes=False) as folder:
        made = summary(preview(inputs, folder, chosen))
    made["index"] = made["estimate"]["index"] = index
    print_json(made) if as_json else typer.echo(preview_text(made))


def _add(operation: Operation, *lines: str) -> None:
    """Add the command of an operation that looks into the tables."""

    def look(given: dict[str, Any], source: Source, as_json: bool = False) -> None:
        found = operation.read(source.open().filter().context, given)
        print_json(found) if as_json else typer.echo(_text(operation.name, found))

    def page(
        given: dict[str, Any],
        source: Source,
        offset: Annotated[int, Ge(0)] = 0,
        limit: Annotated[int, Ge(1)] = 100,
        as_json: bool = False,
    ) -> None:
        """Look at a page of a list.

        Args:
            offset: Rows to leave out at the beginning.
            limit: Most rows.
        """
        look({**given, "offset": offset, "limit": limit}, source, as_json)

    short, _, _ = operation.about.partition("\n")
    shown = page if operation.paged else look
    command(short, *lines, operation=operation, about=operation.about, name=operation.name)(shown)


def _text(name: str, found: Any) -> str:  # noqa: ANN401  (the result of an operation)
    """Return the result of a look into the tables for people: a line for each row, or a text."""
    from conspectus import reports

    if name == "timeline":
        return "\n".join(_dated(found["rows"])) or "nothing found"
    if name == "conflicts":
        pairs = (f"{row.about}, {row.word}:\n" + "\n".join(_dated([row.one, row.other])) for row in found["rows"])
        return "\n\n".join(pairs) or "nothing found"
    if name == "document":
        return safe_lines(found.text)
    if name == "diff":
        return differences_text(found)
    if name == "report":
        return reports.full(found)
    rows = found["rows"] if isinstance(found, dict) else found
    if name == "reports":
        return reports.listed(rows)
    if not isinstance(rows, list):
        lists = {key: value for key, value in asdict(rows).items() if isinstance(value, list)}
        plain = [f"{key}: {value}" for key, value in asdict(rows).items() if key not in lists]
        return "\n".join(
            map(one_line, [*plain, *(f"{key}: {value}" for key, values in lists.items() for value in values)])
        )
    lines = ["  ".join(one_line(_cell(value)) for value in astuple(row) if value not in ("", None)) for row in rows]
    more = isinstance(found, dict) and found["total"] > len(rows)
    return "\n".join([*lines, f"({found['total']:,} in all: --offset, --limit)"] if more else lines) or "nothing found"


def _dated(rows: Sequence["TimelineRow"]) -> Iterator[str]:
    """Yield the lines of a timeline: what a sentence states, and that sentence."""
    for (when, basis, quote, title, start, end), stated in groupby(
        rows, key=lambda row: (row.when, row.basis, row.quote, row.title, row.start, row.end)
    ):
        of = " (the document's date)" if basis == "document" else ""
        yield one_line(f"{when or 'no date'}{of}: {'; '.join(row.statement for row in stated)}")
        if quote:
            yield f'    "{one_line(" ".join(quote.split()))}" ({one_line(title)}, {start} to {end})'


def _cell(value: object) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{key}={each}" for key, each in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


for _name, _lines in {
    "documents": ("conspectus documents", "conspectus documents --title harbour --json"),
    "document": ('conspectus document "Cold Harbour" --start 0 --end 500',),
    "passages": ("conspectus passages 0123456789abcdef",),
    "filters": ("conspectus filters",),
    "entities": ("conspectus entities --index docs.index", "conspectus entities --name varn --limit 10"),
    "entity": ('conspectus entity "Ilse Varn"',),
    "neighbours": ('conspectus neighbours "Ilse Varn" --direction out',),
    "timeline": ('conspectus timeline "Ilse Varn"', 'conspectus timeline "Ilse Varn" --json'),
    "conflicts": ("conspectus conflicts --index docs.index",),
    "reports": ("conspectus reports --level c0",),
    "report": ("conspectus report 0123456789abcdef",),
    "diff": ("conspectus diff", "conspectus diff 0123456789ab 89abcdef0123 --json"),
}.items():
    _add(OPERATIONS[_name], *_lines)


@command(
    "Show the documents with their headings.",
    "conspectus outline",
    "conspectus outline guide.html --depth 2",
    "conspectus outline docs --json",
)
def outline(
    source: Source,
    document: Annotated[str | None, typer.Argument(metavar="DOCUMENT", show_default=False)] = None,
    depth: Annotated[int | None, Ge(0)] = None,
    as_json: bool = False,
) -> None:
    """Show the documents of an index with their nested headings, and the numbers of links from and to them.

    Args:
        document: Only the document of this name or id, or those in this folder.
        depth: Maximum depth of headings (all).
    """
    from conspectus import outline as outlines

    found = outlines.outlined(source.open().context.index, document)
    print_json(outlines.json_of(found)) if as_json else typer.echo(outlines.text(found, depth))


@command(
    "Check an index.",
    "conspectus verify --index docs.index",
)
def verify(
    index: str = DEFAULT_INDEX,
    as_json: bool = False,
) -> None:
    """Check every checksum, id, span and row count of an index; exit with status 4 if anything is wrong.

    Of an index in an object store every object is read, and damaged files of the local copy are fetched again.
    """
    from conspectus.pipelines.readers.remote import is_url
    from conspectus.pipelines.remote_index.local_copy import verify_remote
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.verify import verify as find_problems

    problems = verify_remote(index) if is_url(index) else find_problems(StoredIndex.open(index))
    if as_json:
        print_json({"index": index, "problems": [asdict(problem) for problem in problems]})
    elif not problems:
        typer.echo(f"{index}: sound; all checksums, ids, spans and row counts are correct")
    else:
        typer.echo("\n".join(f"{problem.where}: {problem.what}" for problem in problems))
    if problems:
        raise typer.Exit(IndexCorrupt.exit_status)


@command(
    "Check the configuration.",
    "conspectus doctor",
    "conspectus doctor --no-calls --json",
)
def doctor(
    index: str = DEFAULT_INDEX,
    calls: bool = True,
    chosen: Chosen = Chosen(),
    as_json: bool = False,
) -> None:
    """Check what is configured: model, embedding, spaCy pipeline, Prefect, disk, index.

    No secret is printed. The exit status is that of the first failed check.

    Args:
        calls: Also call the configured servers: a few calls of a few tokens.
    """
    from conspectus.doctor import examine

    checks = []
    for check in examine(chosen.load(), index, calls=calls):
        checks.append(check)
        if not as_json:
            typer.echo(check_text(check))
    if as_json:
        print_json([asdict(check) for check in checks])
    failed = [check for check in checks if check.state == "failed"]
    if failed:
        raise typer.Exit(failed[0].exit_status)
