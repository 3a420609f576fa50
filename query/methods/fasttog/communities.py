"""Community detection for small subgraphs, by Louvain's method, as FastToG does (Liang and Gu 2025).

A partition is int64 (n,): the number of each node's community, 0 up, numbered in the order of their first nodes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Floats, Ints
from conspectus.storage.graph.incremental_leiden import moved_nodes

Partition = Ints


@dataclass(frozen=True, slots=True, eq=False)
class SmallGraph:
    """A simple undirected graph of at most a few hundred nodes.

    Attributes:
        n_nodes: Number of nodes.
        edges: int64 (m, 2), each pair once with the smaller node first, sorted.
    """

    n_nodes: int
    edges: Ints


def small_graph(n_nodes: int, pairs: Ints | Sequence[tuple[int, int]]) -> SmallGraph:
    """Return the simple undirected graph of pairs of nodes, without loops and parallel edges.

    >>> small_graph(3, [(1, 0), (0, 1), (2, 2), (1, 2)]).edges.tolist()
    [[0, 1], [1, 2]]
    """
    ends = np.sort(np.asarray(pairs, np.int64).reshape(-1, 2), axis=1)
    inner = ends[:, 0] != ends[:, 1]
    return SmallGraph(n_nodes, np.unique(ends[inner], axis=0))


def members(partition: Partition) -> list[Ints]:
    """Return the nodes of each community, ascending."""
    order = np.argsort(partition, kind="stable")
    return np.split(order, np.cumsum(np.bincount(partition))[:-1]) if len(partition) else []


def community_modularity(graph: SmallGraph, partition: Partition) -> Floats:
    """Return Q(c) of each community, float64 (k,): Σin − Σtot² / 2m.

    With L edges inside, Σin = 2L; Σtot is the sum of the degrees, m the number of edges.
    FastToG (Liang and Gu 2025, equation 4) calls Σin "the number of edges in c", which contradicts its own equation 2:
    only with 2L is Σ Q(c) / 2m the modularity of Newman and Girvan. 0 in a graph without edges.
    """
    count = int(partition.max()) + 1 if len(partition) else 0
    left, right = partition[graph.edges[:, 0]], partition[graph.edges[:, 1]]
    if not len(graph.edges):
        return np.zeros(count)
    within = 2 * np.bincount(left[left == right], minlength=count)
    total = np.bincount(left, minlength=count) + np.bincount(right, minlength=count)
    return np.asarray(within - total**2 / (2 * len(graph.edges)), np.float64)


def louvain(graph: SmallGraph, most: int | None = None) -> Partition:
    """Return Louvain's communities (Blondel et al. 2008), each of at most `most` nodes."""
    from scipy.sparse import csr_array

    nodes = np.arange(graph.n_nodes)
    if not len(graph.edges):
        return nodes
    ends = np.concatenate([graph.edges, graph.edges[:, ::-1]]).T
    weights = csr_array((np.ones(ends.shape[1]), (ends[0], ends[1])), shape=(graph.n_nodes, graph.n_nodes))
    return moved_nodes(weights, nodes, np.ones(graph.n_nodes, np.bool_), most=most)
