"""A small graph, and how a division of its nodes is written and judged.

A partition is int64 (n,): the number of each node's community, 0 up, numbered in the order of their first nodes.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from conspectus.storage.arrays import Floats, Ints

Partition = npt.NDArray[np.int64]

Detection = Callable[["SmallGraph", int | None, int], Partition]
"""(graph, most nodes of a community or None for any number, seed) -> partition; the same input gives the same one."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallGraph:
    """A simple undirected graph of a few hundred nodes at most.

    `edges` is int64 (m, 2), each pair once with the smaller node first, sorted; `weights` float64 (m,), positive.
    """

    n_nodes: int
    edges: Ints
    weights: Floats

    def adjacency(self) -> Floats:
        """Return the symmetric matrix (n, n) of the weights."""
        matrix = np.zeros((self.n_nodes, self.n_nodes))
        matrix[self.edges[:, 0], self.edges[:, 1]] = self.weights
        return matrix + matrix.T


def small_graph(n_nodes: int, pairs: Ints | Sequence[tuple[int, int]], weights: Floats | None = None) -> SmallGraph:
    """Return the simple undirected graph of pairs of nodes: loops go, and of equal edges the heaviest stays.

    >>> small_graph(3, [(1, 0), (0, 1), (2, 2), (1, 2)]).edges.tolist()
    [[0, 1], [1, 2]]
    """
    ends = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
    given = np.ones(len(ends)) if weights is None else np.asarray(weights, np.float64)
    inner = ends[:, 0] != ends[:, 1]
    keys, place = np.unique(ends[inner, 0] * max(n_nodes, 1) + ends[inner, 1], return_inverse=True)
    heaviest = np.zeros(len(keys))
    np.maximum.at(heaviest, place, given[inner])
    return SmallGraph(n_nodes, np.stack(np.divmod(keys, max(n_nodes, 1)), axis=1), heaviest)


def numbered(labels: Sequence[int] | Ints) -> Partition:
    """Return a partition with its communities numbered in the order of their first nodes.

    >>> numbered([7, 3, 7]).tolist()
    [0, 1, 0]
    """
    _, first, place = np.unique(np.asarray(labels, np.int64), return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    return order[place]


def largest(partition: Partition) -> int:
    """Return how many nodes the largest community has."""
    return int(np.bincount(partition).max()) if len(partition) else 0


def members(partition: Partition) -> list[Ints]:
    """Return the nodes of each community, ascending."""
    order = np.argsort(partition, kind="stable")
    return np.split(order, np.cumsum(np.bincount(partition))[:-1]) if len(partition) else []


def community_modularity(graph: SmallGraph, partition: Partition) -> Floats:
    """Return Q(c) of each community, float64 (k,): Σin − Σtot² / 2m.

    With L edges inside, Σin = 2L; Σtot is the sum of the degrees, m the number of edges (their weights, where they
    have any). FastToG (Liang and Gu 2025, equation 4) calls Σin "the number of edges in c", which contradicts its own
    equation 2: only 2L sums to the modularity of Newman and Girvan, Σ Q(c) / 2m. 0 in a graph without edges.
    """
    count = int(partition.max()) + 1 if len(partition) else 0
    left, right = partition[graph.edges[:, 0]], partition[graph.edges[:, 1]]
    both = 2 * graph.weights.sum()
    if not both:
        return np.zeros(count)
    within = 2 * np.bincount(left[left == right], graph.weights[left == right], minlength=count)
    total = np.bincount(left, graph.weights, minlength=count) + np.bincount(right, graph.weights, minlength=count)
    return np.asarray(within - total**2 / both, np.float64)


def modularity(graph: SmallGraph, partition: Partition) -> float:
    """Return the modularity of a partition: Σ Q(c) / 2m; 0.0 in a graph without edges."""
    both = 2 * float(graph.weights.sum())
    return float(community_modularity(graph, partition).sum()) / both if both else 0.0


def best_of(graph: SmallGraph, states: Sequence[Partition]) -> Partition:
    """Return the partition of highest modularity, of equal ones the first."""
    values = [round(modularity(graph, each), 12) for each in states]
    return states[values.index(max(values))]


def components(graph: SmallGraph) -> Partition:
    """Return the connected components."""
    parent = list(range(graph.n_nodes))

    def root(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    for left, right in graph.edges.tolist():
        parent[root(right)] = root(left)
    return numbered([root(node) for node in range(graph.n_nodes)])
