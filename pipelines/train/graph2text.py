"""Train a graph-to-text T5 model that verbalises triples (FastToG, Liang and Gu 2025, appendix B).

The paper's values are the defaults: learning rate 1e-5, 2 epochs, 10 % of the pairs for validation. The epoch with the
best ROUGE-L is saved, where the paper takes ROUGE-1. The initial model is a local folder, of any size.
"""

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from statistics import fmean
from typing import Any

from conspectus.pipelines.evaluation.graphqa.questions import first_of, shuffled
from conspectus.pipelines.evaluation.jsonl import lines_of
from conspectus.pipelines.evaluation.metrics import rouge_l
from conspectus.prompts.embedding.torch_model import offline
from conspectus.query.methods.fasttog.text import MOST_READ, MOST_TOKENS, T5Writer, Triple, linearised, read_model
from conspectus.storage.errors import InputError
from pydantic import BaseModel, Field, ValidationError


@dataclass(frozen=True, slots=True)
class TrainingPair:
    """Triples, and a text that verbalises them."""

    triples: tuple[Triple, ...]
    text: str


class _PairLine(BaseModel):
    text: str = Field(min_length=1)
    triples: list[tuple[str, str, str]] = Field(min_length=1)


def read_pairs(path: Path) -> list[TrainingPair]:
    """Return the pairs of a file of JSON lines, `{"text": ..., "triples": [[s, p, o], ...]}`, or of all in a folder.

    Raises:
        InputError: Names the file, the line and the fault.
    """
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else [path]
    pairs = [item for file in files for item in _read(file)]
    if not pairs:
        raise InputError(f"{path} contains no pairs: expected JSON lines with `text` and `triples`")
    return pairs


def _read(file: Path) -> Iterator[TrainingPair]:
    for where, line in lines_of(file):
        try:
            made = _PairLine.model_validate_json(line)
        except ValidationError as error:
            raise InputError(f"{where}: {first_of(error)}") from error
        yield TrainingPair(tuple(made.triples), " ".join(made.text.split()))


def divided(
    pairs: Sequence[TrainingPair], validation: float, seed: int
) -> tuple[list[TrainingPair], list[TrainingPair]]:
    """Return training pairs and validation pairs, drawn with the seed; at least one of each.

    Pairs with the same triples are in the same part.
    """
    groups = shuffled(((pair.triples, pair) for pair in pairs), seed)
    if len(groups) < 2:
        raise InputError("the pairs are of the same triples: there is nothing to validate with")
    n_held_out = min(max(round(validation * len(groups)), 1), len(groups) - 1)
    return list(chain(*groups[n_held_out:])), list(chain(*groups[:n_held_out]))


REPORT = "graph2text.json"
_LABEL_PAD = -100

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Graph2TextPlan:
    """The hyperparameters of the training."""

    learning_rate: float = 1e-5
    epochs: int = 2
    validation: float = 0.1
    batch: int = 8
    seed: int = 7


@dataclass(frozen=True, slots=True)
class Graph2TextEpoch:
    """One pass over the pairs."""

    number: int
    training_loss: float
    validation_loss: float
    rouge_l: float
    seconds: float


@dataclass(frozen=True, slots=True)
class Graph2TextTraining:
    """The result of training. `before` and `after` are the mean ROUGE-L of the held-out texts, from 0 to 1."""

    best: int
    epochs: tuple[Graph2TextEpoch, ...]
    n_training: int
    n_validation: int
    before: float
    after: float


def train_graph2text(
    pairs: Sequence[TrainingPair], model: Path, out: Path, plan: Graph2TextPlan, tell: Tell
) -> Graph2TextTraining:
    """Train a graph-to-text model and save the best epoch.

    Training is deterministic for the same pairs, model, plan and machine.

    Args:
        pairs: The training data.
        model: The folder of the initial T5 model.
        out: The folder for the safetensors, the tokenizer and the report.
        plan: The hyperparameters.
        tell: Called with a line of progress.

    Returns:
        The report: losses by epoch, and ROUGE-L before and after.

    Raises:
        MissingPart: The folder of the initial model contains no safetensors.
        InputError: The pairs cannot be split into training and validation.
    """
    learn, held_out = divided(pairs, plan.validation, plan.seed)
    run = _Run(model, plan)
    before = run.rouge(held_out)
    tell(f"{len(learn)} training pairs, {len(held_out)} validation pairs; initial ROUGE-L {before:.3f}")
    epochs: list[Graph2TextEpoch] = []
    for number in range(1, plan.epochs + 1):
        began = time.perf_counter()
        loss, reached = run.learn(learn, number), run.rouge(held_out)
        epochs.append(Graph2TextEpoch(number, loss, run.loss(held_out), reached, time.perf_counter() - began))
        tell(
            f"epoch {number}: training loss {loss:.4f}, validation loss {epochs[-1].validation_loss:.4f}, "
            f"ROUGE-L {reached:.4f}"
        )
        if reached >= max(epoch.rouge_l for epoch in epochs):
            run.save(out)
    kept = max(epochs, key=lambda epoch: (epoch.rouge_l, epoch.number))
    report = Graph2TextTraining(kept.number, tuple(epochs), len(learn), len(held_out), before, kept.rouge_l)
    (out / REPORT).write_text(json.dumps({"plan": asdict(plan), **asdict(report)}, indent=2) + "\n", "utf-8")
    return report


class _Run:
    """A model in training."""

    def __init__(self, folder: Path, plan: Graph2TextPlan) -> None:
        import torch

        torch.manual_seed(plan.seed)
        self._plan = plan
        self._device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer, self._model = read_model(folder)
        self._model.to(self._device)
        self._steps = torch.optim.AdamW(self._model.parameters(), lr=plan.learning_rate)

    def learn(self, pairs: Sequence[TrainingPair], epoch: int) -> float:
        """Train for one epoch, in a random order; return the mean loss."""
        order = list(pairs)
        random.Random(self._plan.seed * 1000 + epoch).shuffle(order)  # noqa: S311
        self._model.train()
        losses = []
        for start in range(0, len(order), self._plan.batch):
            loss = self._model(**self._batch(order[start : start + self._plan.batch])).loss
            loss.backward()
            self._steps.step()
            self._steps.zero_grad()
            losses.append(float(loss.detach()))
        return fmean(losses)

    def loss(self, pairs: Sequence[TrainingPair]) -> float:
        """Return the mean loss over batches, without learning."""
        import torch

        self._model.eval()
        size = self._plan.batch
        with torch.inference_mode():
            losses = [
                float(self._model(**self._batch(pairs[start : start + size])).loss)
                for start in range(0, len(pairs), size)
            ]
        return fmean(losses)

    def rouge(self, pairs: Sequence[TrainingPair]) -> float:
        """Return the mean ROUGE-L of the model's texts for the triples of pairs, generated as by `T5Writer`."""
        self._model.eval()
        texts = T5Writer(self._tokenizer, self._model).write([pair.triples for pair in pairs])
        return fmean([rouge_l(text, [pair.text]) for text, pair in zip(texts, pairs, strict=True)])

    def save(self, out: Path) -> None:
        """Write the model and its tokenizer, replacing earlier ones."""
        beside = out.with_name(f".{out.name}.new")
        shutil.rmtree(beside, ignore_errors=True)
        with offline():
            self._model.save_pretrained(beside, safe_serialization=True)
            self._tokenizer.save_pretrained(beside)
        shutil.rmtree(out, ignore_errors=True)
        beside.rename(out)

    def _batch(self, pairs: Sequence[TrainingPair]) -> dict[str, Any]:
        given = self._tokenizer(
            [linearised(pair.triples) for pair in pairs],
            padding=True,
            truncation=True,
            max_length=MOST_READ,
            return_tensors="pt",
        )
        wanted = self._tokenizer(
            text_target=[pair.text for pair in pairs],
            padding=True,
            truncation=True,
            max_length=MOST_TOKENS,
            return_tensors="pt",
        )["input_ids"]
        labels = wanted.masked_fill(wanted == self._tokenizer.pad_token_id, _LABEL_PAD)
        made = {"input_ids": given["input_ids"], "attention_mask": given["attention_mask"], "labels": labels}
        return {name: item.to(self._device) for name, item in made.items()}
