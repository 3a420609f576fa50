"""Incremental Leiden: a community hierarchy updated after a change of the graph, stable where nothing changed.

A fresh run of Leiden can partition a graph quite differently after one more document. Here only nodes whose edges
changed may move, to existing communities or to new ones; a community without changed members retains its
subcommunities. Restricting moves to the nodes around a change is the dynamic frontier approach of Sahu, "A Starting
Point for Dynamic Community Detection with Leiden Algorithm" (2024).
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from conspectus.storage.arrays import Bools, Ints
from conspectus.storage.graph.edges import Edges
from conspectus.storage.graph.leiden import Hierarchy, divided, hierarchical_leiden, modularity
from numpy.typing import NDArray

if TYPE_CHECKING:
    from scipy.sparse import csr_array

Labels = NDArray[np.int64]
"""int64 (n,), the label of each node; -1 for a new node."""

MOST_LOST, MOST_LOST_BELOW = 0.01, 0.05
"""Tolerated loss of modularity on the coarsest level, which is optimised for it, and on the levels below, which only
split oversized communities: there two fresh runs differ by some percent (`python -m benchmarks.updating --rings`)."""
_LEAST_GAIN = 1e-9
"""Gain in weight from which a node moves: less is rounding, and could go back and forth."""


def changed_nodes(now: Edges, before: Edges, row_now: Labels) -> Bools:
    """Return bool (n,): the nodes of the graph `now` with an edge or edge weight that differs from `before`.

    Args:
        now: The edges of the current graph.
        before: The edges of the earlier graph.
        row_now: int64, the node of `now` for each node of `before`, -1 for a removed node.
    """
    changed = np.zeros(now.n_nodes, bool)
    lower, upper = row_now[before.lower], row_now[before.upper]
    gone = (lower < 0) | (upper < 0)
    ends = np.concatenate([lower[gone], upper[gone]])
    changed[ends[ends >= 0]] = True
    lower, upper, weights = lower[~gone], upper[~gone], before.weights[~gone]
    old_keys = np.minimum(lower, upper) * now.n_nodes + np.maximum(lower, upper)
    new_keys = now.lower.astype(np.int64) * now.n_nodes + now.upper
    _, old_places, new_places = np.intersect1d(old_keys, new_keys, assume_unique=True, return_indices=True)
    same = np.isclose(weights[old_places], now.weights[new_places], rtol=1e-6, atol=0.0)
    for keys, kept in ((old_keys, old_places[same]), (new_keys, new_places[same])):
        rest = np.delete(keys, kept)
        changed[rest // max(now.n_nodes, 1)] = True
        changed[rest % max(now.n_nodes, 1)] = True
    return changed


def updated_leiden(
    edges: Edges,
    before: Sequence[Labels],
    changed: Bools,
    *,
    seed: int,
    max_cluster_size: int,
    resolution: float = 1.0,
) -> Hierarchy:
    """Return an update of an earlier hierarchy, with every community that can be split within `max_cluster_size`.

    The result is deterministic, and every community is connected. The moving is our own: of the libraries, only those
    under the GPL (leidenalg) can keep nodes where they are.

    Args:
        edges: The edges of the current graph.
        before: The labels of each level of the earlier hierarchy, coarsest first, at least one level; -1 for a new
            node.
        changed: bool (n,), the nodes with changed edges (see `changed_nodes`).
        seed: As for `hierarchical_leiden`.
        max_cluster_size: As for `hierarchical_leiden`.
        resolution: As for `hierarchical_leiden`.
    """
    whole = _Subgraph(np.arange(edges.n_nodes), edges)
    sizes = [np.bincount(item[item >= 0]) for item in before]
    dividing = _Dividing(before, sizes, changed, seed, resolution)
    return divided(edges, dividing.first(whole), dividing.further, max_cluster_size)


def losses(fresh: Hierarchy, updated: Hierarchy, edges: Edges, resolution: float = 1.0) -> list[float]:
    """Return the relative loss of modularity of the updated hierarchy against a fresh one, for each level of both.

    Levels that only one of them has are ignored: each further level splits communities and so lowers modularity.
    """
    found = []
    for level in range(min(len(fresh.levels), len(updated.levels))):
        new, old = (modularity(edges, item.levels[level], resolution) for item in (fresh, updated))
        found.append((new - old) / abs(new) if new else -old)
    return found


def is_worse(found: Sequence[float]) -> bool:
    """Return whether the losses of an update (see `losses`) exceed chance, so that a fresh hierarchy is better."""
    return found[0] > MOST_LOST or max(found) > MOST_LOST_BELOW


@dataclass(frozen=True, slots=True)
class _Subgraph:
    """A subgraph: its nodes (ascending), and its edges by positions in `nodes`."""

    nodes: Labels
    edges: Edges

    def matrix(self) -> "csr_array":
        """Return the symmetric weights."""
        from scipy.sparse import csr_array

        lower, upper = self.edges.lower, self.edges.upper
        ends = (np.concatenate([lower, upper]), np.concatenate([upper, lower]))
        weights = np.tile(self.edges.weights.astype(np.float64), 2)
        return csr_array((weights, ends), shape=(len(self.nodes), len(self.nodes)))


@dataclass(frozen=True, slots=True)
class _Dividing:
    """Divides subgraphs, given the earlier hierarchy; `sizes[l]` counts the nodes of each label of level l."""

    before: Sequence[Labels]
    sizes: Sequence[Labels]
    changed: Bools
    seed: int
    resolution: float

    def first(self, whole: _Subgraph) -> Labels:
        """Return the communities of the coarsest level."""
        new = self.before[0] < 0
        return self._moved(whole, _apart(self.before[0], new), new | self.changed)

    def further(self, nodes: Ints, edges: Edges, level: int) -> Labels | None:
        """Return the division of a community, labels 0, 1, ... by position; None if it is not split."""
        part = _Subgraph(nodes, edges)
        deepest = len(self.before) - 1
        own = self.before[min(level, deepest)][nodes]
        inner = self.before[min(level + 1, deepest)][nodes]
        sizes = self.sizes[min(level, deepest)]
        main = _most_frequent(own)
        foreign = own != main
        if main >= 0 and sizes[main] == len(nodes) and not foreign.any() and not self.changed[nodes].any():
            return numbered(inner) if (inner != inner[0]).any() else None
        found = np.zeros(len(nodes), np.int64)
        if len(np.unique(inner[~foreign])) > 1:
            found = self._moved(part, _apart(inner, foreign), foreign | self.changed[nodes])
        if not found.any():
            found = self._moved(part, np.arange(len(nodes)), np.ones(len(nodes), bool))
        return found if found.any() else None

    def _moved(self, part: _Subgraph, labels: Labels, free: Bools) -> Labels:
        """Return connected communities after moving the `free` nodes to increase modularity."""
        start = _connected(part, labels)
        if not free.any():
            return start
        if free.all():
            whole = hierarchical_leiden(
                part.edges, seed=self.seed, max_cluster_size=len(free), resolution=self.resolution
            )
            return numbered(whole.levels[0].astype(np.int64))
        return _connected(part, moved_nodes(part.matrix(), start, free, self.resolution))


def moved_nodes(
    graph: "csr_array",
    labels: Labels,
    free: Bools,
    resolution: float = 1.0,
    most: int | None = None,
    sizes: Labels | None = None,
) -> Labels:
    """Return communities after moving some nodes, and communities of nothing but such nodes, to increase modularity.

    The local moving of Leiden and Louvain, in which the other nodes stay; then the same on the graph of communities,
    of which those that hold a node that stays are fixed. Both are repeated until nothing moves. The queue of nodes
    whose neighbours have moved is that of Traag et al. (2019, section 2.2); nodes begin in ascending order.

    Args:
        graph: (n, n) symmetric weights; what is on the diagonal counts twice, as the sum over ordered pairs.
        labels: (n,) communities, 0, 1, ...
        free: (n,) the nodes that may move.
        resolution: Resolution of modularity.
        most: The size that no community may exceed by a move; None for any.
        sizes: (n,) the size of each node; None if each is 1.
    """
    from scipy.sparse import csr_array

    sizes = np.ones(len(labels), np.int64) if sizes is None else sizes
    most = int(sizes.sum()) if most is None else most
    while True:
        moved = numbered(_local_moves(graph, labels, free, resolution, most, sizes))
        n_groups = int(moved.max()) + 1
        may_move = np.bincount(moved, ~free, n_groups) == 0
        if n_groups < len(moved) and may_move.any():
            belongs = csr_array((np.ones(len(moved)), (moved, np.arange(len(moved)))), shape=(n_groups, len(moved)))
            groups = (belongs @ graph @ belongs.T).tocsr(), np.arange(n_groups), may_move
            joined = moved_nodes(*groups, resolution, most, np.bincount(moved, sizes).astype(np.int64))
            moved = numbered(joined[moved])
        if (moved == numbered(labels)).all():
            return moved
        labels = moved


def _local_moves(
    graph: "csr_array", labels: Labels, free: Bools, resolution: float, most: int, sizes_of_nodes: Labels
) -> Labels:
    """Return the labels after moving free nodes one by one, each where modularity gains most, until none gains."""
    labels = labels.copy()
    strengths = graph.sum(axis=1)
    share = resolution / max(float(strengths.sum()), 1e-300)
    n_nodes = len(labels)
    held = np.bincount(labels, strengths, n_nodes)
    filled = np.bincount(labels, sizes_of_nodes, n_nodes)
    sizes = np.bincount(labels, minlength=n_nodes)
    empty = np.flatnonzero(sizes == 0).tolist()
    queue = deque(np.flatnonzero(free).tolist())
    waits = free.copy()
    while queue:
        node = queue.popleft()
        waits[node] = False
        begin, end = graph.indptr[node], graph.indptr[node + 1]
        near = {int(labels[node]): 0.0}
        neighbours = graph.indices[begin:end].tolist()
        for neighbour, weight in zip(neighbours, graph.data[begin:end].tolist(), strict=True):
            if neighbour != node:
                label = int(labels[neighbour])
                near[label] = near.get(label, 0.0) + weight
        own, strength = int(labels[node]), float(strengths[node])
        held[own] -= strength
        filled[own] -= sizes_of_nodes[node]
        best, gained = own, near[own] - share * strength * held[own]
        if sizes[own] > 1 and gained < -_LEAST_GAIN:
            best, gained = empty[-1], 0.0
        for label in sorted(near):
            gain = near[label] - share * strength * held[label]
            if gain > gained + _LEAST_GAIN and filled[label] + sizes_of_nodes[node] <= most:
                best, gained = label, gain
        held[best] += strength
        filled[best] += sizes_of_nodes[node]
        if best == own:
            continue
        labels[node] = best
        sizes[own] -= 1
        sizes[best] += 1
        if best == (empty[-1] if empty else -1):
            empty.pop()
        if not sizes[own]:
            empty.append(own)
        for neighbour in neighbours:
            if free[neighbour] and not waits[neighbour] and labels[neighbour] != best:
                waits[neighbour] = True
                queue.append(neighbour)
    return labels


def _connected(part: _Subgraph, labels: Labels) -> Labels:
    """Return labels 0, 1, ... of the connected components of each community, by their smallest node."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    lower, upper = part.edges.lower, part.edges.upper
    kept = labels[lower] == labels[upper]
    n = len(part.nodes)
    if n == 0:
        return labels
    joined = coo_array((np.ones(int(kept.sum()), bool), (lower[kept], upper[kept])), shape=(n, n))
    return numbered(connected_components(joined, directed=False)[1].astype(np.int64))


def _apart(labels: Labels, alone: Bools) -> Labels:
    """Return the labels with some nodes moved to singleton communities."""
    apart = labels.copy()
    apart[alone] = labels.max(initial=0) + 1 + np.flatnonzero(alone)
    return apart


def _most_frequent(labels: Labels) -> int:
    """Return the most frequent label other than -1 (ties: the smallest); -1 if there is none."""
    values, counts = np.unique(labels[labels >= 0], return_counts=True)
    return int(values[counts.argmax()]) if len(values) else -1


def numbered(labels: Labels) -> Labels:
    """Return the same partition with the labels 0, 1, ... in the order of their first nodes."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[inverse]
