"""The passages that are ranked after a walk, and what they have of it: mass, and a tail for what is near in text."""

from collections.abc import Iterable

import numpy as np
from conspectus.query.methods.ppr.seeds import TextScores, margins, share
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pagerank import PageRank

_TAIL = 0.003
"""Score that the passage nearest in words and meaning has at the least, so that it is in the pool."""
_LED_MASS = 0.06
"""What the passages that a second hop leads to have together, as if a walk had brought it there."""
_LED = 5
"""Passages that share it."""


def best_chunks(walk: PageRank, near: TextScores, n_chunks: int, count: int) -> Rows:
    """Return the `count` chunk rows of the largest prior, best first, ties by chunk id."""
    rows = np.union1d(walk.nodes[walk.nodes < n_chunks], near.rows)
    return rows[np.argsort(-priors(walk, near, rows), kind="stable")[:count]]  # rows ascend


def with_others(pool: Rows, others: Iterable[Rows]) -> Rows:
    """Return the pool, and after it the rows of the others that are not in it."""
    more = list(others)
    return np.concatenate([pool, np.setdiff1d(np.concatenate(more), pool)]) if more else pool


def priors(walk: PageRank, near: TextScores, rows: Rows) -> Floats:
    """Return the prior of chunk rows: the walk's score, and a tail for those near to the question."""
    tail = _TAIL * (near.scores / near.scores.max(initial=1e-9)) ** 4
    found: Floats = _looked_up(rows, walk.nodes, walk.scores) + _looked_up(rows, near.rows, tail)
    return found


def led_mass(rows: Rows, fit: Floats) -> Floats:
    """Return (n,) the mass that a second hop gives the best of `fit` (n,), each by how far it is above the next."""
    best, above = margins(np.arange(len(rows)), fit, _LED)
    found = np.zeros(len(rows))
    found[best] = share(_LED_MASS, above)
    return found


def _looked_up(rows: Rows, known: Rows, values: Floats) -> Floats:
    """Return the value of each row, `known` being ascending; 0 where it is not known."""
    if not len(known):
        return np.zeros(len(rows))
    at = np.minimum(np.searchsorted(known, rows), len(known) - 1)
    found: Floats = np.where(known[at] == rows, values[at], 0.0)
    return found
