"""`conspectus correct`: write and list corrections of the graph, and list the names that were merged."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from conspectus.cli.app import print_json
from conspectus.cli.command import Build, command
from conspectus.cli.index import update
from conspectus.render.builds import corrections_text, merges_text
from conspectus.storage.errors import UsageError
from conspectus.storage.text.normalise import entity_key

MERGES = "merges"


@command(
    "Correct the graph: merge, split, rename, forbid.",
    "conspectus correct",
    'conspectus correct merge "Mara Quill" "M. Quill"',
    'conspectus correct split Mercury "Mercury (planet)" --words orbit --words sun',
    'conspectus correct forbid "Mara Quill" sold "Brass Lamp" --comment "a misread list" --apply',
    'conspectus correct merges "Sherlock Holmes"',
)
def correct(
    build: Build,
    kind: Annotated[str | None, typer.Argument(metavar="[KIND]")] = None,
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...")] = None,
    document: list[str] | None = None,
    passage: list[str] | None = None,
    words: list[str] | None = None,
    comment: str = "",
    apply: bool = False,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Write a correction of the graph into the file of corrections, or list those of the index.

    Every build and update applies the file. To undo a correction, remove its lines. The kinds are: merge NAME NAME...
    (the first stays), same NAME NAME... (in several languages), apart NAME NAME (never merged), rename NAME NEW, split
    NAME NEW with --document, --passage or --words, type NAME TYPE, forbid NAME, and forbid or fix SOURCE PREDICATE
    TARGET (a relation; for fix the three that are right follow).

    Without KIND, list the corrections of the index and where they are in force; with merges, names that were merged.

    Args:
        kind: The kind of correction, or merges.
        names: The names that it concerns, and what they become.
        document: For split: an id or a URI of a document, or the name of a file or folder. Repeatable.
        passage: For split: the id of a passage. Repeatable.
        words: For split: a word in the sentences that mean NEW. Repeatable.
        comment: Why.
        apply: Rebuild the index now, from the documents in it.
    """
    given = [(where, at) for where, at in (("document", document), ("passage", passage), ("words", words)) if at]
    if len(given) > (kind == "split"):
        raise UsageError("split takes one of --document, --passage and --words; other kinds take none")
    if kind and kind != MERGES:
        from conspectus.building import correct as write
        from conspectus.storage.settings.loading import FILES_BESIDE

        where, at = given[0] if given else ("", [])
        file = build.chosen().build.corrections or str((build.settings or Path()).parent / FILES_BESIDE["corrections"])
        line = write(kind, *(names or []), file=file, where=where, at=at, comment=comment)
        if not apply:
            told = f"{file}: {line}\n  in force from the next build on; --apply rebuilds now"
            print_json({"file": file, "correction": line}) if as_json else typer.echo(told)
            return
    if apply:
        update(build, (), (), as_json=as_json, quiet=quiet)
        return
    from conspectus.pipelines.remote_index.local_copy import located
    from conspectus.storage.index import StoredIndex
    from conspectus.storage.records import Correction, Merge

    opened, keys = StoredIndex.open(located(build.index)), set(map(entity_key, names or []))
    if kind == MERGES:
        merges = [row for row in opened.rows(Merge) if not keys or keys & {entity_key(row.alias), entity_key(row.name)}]
        merges.sort(key=lambda row: (entity_key(row.name), entity_key(row.alias), row.id))
        shown = {"index": build.index, "merges": [asdict(row) for row in merges]}
        print_json(shown) if as_json else typer.echo(merges_text(Path(build.index), merges))
    else:
        rows = opened.rows(Correction)
        print_json([asdict(row) for row in rows]) if as_json else typer.echo(corrections_text(rows) or "no corrections")
