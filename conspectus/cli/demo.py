"""`conspectus demo`: index the included example texts, and ask them four questions."""

from pathlib import Path

import conspectus
import typer
from conspectus.cli.ask import ask
from conspectus.cli.command import Build, Source, command
from conspectus.cli.index import index as make_index
from conspectus.query.menu import DEFAULT_METHOD
from conspectus.storage.errors import InputError

FOLDER = Path(".conspectus/demo")
QUESTIONS = (
    ("Global: a question about the whole", "What are the main themes of The House of Weights?", "global"),
    ("Multi-hop: no single passage holds the answer", "Who directed the film shot at Marrow, Vey in 1962?", ""),
    ("Single fact", "What is painted in the hall of the House of Weights?", ""),
    (
        "Unknown: nothing in the documents supports an answer",
        "Which moons of Jupiter did Galileo discover?",
        "",
    ),
)


@command(
    "Index example texts and ask them four questions.",
    "conspectus demo",
)
def demo(
    index: Path = FOLDER,
) -> None:
    """Index example texts and ask them four questions: pages and a novel of an invented world. No model is needed.

    Args:
        index: Where the index is made.
    """
    texts = example_texts()
    inputs = [str(texts / "world" / "pages"), str(texts / "novel" / "the-house-of-weights.md")]
    typer.echo(f"$ conspectus index {' '.join(inputs)} --index {index}")
    make_index(Build(str(index)), inputs)
    for what, question, method in QUESTIONS:
        named = f" --method {method}" if method else ""
        typer.echo(f'\n{what}\n$ conspectus ask "{question}"{named} --index {index}')
        ask({"question": question, "method": method or DEFAULT_METHOD, "topics": ()}, Source(str(index)))


def example_texts() -> Path:
    """Return the folder of the example texts: in an installed package, or next to it in a checkout."""
    home = Path(conspectus.__file__).parent
    for folder in (home / "examples", home.parent / "examples"):
        if (folder / "world" / "pages").is_dir():
            return folder
    raise InputError("the example texts are not installed")
