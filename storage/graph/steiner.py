"""Prize-collecting Steiner trees: the connected part of a graph whose prizes are worth its edges.

Four steps: reduce the graph without changing the optimum (`steiner_reduction`), grow moats around the prizes
(`steiner_growth`, Goemans and Williamson), keep the best subtree of the forest that they paid for (strong pruning),
and improve it by local search where prizes are few (`steiner_local_search`).
"""

from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.steiner_growth import grow
from conspectus.storage.graph.steiner_local_search import improved
from conspectus.storage.graph.steiner_reduction import contract
from numpy.typing import ArrayLike

_MOST_PRIZES = 100
"""Prizes up to which other trees are tried: each looks at all of them."""
_MOST_REACHED = 2_000_000
"""Prizes times edges and nodes up to which other trees are tried: the distances of each prize to all are needed."""


@dataclass(frozen=True, slots=True, eq=False)
class SteinerTree:
    """A tree: its nodes (t,) and its edges (t - 1,), rows of what was given, sorted; `profit` is prizes less costs."""

    nodes: Rows
    edges: Rows
    profit: float


def prize_collecting_tree(ends: ArrayLike, costs: ArrayLike, prizes: ArrayLike) -> SteinerTree:
    """Return a tree with much prize for its cost; what it costs and leaves out is at most twice the least possible.

    Near-linear in the edges. The same input gives the same tree; without any prize it is empty.

    Args:
        ends: int (m, 2), the nodes that each edge joins; parallel edges and loops may be among them.
        costs: float (m,), not negative.
        prizes: float (n,), not negative.

    Raises:
        ValueError: shapes that do not fit, a node that is not there, a negative or infinite number.
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
        raise ValueError(f"an edge joins a node that is none of the {len(prizes)}")
    for name, numbers in (("cost", costs), ("prize", prizes)):
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError(f"a {name} is negative or not finite")


def best_subtree(ends: Rows, costs: Floats, prizes: Floats, forest: Rows) -> SteinerTree:
    """Return the subtree of a forest (rows of edges) with the most prize less cost, exactly (strong pruning).

    Johnson, Minkoff, Phillips 2000, "The prize collecting Steiner tree problem", section 3, for every possible root.

    A node's value is its prize and what the subtrees below it bring beyond the edge that leads there; the best subtree
    is what hangs on the node of greatest value. Ties go to the lowest node. A node that no edge of the forest joins
    counts alone.
    """
    if not len(forest):
        best = int(np.argmax(prizes))
        return SteinerTree(np.array([best], np.int64), np.empty(0, np.int64), float(prizes[best]))
    names, places = np.unique(ends[forest].T, return_inverse=True)  # from here on a node is its place among these
    at = places.reshape(-1)
    order = np.argsort(at, kind="stable")
    starts: list[int] = np.searchsorted(at[order], np.arange(len(names) + 1)).tolist()
    beside: list[int] = at[order - len(forest)].tolist()  # the other end: half of the list further on, or back
    edge: list[int] = (order % len(forest)).tolist()
    value: list[float] = prizes[names].tolist()
    cost: list[float] = costs[forest].tolist()
    reached: list[int] = []
    above, edge_up = [-1] * len(value), [-1] * len(value)
    for top in range(len(value)):
        if above[top] >= 0:
            continue
        above[top] = top
        waiting = [top]
        for node in waiting:
            for place in range(starts[node], starts[node + 1]):
                other = beside[place]
                if above[other] < 0:
                    above[other], edge_up[other] = node, edge[place]
                    waiting.append(other)
        reached += waiting
    taken = [False] * len(value)
    for node in reversed(reached):
        if edge_up[node] >= 0 and (brings := value[node] - cost[edge_up[node]]) > 0:
            value[above[node]] += brings
            taken[node] = True
    best, alone = int(np.argmax(value)), int(np.argmax(prizes))
    if prizes[alone] > value[best]:
        return SteinerTree(np.array([alone], np.int64), np.empty(0, np.int64), float(prizes[alone]))
    nodes = [best]
    for node in nodes:
        nodes += [other for other in beside[starts[node] : starts[node + 1]] if taken[other] and above[other] == node]
    edges = np.array([edge_up[node] for node in nodes[1:]], np.int64)
    return SteinerTree(names[np.sort(np.array(nodes, np.int64))], np.sort(forest[edges]), value[best])
