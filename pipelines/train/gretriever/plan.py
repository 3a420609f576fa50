"""Hyperparameters and results of soft-prompt training, and its state in one safetensors file (no pickle).

The state contains the trained parameters, both moments of AdamW, the states of the random generators, and the epochs so
far.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from math import cos, pi
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conspectus.pipelines.evaluation.graphqa.questions import Size
from conspectus.storage.errors import InputError
from conspectus.storage.records import Failure
from pydantic import TypeAdapter, ValidationError

if TYPE_CHECKING:
    import torch
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SoftPromptPlan:
    """Hyperparameters; defaults are G-Retriever's (He et al. 2024, appendix B.1).

    Attributes:
        learning_rate: Peak learning rate of AdamW; it rises for `warm_up` epochs and falls to 0 in half a cosine.
        weight_decay: Weight decay of AdamW.
        warm_up: Epochs of warm-up.
        epochs: Maximum epochs.
        patience: Training stops this many epochs after the one with the lowest validation loss.
        batch: Questions per step.
        seed: Seed of the first run; the others have the next ones.
        seeds: Number of runs.
    """

    learning_rate: float = 1e-5
    weight_decay: float = 0.05
    warm_up: float = 1.0
    epochs: int = 10
    patience: int = 2
    batch: int = 4
    seed: int = 0
    seeds: int = 4


@dataclass(frozen=True, slots=True)
class SoftPromptEpoch:
    """One pass over the questions."""

    number: int
    training_loss: float
    validation_loss: float
    seconds: float


@dataclass(frozen=True, slots=True)
class SeedRun:
    """The result of one seed.

    Attributes:
        seed: The seed.
        best: Number of the epoch with the lowest validation loss, which is saved.
        epochs: All epochs.
        score: Score on the test questions.
        lenient: Their score as the authors' code counts it (see evaluation/graphqa/questions.py).
        shuffled: Their score if every question gets the graph of another one.
        learned: Number of trained parameters.
        frozen: Number of frozen parameters.
    """

    seed: int
    best: int
    epochs: tuple[SoftPromptEpoch, ...]
    score: float
    lenient: float
    shuffled: float
    learned: int
    frozen: int

    @property
    def validation_loss(self) -> float:
        """The validation loss of the saved epoch."""
        return self.epochs[self.best - 1].validation_loss


@dataclass(frozen=True, slots=True)
class SoftPromptTraining:
    """The result of training over all seeds; `kept` is the saved seed, with the lowest validation loss.

    `majority` is the test score of the most frequent training answer. `deviation` is the sample standard deviation
    (n - 1), 0 for one seed. `learned` and `frozen` are numbers of parameters, `before` and `after` the mean sizes of
    graphs before and after retrieval. `left_out` questions have no graph or answer; `failures` cannot be read.
    """

    metric: str
    n_training: int
    n_validation: int
    n_test: int
    left_out: int
    failures: tuple[Failure, ...]
    before: Size
    after: Size
    learned: int
    frozen: int
    majority: float
    mean: float
    deviation: float
    lenient: float
    shuffled: float
    minutes_per_epoch: float
    kept: int
    runs: tuple[SeedRun, ...]


def step_size(plan: SoftPromptPlan, done: float) -> float:
    """Return the learning rate after `done` epochs: linear warm-up, then half a cosine.

    >>> plan = SoftPromptPlan(learning_rate=1.0, warm_up=1, epochs=5)
    >>> [round(step_size(plan, done), 3) for done in (0, 0.5, 1, 3, 5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < plan.warm_up:
        return plan.learning_rate * done / plan.warm_up
    rest = plan.epochs - plan.warm_up
    return plan.learning_rate * (1 + cos(pi * min((done - plan.warm_up) / rest, 1.0))) / 2 if rest > 0 else 0.0


def best_epoch(epochs: tuple[SoftPromptEpoch, ...] | list[SoftPromptEpoch]) -> SoftPromptEpoch:
    """Return the epoch with the lowest validation loss (ties: the first)."""
    return min(epochs, key=lambda epoch: (epoch.validation_loss, epoch.number))


def is_over(plan: SoftPromptPlan, epochs: list[SoftPromptEpoch]) -> bool:
    """Return whether training ends after these epochs."""
    return bool(epochs) and (len(epochs) >= plan.epochs or len(epochs) - best_epoch(epochs).number >= plan.patience)


STATE = "state.safetensors"
_PARTS, _MOMENTS, _CPU, _CUDA = "part.", "adam.", "random.cpu", "random.cuda"


def write_state(
    file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer", epochs: list[SoftPromptEpoch]
) -> None:
    """Write the state of a training run, replacing the file atomically."""
    import torch
    from safetensors.torch import save_file

    tensors = {f"{_PARTS}{name}": value for name, value in prompt.learned().items()}
    for name, item in prompt.learned().items():
        tensors |= {f"{_MOMENTS}{key}.{name}": moment for key, moment in steps.state[item].items()}
    tensors[_CPU] = torch.get_rng_state()
    if torch.cuda.is_available():
        tensors[_CUDA] = torch.cuda.get_rng_state()
    new = file.with_name(f".{file.name}.new")
    metadata = {"epochs": json.dumps([asdict(epoch) for epoch in epochs])}
    save_file({name: value.detach().cpu().contiguous() for name, value in tensors.items()}, new, metadata=metadata)
    new.replace(file)


def read_state(file: Path, prompt: "SoftPrompt", steps: "torch.optim.Optimizer") -> list[SoftPromptEpoch]:
    """Restore a training run and return its epochs so far.

    Raises:
        InputError: The file is damaged or belongs to another model.
    """
    import torch
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="pt") as opened:
            epochs = TypeAdapter(list[SoftPromptEpoch]).validate_json(opened.metadata()["epochs"])
            tensors: dict[str, Any] = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
        with torch.no_grad():
            for name, value in prompt.learned().items():
                value.copy_(tensors[f"{_PARTS}{name}"])
                steps.state[value] = {
                    key: tensors[f"{_MOMENTS}{key}.{name}"].to(value.device if key != "step" else "cpu")
                    for key in ("step", "exp_avg", "exp_avg_sq")
                }
        torch.set_rng_state(tensors[_CPU])
        if torch.cuda.is_available() and _CUDA in tensors:
            torch.cuda.set_rng_state(tensors[_CUDA])
    except (OSError, SafetensorError, ValidationError, KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{file} is not the state of this training: {reason}; remove it to start again") from error
    return epochs
