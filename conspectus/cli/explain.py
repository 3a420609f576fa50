"""`conspectus explain`: why passages were found."""

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
    examples,
    open_filtered,
    print_json,
)
from conspectus.query.menu import DEFAULT_RETRIEVER


@app.command(
    short_help="Explain why passages were found, path by path.",
    epilog=examples(
        'conspectus explain "Who directed the film shot at Marrow, Vey?"',
        'conspectus explain "Who directed the film shot at Marrow, Vey?" --passage 2 --svg why.svg',
        'conspectus explain "Who directed the film?" --method bm25 --json',
    ),
)
def explain(
    question: QuestionArgument,
    index: IndexOption = DEFAULT_INDEX,
    method: MethodOption = DEFAULT_RETRIEVER,
    k: Annotated[int, typer.Option("--k", min=1, help="Number of passages.", metavar="N")] = 5,
    passage: Annotated[
        int | None, typer.Option("--passage", min=1, help="Explain only the passage of this rank.", metavar="RANK")
    ] = None,
    chunk: Annotated[
        str | None,
        typer.Option("--chunk", help="Explain only the chunk with this id, whether it was found or not.", metavar="ID"),
    ] = None,
    paths: Annotated[int, typer.Option("--paths", min=1, help="Maximum number of paths per passage.", metavar="N")] = 5,
    svg: Annotated[
        Path | None, typer.Option("--svg", help="Draw the paths into this file.", metavar="FILE", dir_okay=False)
    ] = None,
    where: WhereOption = None,
    access: AccessOption = None,
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain why passages were found: the parts of their scores, and the names over which the walk reached them.

    Each path starts at a seed of the walk (a name in the question, or a passage similar to it) and shows its share of
    the passage's PageRank score. bm25, dense and hybrid are explained by shared words, cosines and ranks.
    """
    from conspectus.render.answers import explanation_json, explanation_text
    from conspectus.render.drawings import explanation_svg

    check_folder_of("--svg", svg)
    opened = open_filtered(index, settings, overrides, where, access)
    found = opened.explain(question, method, k, passage=passage, chunk=chunk, paths=paths)
    if svg:
        svg.write_text(explanation_svg(found), "utf-8")
    if as_json:
        print_json(explanation_json(found))
    else:
        typer.echo(explanation_text(found))
