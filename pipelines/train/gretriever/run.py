"""Train a soft graph prompt for one seed, with a checkpoint after each epoch to resume from."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, TypeVar

import torch
from conspectus.pipelines.evaluation.graphqa.questions import GraphQa, GraphQuestion
from conspectus.pipelines.train.gretriever.plan import (
    SeedRun,
    SoftPromptEpoch,
    SoftPromptPlan,
    Tell,
    best_epoch,
    is_over,
    step_size,
)
from conspectus.query.methods.gretriever.soft.checkpoint import LEARNED, read_learned, write_learned
from conspectus.query.methods.gretriever.soft.graph_encodings import Encode, encoded
from conspectus.query.methods.gretriever.soft.prompt import SoftInput, SoftPrompt
from conspectus.storage.errors import SettingsError

if TYPE_CHECKING:
    import torch
    from conspectus.query.methods.gretriever.soft.prompt import SoftPrompt

from conspectus.pipelines.train.gretriever.plan import STATE, read_state, write_state

_MOST_GRADIENT = 1.0
"""Maximum norm of the gradient, which is large in the first steps of a deep encoder."""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class SeedTraining:
    """Everything that the training of one seed needs."""

    data: GraphQa
    encode: Encode
    plan: SoftPromptPlan
    seed: int
    folder: Path
    tell: Tell

    def run(self, prompt: SoftPrompt) -> SeedRun:
        """Train, or resume a stopped run in the folder; the folder then has the parameters of the best epoch.

        The same data, plan, model and machine give the same result, resumed or not (on CUDA up to the order of sums).

        Raises:
            SettingsError: The learning rate is so high that the loss is not finite.
        """
        learned = sum(value.numel() for value in prompt.learned().values())
        frozen = sum(parameter.numel() for parameter in prompt.model.parameters() if not parameter.requires_grad)
        self.tell(f"seed {self.seed}: {learned:,} parameters are trained, {frozen:,} frozen, on {prompt.device}")
        epochs = self._learn(prompt)
        kept = best_epoch(epochs)
        read_learned(prompt, self.folder / LEARNED)
        prompt.eval()
        test = self.data.test
        texts = self._written(prompt, test, test)
        score = fmean([self.data.score(text, item) for text, item in zip(texts, test, strict=True)])
        lenient = fmean([self.data.lenient(text, item) for text, item in zip(texts, test, strict=True)])
        half = len(test) // 2
        moved = [*test[half:], *test[:half]]  # far apart: questions about the same image are neighbours
        others = self._written(prompt, test, moved)
        shuffled = fmean([self.data.score(text, item) for text, item in zip(others, test, strict=True)])
        early = " (stopped early)" if len(epochs) < self.plan.epochs else ""
        self.tell(f"seed {self.seed}: epoch {kept.number} of {len(epochs)}{early} kept, {self.data.metric} {score:.4f}")
        return SeedRun(self.seed, kept.number, tuple(epochs), score, lenient, shuffled, learned, frozen)

    def _learn(self, prompt: SoftPrompt) -> list[SoftPromptEpoch]:
        plan, state = self.plan, self.folder / STATE
        steps = torch.optim.AdamW(
            list(prompt.learned().values()), lr=plan.learning_rate, weight_decay=plan.weight_decay
        )
        epochs = read_state(state, prompt, steps) if state.is_file() else []
        while not is_over(plan, epochs):
            began = time.perf_counter()
            number = len(epochs) + 1
            learning = self._epoch(prompt, steps, number)
            validation = self._loss(prompt)
            if not isfinite(learning + validation):
                raise SettingsError(
                    f"the loss of epoch {number} is {learning}, that of validation {validation}: "
                    f"train_gretriever.learning_rate {plan.learning_rate:g} is too large here"
                )
            epochs.append(SoftPromptEpoch(number, learning, validation, time.perf_counter() - began))
            if best_epoch(epochs).number == number:
                write_learned(prompt, self.folder / LEARNED)
            write_state(state, prompt, steps, epochs)
            self.tell(f"seed {self.seed}, epoch {number}: training loss {learning:.4f}, validation {validation:.4f}")
        return epochs

    def _epoch(self, prompt: SoftPrompt, steps: torch.optim.Optimizer, number: int) -> float:
        """Train for one epoch, in a random order; return the mean loss."""
        order = list(self.data.training)
        random.Random(self.seed * 1000 + number).shuffle(order)  # noqa: S311
        prompt.train()
        losses = []
        parts: Any = list(prompt.learned().values())
        for start in range(0, len(order), self.plan.batch):
            for group in steps.param_groups:
                group["lr"] = step_size(self.plan, number - 1 + (start + self.plan.batch / 2) / len(order))
            loss = self._loss_of(prompt, order[start : start + self.plan.batch])
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parts, _MOST_GRADIENT)
            steps.step()
            steps.zero_grad()
            losses.append(float(loss.detach()))
        return fmean(losses)

    def _loss(self, prompt: SoftPrompt) -> float:
        """Return the mean loss over the validation questions."""
        prompt.eval()
        with torch.inference_mode():
            parts = _batches(self.data.validation, self.plan.batch)
            losses = [float(self._loss_of(prompt, part)) * len(part) for part in parts]
        return sum(losses) / len(self.data.validation)

    def _loss_of(self, prompt: SoftPrompt, part: Sequence[GraphQuestion]) -> torch.Tensor:
        asked = [self._input(item, item) for item in part]
        return prompt.loss(asked, [self.data.target(item) for item in part])

    def _written(
        self, prompt: SoftPrompt, asked: Sequence[GraphQuestion], graphs: Sequence[GraphQuestion]
    ) -> list[str]:
        """Return the generated answers, each question with its own graph or with that of another."""
        pairs = [self._input(one, other) for one, other in zip(asked, graphs, strict=True)]
        return [text for part in _batches(pairs, self.plan.batch) for text in prompt.write(part)]

    def _input(self, asked: GraphQuestion, of: GraphQuestion) -> SoftInput:
        return SoftInput(encoded(of.graph, self.encode), of.graph.to_text(), asked.question)


def _batches(items: Sequence[_T], size: int) -> list[Sequence[_T]]:
    return [items[start : start + size] for start in range(0, len(items), size)]
