"""Hyperparameters and results of soft-prompt training."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, pi

from conspectus.pipelines.evaluation.graphqa.questions import Size
from conspectus.storage.records import Failure

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
        lenient: Their score as the authors' code counts it (see evaluation/graphqa/scores.py).
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
