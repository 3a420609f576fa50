"""Community detection for small subgraphs, by Louvain's method, as FastToG does (Liang and Gu 2025).

With a maximum community size, the result is the coarsest state of the algorithm in which no community exceeds it.

A partition is int64 (n,): the number of each node's community, 0 up, numbered in the order of their first nodes.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Floats, Ints

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


def numbered(labels: Sequence[int] | Ints) -> Partition:
    """Return a partition with its communities numbered in the order of their first nodes.

    >>> numbered([7, 3, 7]).tolist()
    [0, 1, 0]
    """
    _, first, place = np.unique(np.asarray(labels, np.int64), return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first, kind="stable")] = np.arange(len(first))
    return order[place]


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


# Louvain (Blondel et al. 2008, "Fast unfolding of communities in large networks")

_GAIN = 1e-12
"""Minimum gain of a move, above rounding errors."""

_Level = list[dict[int, float]]
"""For each node its neighbours with edge weights; a loop counts twice."""


def louvain(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return Louvain's communities, each of at most `max_size` nodes."""
    level: _Level = [{} for _ in range(graph.n_nodes)]
    for left, right in graph.edges.tolist():
        level[left][right] = level[right][left] = 1.0
    total = 2.0 * len(graph.edges)
    order = random.Random(seed)  # noqa: S311
    sizes = [1] * graph.n_nodes
    found = list(range(graph.n_nodes))
    while total:
        moved = numbered(_moved(level, sizes, total, max_size or graph.n_nodes, order)).tolist()
        count = max(moved) + 1
        if count == len(level):
            break
        found = [moved[result] for result in found]
        level, sizes = _aggregated(level, sizes, moved, count)
    return numbered(found)


def _moved(level: _Level, sizes: list[int], total: float, most: int, order: random.Random) -> list[int]:
    """Return the community of each node after local moving has converged."""
    degree = [sum(item.values()) for item in level]
    of = list(range(len(level)))
    degrees, held = degree[:], sizes[:]
    nodes = list(of)
    order.shuffle(nodes)
    moving = True
    while moving:
        moving = False
        for node in nodes:
            at = of[node]
            towards: dict[int, float] = {at: 0.0}
            for neighbour, weight in level[node].items():
                if neighbour != node:
                    towards[of[neighbour]] = towards.get(of[neighbour], 0.0) + weight
            degrees[at] -= degree[node]
            held[at] -= sizes[node]
            share = degree[node] / total
            best, gain = at, towards[at] - share * degrees[at]
            for other in sorted(towards):
                fits = held[other] + sizes[node] <= most
                if fits and (value := towards[other] - share * degrees[other]) > gain + _GAIN:
                    best, gain = other, value
            degrees[best] += degree[node]
            held[best] += sizes[node]
            of[node] = best
            moving = moving or best != at
    return of


def _aggregated(level: _Level, sizes: list[int], of: list[int], count: int) -> tuple[_Level, list[int]]:
    """Return the graph whose nodes are the communities, and their sizes."""
    merged: _Level = [{} for _ in range(count)]
    held = [0] * count
    for node, neighbours in enumerate(level):
        held[of[node]] += sizes[node]
        row = merged[of[node]]
        for neighbour, weight in neighbours.items():
            row[of[neighbour]] = row.get(of[neighbour], 0.0) + weight
    return merged, held
