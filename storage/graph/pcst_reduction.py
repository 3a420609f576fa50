"""Reduction of prize-collecting Steiner tree instances that preserves the optimum.

If a node's cheapest edge costs no more than the prize at either end, the node can be merged with its neighbour: an
optimal tree that contains one of the two can contain both, joined by that edge (the minimum adjacency test: Duin,
Volgenant 1987, "Some generalizations of the Steiner problem in graphs"; for prizes: Uchoa 2006, "Reduction tests for
the prize-collecting Steiner problem"). All nodes are merged in rounds, as in Borůvka's algorithm for spanning trees.
Then dominated edges are removed: those that cost at least as much as two cheaper edges over a third node, minus its
prize (Uchoa's special distance, over one node).
"""

from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Bools, Floats, Rows

_THIRDS = 16
"""Number of third nodes that an edge is tested with, along the cheapest edges of its end of lower degree."""


@dataclass(frozen=True, slots=True, eq=False)
class Contracted:
    """A smaller problem: `ends` (k, 2) and `costs` (k,) of its edges, `prizes` (g,) of its nodes.

    `rows` (k,) are its edges as rows of the original problem, cheapest first, `taken` (t,) the merged edges.
    """

    ends: Rows
    costs: Floats
    prizes: Floats
    rows: Rows
    taken: Rows


def contract(ends: Rows, costs: Floats, prizes: Floats) -> Contracted:
    """Return the reduced instance: forced merges contracted, dominated edges removed."""
    rows = np.argsort(costs, kind="stable")  # below, the position of an edge is its rank by cost, then by row
    ends = ends[rows]
    taken: list[Rows] = []
    while True:
        apart = ends[:, 0] != ends[:, 1]
        ends, rows = ends[apart], rows[apart]
        chosen = _worth_it(ends, costs[rows], prizes)
        if not len(chosen):
            first = _of_parallel(ends, len(prizes))
            ends, rows = ends[first], rows[first]
            needed = ~_needless(ends, costs[rows], prizes)
            ends, rows = ends[needed], rows[needed]
            joined = np.concatenate([np.empty(0, np.int64), *taken])
            return Contracted(ends, costs[rows], prizes, rows, joined)
        group = _groups(len(prizes), ends[chosen])
        taken.append(rows[chosen])
        together = np.bincount(group, prizes)
        spent = np.bincount(group[ends[chosen, 0]], costs[rows[chosen]], minlength=len(together))
        ends, prizes = group[ends], np.maximum(together - spent, 0.0)


def _of_parallel(ends: Rows, n_nodes: int) -> Rows:
    """Return the positions of the edges, ascending; of parallel edges only the first."""
    _, first = np.unique(_keys(ends[:, 0], ends[:, 1], n_nodes), return_index=True)
    return np.sort(first)


def _keys(one: Rows, other: Rows, n_nodes: int) -> Rows:
    return np.minimum(one, other) * n_nodes + np.maximum(one, other)


def _worth_it(ends: Rows, costs: Floats, prizes: Floats) -> Rows:
    """Return the edges that are the cheapest at one end and cost no more than the prize at either end."""
    first = np.full(len(prizes), -1)
    first[ends[::-1].reshape(-1)] = np.repeat(
        np.arange(len(ends))[::-1], 2
    )  # assignments in reverse order: the first edge wins
    cheapest: Rows = np.unique(first[first >= 0])
    least: Floats = prizes[ends[cheapest]].min(axis=1, initial=np.inf)
    worth: Rows = cheapest[costs[cheapest] <= least]
    return worth


def _needless(ends: Rows, costs: Floats, prizes: Floats) -> Bools:
    """Return bool (k,): the edges dominated by two earlier edges over a third node and its prize.

    A tree with such an edge is no worse with one of the two, or with both and the third node. As they come earlier in
    the order, all dominated edges can be removed at once.
    """
    count, n = len(costs), len(prizes)
    gone = np.zeros(count, bool)
    if not count:
        return gone
    keys = _keys(ends[:, 0], ends[:, 1], n)
    by_key = np.argsort(keys)
    at, edge = ends.T.reshape(-1), np.tile(np.arange(count), 2)
    order = np.argsort(at * count + edge)  # at each node the cheapest first
    starts = np.searchsorted(at[order], np.arange(n + 1))
    beside, leads = ends[:, ::-1].T.reshape(-1)[order], edge[order]
    degree = np.diff(starts)
    cheapest = np.full(n, np.inf)
    cheapest[degree > 0] = costs[leads[starts[:-1][degree > 0]]]
    fewer = np.where(degree[ends[:, 0]] <= degree[ends[:, 1]], 0, 1)
    low, high = ends[np.arange(count), fewer], ends[np.arange(count), 1 - fewer]
    for place in range(_THIRDS):
        left = np.flatnonzero(~gone & (degree[low] > place))
        one, third = leads[starts[low[left]] + place], beside[starts[low[left]] + place]
        least = np.maximum(cheapest[third], cheapest[high[left]])  # lower bound on the cost of the second edge
        likely = (one < left) & (costs[one] + least - prizes[third] <= costs[left])
        left, one, third = left[likely], one[likely], third[likely]
        wanted = _keys(third, high[left], n)
        found = by_key[np.minimum(np.searchsorted(keys, wanted, sorter=by_key), count - 1)]
        cost = costs[one] + costs[found] - prizes[third]
        gone[left[(keys[found] == wanted) & (found < left) & (cost <= costs[left])]] = True
    return gone


def _groups(n_nodes: int, ends: Rows) -> Rows:
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    joined = coo_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_nodes, n_nodes))
    _, groups = connected_components(joined, directed=False)
    return np.array(groups, np.int64)
