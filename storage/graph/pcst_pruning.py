"""Strong pruning: the most profitable subtree of a forest, exactly.

Johnson, Minkoff, Phillips 2000, "The prize collecting Steiner tree problem", section 3 (strong pruning), over all
choices of the top.
"""

from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Floats, Rows


@dataclass(frozen=True, slots=True, eq=False)
class SteinerTree:
    """A tree: its node rows (t,) and edge rows (t - 1,), ascending; `profit` is the prizes minus the costs."""

    nodes: Rows
    edges: Rows
    profit: float


def best_subtree(ends: Rows, costs: Floats, prizes: Floats, forest: Rows) -> SteinerTree:
    """Return the subtree of a forest (edge rows) with the highest sum of prizes minus costs, exactly.

    A node's value is its prize plus, for each subtree below it, its value minus the cost of the edge to it if that is
    positive; the best subtree is that of the node with the highest value. Ties go to the lowest node. Isolated nodes
    are trees of one node.
    """
    if not len(forest):
        best = int(np.argmax(prizes))
        return SteinerTree(np.array([best], np.int64), np.empty(0, np.int64), float(prizes[best]))
    names, places = np.unique(ends[forest].T, return_inverse=True)  # below, nodes are positions in this array
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
