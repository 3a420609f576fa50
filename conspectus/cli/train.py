"""Training small models that methods use."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import (
    JsonOption,
    QuietOption,
    SetOption,
    SettingsOption,
    app,
    check_folder_of,
    chosen_settings,
    examples,
    print_json,
)
from conspectus.storage.errors import UsageError

train = typer.Typer(
    help="Train a small model that a method uses, on this machine.", no_args_is_help=True, rich_markup_mode=None
)
app.add_typer(train, name="train")


@train.command(
    short_help="Train the model that says triples in sentences.",
    epilog=examples(
        "conspectus train graph2text webnlg.jsonl --model t5-base --out g2t",
        'conspectus ask "Who directed it?" --method fasttog --set fasttog.text=g2t --set fasttog.graph2text=g2t',
    ),
)
def graph2text(
    pairs: Annotated[
        Path,
        typer.Argument(
            help="JSON lines with `text` and `triples` ([[subject, predicate, object], ...]), or a folder of them.",
            metavar="PAIRS",
            exists=True,
        ),
    ],
    model: Annotated[
        Path, typer.Option("--model", help="A folder with a T5 in safetensors and its tokenizer.", metavar="FOLDER")
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the trained model goes.", metavar="FOLDER")],
    epochs: Annotated[int, typer.Option("--epochs", min=1, help="Passes over the pairs.", metavar="N")] = 2,
    learning_rate: Annotated[float, typer.Option("--learning-rate", help="AdamW's step.", metavar="X")] = 1e-5,
    batch: Annotated[int, typer.Option("--batch", min=1, help="Pairs in a step.", metavar="N")] = 8,
    validation: Annotated[
        float, typer.Option("--validation", min=0.0, max=1.0, help="Share of pairs to validate with.", metavar="X")
    ] = 0.1,
    seed: Annotated[int, typer.Option("--seed", help="Of what is drawn.", metavar="N")] = 7,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Fine-tune a T5 on triples and the texts that say them, and keep the epoch of the best ROUGE-1.

    The report names, for the texts that the model writes of the pairs held out, ROUGE and the shares of texts that say
    more than their triples: names or numbers that these lack (factual), and things put together that no triple joins
    (relational). FastToG then describes communities with it (fasttog.text: g2t).
    """
    from dataclasses import asdict

    from conspectus.pipelines.train.graph2text import Plan, train_graph2text
    from conspectus.pipelines.train.pairs import read_pairs
    from conspectus.render.training import trained

    check_folder_of("--out", out)
    if out.exists() and not (out / "graph2text.json").is_file() and any(out.iterdir()):
        raise UsageError(f"--out {out} holds something else already; name a folder that is new")
    plan = Plan(learning_rate, epochs, validation, batch, seed)

    def tell(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    report = train_graph2text(read_pairs(pairs), model, out, plan, tell)
    if as_json:
        print_json(asdict(report))
    else:
        typer.echo(trained(report, out))


@train.command(
    short_help="Train a graph token for a frozen language model.",
    epilog=examples(
        "conspectus train gretriever explagraphs --model llama-7b --out soft",
        "conspectus train gretriever explagraphs --model llama-7b --out tuned --set train_gretriever.lora=true",
    ),
)
def gretriever(
    suite: Annotated[
        Path,
        typer.Argument(
            help="Questions with graphs: a folder or file of ExplaGraphs, GQA, RoG's WebQSP, or a suite with kg.tsv.",
            metavar="SUITE",
            exists=True,
        ),
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", help="A causal model on this machine: its folder, or its Hugging Face name.", metavar="MODEL"
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Where the learned parts go.", metavar="FOLDER")],
    settings: SettingsOption = None,
    overrides: SetOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Teach a graph network to tell a frozen language model about a graph in one token (G-Retriever).

    Nothing of the model itself changes; only what learned is kept. How, and with which variants, is in the settings
    under train_gretriever. Run again on the same folder it goes on where it was stopped. The report has the accuracy
    (WebQSP: Hit@1) on questions held back, mean and deviation over the seeds, and the same with graphs exchanged.
    """
    from dataclasses import asdict

    from conspectus.pipelines.train.gretriever.train import train_from_settings
    from conspectus.render.soft_prompt_training import trained as shown

    check_folder_of("--out", out)
    others = {each.name for each in out.iterdir()} - {"cache"} if out.is_dir() else set()
    if others and "training.json" not in others:
        raise UsageError(f"--out {out} holds something else already; name a folder that is new")

    def tell(line: str) -> None:
        if not quiet:
            typer.echo(line, err=True)

    report = train_from_settings(suite, model, out, chosen_settings(settings, overrides), tell)
    if as_json:
        print_json(asdict(report))
    else:
        typer.echo(shown(report, out))
