"""Prize-collecting Steiner trees: connected subgraphs that maximise prizes minus edge costs.

Two steps: grow moats around the prizes (`pcst_growth`, Goemans and Williamson), and keep the best subtree of the
resulting forest (`pcst_pruning`).
"""

import numpy as np
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pcst_growth import grow
from conspectus.storage.graph.pcst_pruning import SteinerTree, best_subtree
from numpy.typing import ArrayLike


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
    return best_subtree(joined, takes, worth, grow(joined, takes, worth))


def _check(ends: Rows, costs: Floats, prizes: Floats) -> None:
    if costs.shape != (len(ends),) or prizes.ndim != 1:
        raise ValueError(f"{len(ends)} edges have costs of shape {costs.shape}, and prizes have shape {prizes.shape}")
    if ends.size and not (ends.min() >= 0 and ends.max() < len(prizes)):
        raise ValueError(f"an edge has a node outside 0 .. {len(prizes) - 1}")
    for name, numbers in (("cost", costs), ("prize", prizes)):
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError(f"a {name} is negative or not finite")
