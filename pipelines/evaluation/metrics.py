"""What is measured, one number a question, and how sure the mean is."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean with its bootstrap 95 % interval."""

    mean: float
    low: float
    high: float


def recall_at(k: int, ranked: Sequence[str], supporting: Sequence[str]) -> float:
    """Return the share of supporting documents among the first k.

    >>> recall_at(2, ["a", "x", "b"], ["a", "b"])
    0.5
    """
    return len(set(ranked[:k]) & set(supporting)) / len(set(supporting))


def all_at(k: int, ranked: Sequence[str], supporting: Sequence[str]) -> float:
    """Return 1 where every supporting document is among the first k, else 0.

    >>> all_at(3, ["a", "x", "b"], ["a", "b"])
    1.0
    """
    return float(set(supporting) <= set(ranked[:k]))


def rank_documents(document_ids: Sequence[str]) -> list[str]:
    """Rank documents by their best passage.

    >>> rank_documents(["a", "b", "a", "c"])
    ['a', 'b', 'c']
    """
    return list(dict.fromkeys(document_ids))


def bootstrap(values: Sequence[float], resamples: int = 1000, seed: int = 7) -> Interval:
    """Return the mean and its percentile bootstrap 95 % interval (Efron 1979): questions drawn with replacement."""
    data = np.asarray(values, float)
    draws = np.random.default_rng(seed).integers(0, len(data), (resamples, len(data)))
    low, high = np.percentile(data[draws].mean(axis=1), [2.5, 97.5])
    return Interval(float(data.mean()), float(low), float(high))
