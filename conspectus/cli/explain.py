"""Explaining what an index finds."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import (
    DEFAULT_INDEX,
    AccessOption,
    IndexOption,
    JsonOption,
    MethodOption,
    QuestionArgument,
    SetOption,
    SettingsOption,
    WhereOption,
    app,
    check_folder_of,
    chosen_settings,
    examples,
    print_json,
)


@app.command(
    short_help="Say why passages were found, path by path.",
    epilog=examples(
        'conspectus explain "Who directed the film that was shot in Leland?"',
        'conspectus explain "Who directed the film that was shot in Leland?" --passage 2 --svg why.svg',
        'conspectus explain "Who directed the film?" --method bm25 --json',
    ),
)
def explain(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = "ppr",
    k: Annotated[int, typer.Option("--k", min=1, help="How many passages.", metavar="N")] = 5,
    passage: Annotated[
        int | None, typer.Option("--passage", min=1, help="Only the passage of that rank.", metavar="RANK")
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option("--chunk", help="Only the passage with that chunk id, found or not (by a walk).", metavar="ID"),
    ] = None,
    paths: Annotated[int, typer.Option("--paths", min=1, help="Most paths told for a passage.", metavar="N")] = 5,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw the paths into this file.", metavar="FILE", dir_okay=False)
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say why passages were found: what their scores are made of, and over which names the walk came to them.

    Each path begins where the question touches the index (a name in it, or a passage near to it) and has its share of
    what the walk brought to the passage. bm25, dense and hybrid are explained by words, cosines and ranks.
    """
    from conspectus.api import open_index
    from conspectus.render import explanation as explaining
    from conspectus.render.explanation_svg import svg as drawn

    check_folder_of("--svg", svg)
    opened = open_index(index, chosen_settings(settings, overrides)).filter(where, access)
    found = opened.explain(question, method, k, passage=passage, chunk=chunk, paths=paths)
    if svg:
        svg.write_text(drawn(found), "utf-8")
    if as_json:
        print_json(explaining.as_json(found))
    else:
        typer.echo(explaining.text(found))
