"""The best connected part of a forest: prizes less costs, exactly.

Johnson, Minkoff, Phillips 2000, "The prize collecting Steiner tree problem", section 3 (strong pruning), over all
choices of the top.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class SteinerTree:
    """A tree: its nodes (t,) and its edges (t - 1,), rows of what was given, sorted; `profit` is prizes less costs."""

    nodes: Rows
    edges: Rows
    profit: float


def best_subtree(ends: Rows, costs: Floats, prizes: Floats, forest: Rows) -> SteinerTree:
    """Return the subtree of a forest (rows of edges) with the most prize less cost, exactly.

    A node's value is its prize and what the subtrees below it bring beyond the edge that leads there; the best subtree
    is what hangs on the node of greatest value. Ties go to the lowest node.
    """
    beside: dict[int, list[tuple[int, int]]] = {}
    for edge, (one, other) in zip(forest.tolist(), ends[forest].tolist(), strict=True):
        beside.setdefault(one, []).append((other, edge))
        beside.setdefault(other, []).append((one, edge))
    value: list[float] = prizes.tolist()
    edge_up: dict[int, int] = {}
    taken: dict[int, list[int]] = {}
    seen: set[int] = set()
    for top in sorted(beside):
        if top in seen:
            continue
        seen.add(top)
        order = [top]
        above = {top: top}
        for node in order:
            for other, edge in beside[node]:
                if other not in seen:
                    seen.add(other)
                    above[other] = node
                    edge_up[other] = edge
                    order.append(other)
        for node in reversed(order[1:]):
            brings = value[node] - float(costs[edge_up[node]])
            if brings > 0:
                value[above[node]] += brings
                taken.setdefault(above[node], []).append(node)
    best = int(np.argmax(value))
    nodes = [best]
    edges: list[int] = []
    for node in nodes:
        for below in taken.get(node, ()):
            nodes.append(below)
            edges.append(edge_up[below])
    return SteinerTree(np.sort(np.array(nodes, np.int64)), np.sort(np.array(edges, np.int64)), value[best])
