"""Making a prize-collecting Steiner tree problem smaller, with the same optimum.

A node whose cheapest edge costs no more than the prizes at both its ends can be taken as one with its neighbour: a
best tree that holds one of the two may as well hold both, joined by that edge (the minimum adjacency test: Duin,
Volgenant 1987, "Some generalizations of the Steiner problem in graphs"; for prizes: Uchoa 2006, "Reduction tests for
the prize-collecting Steiner problem"). All nodes of a round do so at once, as in Borůvka's algorithm for spanning
trees.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Contracted:
    """A smaller problem: `ends` (k, 2) and `costs` (k,) of its edges, `prizes` (g,) of its nodes.

    `rows` (k,) are its edges in the problem it was made from, `taken` (t,) the edges inside its nodes.
    """

    ends: Rows
    costs: Floats
    prizes: Floats
    rows: Rows
    taken: Rows


def contract(ends: Rows, costs: Floats, prizes: Floats) -> Contracted:
    """Return the problem with all that can be told beforehand made one; of parallel edges the cheapest is left."""
    rows = np.arange(len(costs))
    taken: list[Rows] = []
    while True:
        ends, rows = _simple(ends, costs[rows], rows, len(prizes))
        chosen = _worth_it(ends, costs[rows], prizes)
        if not len(chosen):
            joined = np.concatenate([np.empty(0, np.int64), *taken])
            return Contracted(ends, costs[rows], prizes, rows, joined)
        group = _groups(len(prizes), ends[chosen])
        taken.append(rows[chosen])
        together = np.bincount(group, prizes)
        spent = np.bincount(group[ends[chosen, 0]], costs[rows[chosen]], minlength=len(together))
        ends, prizes = group[ends], np.maximum(together - spent, 0.0)


def _simple(ends: Rows, costs: Floats, rows: Rows, n_nodes: int) -> tuple[Rows, Rows]:
    """Return edges without loops, and of parallel ones the cheapest, ties by row."""
    ends = np.sort(ends, axis=1)
    order = np.lexsort((rows, costs, ends[:, 0] * n_nodes + ends[:, 1]))
    order = order[ends[order, 0] != ends[order, 1]]
    ends, rows = ends[order], rows[order]
    first = np.ones(len(ends), bool)
    first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    return ends[first], rows[first]


def _worth_it(ends: Rows, costs: Floats, prizes: Floats) -> Rows:
    """Return the edges that are the cheapest at one of their nodes, ties by row, and worth it for both."""
    at = ends.T.reshape(-1)
    edge = np.tile(np.arange(len(costs)), 2)
    order = np.lexsort((edge, costs[edge], at))
    _, first = np.unique(at[order], return_index=True)
    cheapest = np.unique(edge[order[first]])
    least: Floats = prizes[ends[cheapest]].min(axis=1, initial=np.inf)
    return cheapest[costs[cheapest] <= least]


def _groups(n_nodes: int, ends: Rows) -> Rows:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    _, groups = connected_components(joined, directed=False)
    return np.array(groups, np.int64)
