"""Hyperparameters and results of soft-prompt training."""

from collections.abc import Callable
from dataclasses import dataclass
from math import cos, fsum, pi
from statistics import stdev

from conspectus.pipelines.evaluation.graphqa.questions import Size
from conspectus.storage.records import Failure

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class SoftPromptPlan:
    """Numbers of the training; defaults are G-Retriever's (He et al. 2024, appendix B.1).

    The step of AdamW rises for `warm_up` epochs and falls to 0 in half a cosine; training stops `patience` epochs after
    the one of the least validation loss. `seeds` runs are made, seeded with `seed`, `seed + 1`, ...
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
    """What one seed came to: `best` is the number of the epoch that was kept, `score` of the questions held back.

    `lenient` is what the authors' code would count (see graphqa_scores.py), `shuffled` the score where every question
    is asked with the graph of another one. `learned` and `frozen` are the numbers of parameters that learn and do not.
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
        """That of the kept epoch."""
        return self.epochs[self.best - 1].validation_loss


@dataclass(frozen=True, slots=True)
class SoftPromptTraining:
    """What training came to over all seeds; `kept` is the seed whose validation loss is least.

    `majority` is what the commonest answer of the training part scores on the questions held back. `deviation` is the
    sample's (n - 1), 0 of one seed. Numbers of parameters are those that learn and those that do not. `before` and
    `after` are the mean sizes of graphs before and after retrieval. `left_out` questions have no graph or answer,
    `failures` cannot be read.
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
    """Return AdamW's step when `done` epochs are through: up in a line, down in half a cosine.

    >>> plan = SoftPromptPlan(learning_rate=1.0, warm_up=1, epochs=5)
    >>> [round(step_size(plan, done), 3) for done in (0, 0.5, 1, 3, 5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    if done < plan.warm_up:
        return plan.learning_rate * done / plan.warm_up
    rest = plan.epochs - plan.warm_up
    return plan.learning_rate * (1 + cos(pi * min((done - plan.warm_up) / rest, 1.0))) / 2 if rest > 0 else 0.0


def best_epoch(epochs: tuple[SoftPromptEpoch, ...] | list[SoftPromptEpoch]) -> SoftPromptEpoch:
    """Return the epoch of the least validation loss, the first of several."""
    return min(epochs, key=lambda epoch: (epoch.validation_loss, epoch.number))


def is_over(plan: SoftPromptPlan, epochs: list[SoftPromptEpoch]) -> bool:
    """Whether training ends after these epochs."""
    return bool(epochs) and (len(epochs) >= plan.epochs or len(epochs) - best_epoch(epochs).number >= plan.patience)


def mean(values: list[float]) -> float:
    """Return the mean."""
    return fsum(values) / len(values)


def deviation(values: list[float]) -> float:
    """Return the sample's standard deviation, 0 of one value."""
    return stdev(values) if len(values) > 1 else 0.0
