"""`conspectus train`: small models that methods use."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from annotated_types import Ge
from conspectus.cli.app import app, check_folder_of, print_json
from conspectus.cli.command import Chosen, command
from conspectus.storage.errors import UsageError

train = typer.Typer(
    help="Train a small model that a method uses, on this machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(train, name="train")


@command(
    "Train the model that turns triples into sentences.",
    "conspectus train graph2text webnlg.jsonl --model t5-base --out g2t",
    'conspectus ask "Who directed it?" --method fasttog --set fasttog.graph2text=g2t',
    program=train,
)
def graph2text(
    pairs: Annotated[Path, typer.Argument(metavar="PAIRS", exists=True)],
    model: Annotated[Path, typer.Option("--model")],
    out: Annotated[Path, typer.Option("--out")],
    epochs: Annotated[int, Ge(1)] = 2,
    learning_rate: float = 1e-5,
    batch: Annotated[int, Ge(1)] = 8,
    validation: Annotated[float, typer.Option("--validation", min=0.0, max=1.0)] = 0.1,
    seed: int = 7,
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Fine-tune a T5 to turn triples into text, and keep the epoch with the best ROUGE-1.

    For texts that the model writes for held-out pairs, the report gives ROUGE and two hallucination rates: texts with
    names or numbers that their triples lack (factual), and texts that join things which no triple joins (relational).
    FastToG describes communities with the model if fasttog.graph2text names its folder.

    Args:
        pairs: JSON lines with `text` and `triples` ([[subject, predicate, object], ...]), or a folder of them.
        model: A folder with a T5 in safetensors and its tokenizer.
        out: Folder for the trained model.
        epochs: Passes over the pairs.
        learning_rate: Learning rate.
        batch: Pairs in a batch.
        validation: Share of pairs to validate with.
        seed: Random seed.
    """
    from conspectus.pipelines.train.graph2text import Graph2TextPlan, read_pairs, train_graph2text
    from conspectus.render.scores import graph2text_text

    check_folder_of("--out", out)
    if out.exists() and not (out / "graph2text.json").is_file() and any(out.iterdir()):
        raise UsageError(f"--out {out} contains other files; choose a new folder")
    plan = Graph2TextPlan(learning_rate, epochs, validation, batch, seed)

    report = train_graph2text(read_pairs(pairs), model, out, plan, _log(quiet))
    print_json(report) if as_json else typer.echo(graph2text_text(report, out))


@command(
    "Train a graph token for a frozen language model.",
    "conspectus train gretriever explagraphs --model llama-7b --out soft",
    "conspectus train gretriever explagraphs --model llama-7b --out tuned --set train_gretriever.lora=true",
    program=train,
)
def gretriever(
    suite: Annotated[Path, typer.Argument(metavar="SUITE", exists=True)],
    model: Annotated[str, typer.Option("--model")],
    out: Annotated[Path, typer.Option("--out")],
    index: Path | None = None,
    chosen: Chosen = Chosen(),
    as_json: bool = False,
    quiet: bool = False,
) -> None:
    """Train a graph network that shows a graph to a frozen language model as one token (G-Retriever).

    The language model itself does not change; only the learned parameters are saved. The section train_gretriever of
    the settings chooses the variant. Run again on the same folder to continue an interrupted training. The report has
    the accuracy (WebQSP: Hit@1) on held-out questions, mean and deviation over the seeds, and the same with exchanged
    graphs.

    Args:
        suite: Questions with graphs: a folder or file of ExplaGraphs, GQA, RoG's WebQSP, or a suite with kg.tsv.
        model: A causal model on this machine: its folder, or its Hugging Face name.
        out: Folder for the learned parameters.
        index: An index of the suite's kg.tsv: train on the subgraphs that asking it retrieves.
    """
    from conspectus.pipelines.train.gretriever.train import train_from_settings
    from conspectus.query.context import Context
    from conspectus.render.scores import soft_prompt_text
    from conspectus.storage.index import StoredIndex

    check_folder_of("--out", out)
    others = {path.name for path in out.iterdir()} - {"cache"} if out.is_dir() else set()
    if others and "training.json" not in others:
        raise UsageError(f"--out {out} contains other files; choose a new folder")

    settings = chosen.load()
    context = Context(StoredIndex.open(index), settings) if index else None
    report = train_from_settings(suite, model, out, settings, _log(quiet), context)
    print_json(report) if as_json else typer.echo(soft_prompt_text(report, out))


def _log(quiet: bool) -> Callable[[str], None]:
    return lambda line: None if quiet else typer.echo(line, err=True)
