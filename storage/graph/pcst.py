"""Prize-collecting Steiner trees: connected subgraphs that maximise prizes minus edge costs.

Four steps: reduce the graph without changing the optimum (`pcst_reduction`), grow moats around the prizes
(`pcst_growth`, Goemans and Williamson), keep the best subtree of the resulting forest (`steiner_pruning`),
and improve it by local search if prizes are few (`pcst_local_search`).
"""

import numpy as np
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pcst_growth import grow
from conspectus.storage.graph.pcst_local_search import improved
from conspectus.storage.graph.pcst_pruning import SteinerTree, best_subtree
from conspectus.storage.graph.pcst_reduction import contract
from numpy.typing import ArrayLike

_MOST_PRIZES = 100
"""Local search runs for up to this many prizes."""
_MOST_REACHED = 2_000_000
"""Local search runs up to this product of prizes with edges and nodes: it needs all distances from each prize."""


def prize_collecting_tree(ends: ArrayLike, costs: ArrayLike, prizes: ArrayLike) -> SteinerTree:
    """Return a 2-approximate tree: its cost plus the prizes outside it is at most twice the optimum.

    Near-linear in the edges. The same input gives the same tree; without any prize it is empty.

    Args:
        ends: int (m, 2), the two nodes of each edge; parallel edges and loops are allowed.
        costs: float (m,), not negative.
        prizes: float (n,), not negative.

    Raises:
        ValueError: The shapes do not match, a node does not exist, or a number is negative or infinite.
    """
    joined = np.asarray(ends, np.int64).reshape(-1, 2)
    takes = np.asarray(costs, np.float64)
    worth = np.asarray(prizes, np.float64)
    _check(joined, takes, worth)
    if not worth.any():
        return SteinerTree(np.empty(0, np.int64), np.empty(0, np.int64), 0.0)
    small = contract(joined, takes, worth)
    grown = grow(small.ends, small.costs, small.prizes)
    tree = best_subtree(small.ends, small.costs, small.prizes, grown)
    prized = int(np.count_nonzero(small.prizes))
    if prized <= _MOST_PRIZES and prized * (len(small.rows) + len(small.prizes)) <= _MOST_REACHED:
        tree = improved(small.ends, small.costs, small.prizes, tree)
    return best_subtree(joined, takes, worth, np.concatenate([small.taken, small.rows[tree.edges]]))


def _check(ends: Rows, costs: Floats, prizes: Floats) -> None:
    if costs.shape != (len(ends),) or prizes.ndim != 1:
        raise ValueError(f"{len(ends)} edges have costs of shape {costs.shape}, and prizes have shape {prizes.shape}")
    if ends.size and not (ends.min() >= 0 and ends.max() < len(prizes)):
        raise ValueError(f"an edge has a node outside 0 .. {len(prizes) - 1}")
    for name, numbers in (("cost", costs), ("prize", prizes)):
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError(f"a {name} is negative or not finite")
