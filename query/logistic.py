"""Logistic regressions whose weights are learned by a command and stored beside the code that uses them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import exp
from typing import Any

import numpy as np
from conspectus.storage.arrays import Floats


@dataclass(frozen=True, slots=True)
class Logistic:
    """A logistic regression: weights of features, and the constant."""

    weights: Floats
    constant: float

    @classmethod
    def of(cls, stored: Mapping[str, Any], features: Sequence[str]) -> "Logistic":
        """Return a regression from its stored weights by name and its constant; `features` are in order."""
        return cls(np.array([stored["weights"][name] for name in features]), stored["constant"])

    def logits(self, features: Floats) -> Floats:
        """Return the logit of each row of features, or of one row."""
        found: Floats = features @ self.weights + self.constant
        return found


def stored_weights(package: str, file: str) -> dict[str, Any]:
    """Return what a command has stored in a package."""
    found: dict[str, Any] = json.loads(files(f"conspectus.{package}").joinpath(file).read_text("utf-8"))
    return found


def probability(logit: float) -> float:
    """Return the probability of a logit."""
    return 1 / (1 + exp(-max(-30.0, min(30.0, logit))))
