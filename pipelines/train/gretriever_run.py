"""One seed of a training: a soft graph prompt learns, epoch by epoch, and can be stopped and gone on with."""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from pipelines.evaluation.graphqa import GraphQa, GraphQuestion
from pipelines.train.gretriever_plan import Epoch, Plan, SeedRun, Tell, best_epoch, is_over, mean, step_size
from pipelines.train.gretriever_state import read_state, write_state
from query.subgraph.graph_encodings import Encode, encoded
from query.subgraph.soft_checkpoint import LEARNED, read_learned, write_learned
from query.subgraph.soft_prompt import SoftInput, SoftPrompt

_STATE = "state.safetensors"
_MOST_GRADIENT = 1.0
"""Longest gradient of all learned parts together: the first steps of a deep encoder are wild."""


@dataclass(frozen=True, slots=True)
class SeedTraining:
    """What one seed's training is made of."""

    data: GraphQa
    encode: Encode
    plan: Plan
    seed: int
    folder: Path
    tell: Tell

    def run(self, prompt: SoftPrompt) -> SeedRun:
        """Train, or go on where a run in the folder was stopped; the folder then holds the best epoch's parts.

        The same data, plan, model and machine give the same numbers, stopped or not (on CUDA up to the order of sums).
        """
        epochs = self._learn(prompt)
        kept = best_epoch(epochs)
        read_learned(prompt, self.folder / LEARNED)
        prompt.eval()
        test = self.data.test
        score = self._score(prompt, test, test)
        half = len(test) // 2
        moved = [*test[half:], *test[:half]]  # far away: questions about one image stand side by side
        shuffled = self._score(prompt, test, moved)
        self.tell(f"seed {self.seed}: epoch {kept.number} kept, {self.data.metric} {score:.4f}")
        (self.folder / _STATE).unlink(missing_ok=True)
        return SeedRun(self.seed, kept.number, tuple(epochs), score, shuffled)

    def _learn(self, prompt: SoftPrompt) -> list[Epoch]:
        plan, state = self.plan, self.folder / _STATE
        steps = torch.optim.AdamW(
            list(prompt.learned().values()), lr=plan.learning_rate, weight_decay=plan.weight_decay
        )
        epochs = read_state(state, prompt, steps) if state.is_file() else []
        while not is_over(plan, epochs):
            began = time.perf_counter()
            number = len(epochs) + 1
            learning = self._epoch(prompt, steps, number)
            validation = self._loss(prompt)
            epochs.append(Epoch(number, learning, validation, time.perf_counter() - began))
            if best_epoch(epochs).number == number:
                write_learned(prompt, self.folder / LEARNED)
            write_state(state, prompt, steps, epochs)
            self.tell(f"seed {self.seed}, epoch {number}: training loss {learning:.4f}, validation {validation:.4f}")
        return epochs

    def _epoch(self, prompt: SoftPrompt, steps: torch.optim.Optimizer, number: int) -> float:
        """Pass over the questions once, in an order drawn for the epoch; return the mean loss."""
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
        return mean(losses)

    def _loss(self, prompt: SoftPrompt) -> float:
        """Return the mean loss over the questions to validate with."""
        prompt.eval()
        with torch.inference_mode():
            parts = _batches(self.data.validation, self.plan.batch)
            losses = [float(self._loss_of(prompt, part)) * len(part) for part in parts]
        return sum(losses) / len(self.data.validation)

    def _loss_of(self, prompt: SoftPrompt, part: Sequence[GraphQuestion]) -> torch.Tensor:
        asked = [self._input(each, each) for each in part]
        return prompt.loss(asked, [self.data.target(each) for each in part])

    def _score(self, prompt: SoftPrompt, asked: Sequence[GraphQuestion], graphs: Sequence[GraphQuestion]) -> float:
        """Return the metric of questions asked with the graphs of others, or with their own."""
        scores: list[float] = []
        for part, beside in zip(_batches(asked, self.plan.batch), _batches(graphs, self.plan.batch), strict=True):
            texts = prompt.write([self._input(one, other) for one, other in zip(part, beside, strict=True)])
            scores += [self.data.score(text, each) for text, each in zip(texts, part, strict=True)]
        return mean(scores)

    def _input(self, asked: GraphQuestion, of: GraphQuestion) -> SoftInput:
        return SoftInput(encoded(of.graph, self.encode), of.graph.to_text(), asked.question)


def _batches(questions: Sequence[GraphQuestion], size: int) -> list[Sequence[GraphQuestion]]:
    return [questions[start : start + size] for start in range(0, len(questions), size)]
