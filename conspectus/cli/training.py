"""Training small models that methods use."""

from pathlib import Path
from typing import Annotated

import typer

from conspectus.cli.app import JsonOption, QuietOption, app, check_folder_of, examples, print_json
from storage.errors import UsageError

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

    from conspectus.show_training import trained
    from pipelines.train.graph2text import Plan, train_graph2text
    from pipelines.train.pairs import read_pairs

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
