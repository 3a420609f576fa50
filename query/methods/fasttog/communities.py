"""Community detection for small subgraphs: Louvain, Girvan-Newman, hierarchical, spectral and random.

FastToG (Liang and Gu 2025) uses Louvain's method and compares it with Girvan-Newman, hierarchical and spectral
clustering, and random groups. With a maximum community size, the result is the coarsest state of the algorithm in which
no community exceeds it.

A partition is int64 (n,): the number of each node's community, 0 up, numbered in the order of their first nodes.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from conspectus.storage.arrays import Floats, Ints

_DIGITS = 9
"""Betweenness and distances are rounded to this many digits, so that ties are the same on every machine."""

Partition = Ints

Detection = Callable[["SmallGraph", int | None, int], Partition]
"""(graph, maximum nodes of a community or None, seed) -> partition; deterministic."""


@dataclass(frozen=True, slots=True, eq=False)
class SmallGraph:
    """A simple undirected graph of at most a few hundred nodes.

    Attributes:
        n_nodes: Number of nodes.
        edges: int64 (m, 2), each pair once with the smaller node first, sorted.
        weights: float64 (m,), positive.
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
    """Return the simple undirected graph of pairs of nodes, without loops; the heaviest of parallel edges is used.

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
    """Return the size of the largest community."""
    return int(np.bincount(partition).max()) if len(partition) else 0


def members(partition: Partition) -> list[Ints]:
    """Return the nodes of each community, ascending."""
    order = np.argsort(partition, kind="stable")
    return np.split(order, np.cumsum(np.bincount(partition))[:-1]) if len(partition) else []


def community_modularity(graph: SmallGraph, partition: Partition) -> Floats:
    """Return Q(c) of each community, float64 (k,): Σin − Σtot² / 2m.

    With L edges inside, Σin = 2L; Σtot is the sum of the degrees, m the number of edges (or the sums of their weights).
    FastToG (Liang and Gu 2025, equation 4) calls Σin "the number of edges in c", which contradicts its own equation 2:
    only with 2L is Σ Q(c) / 2m the modularity of Newman and Girvan. 0 in a graph without edges.
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
    """Return the partition with the highest modularity (ties: the first)."""
    values = [round(modularity(graph, state), 12) for state in states]
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


# Louvain (Blondel et al. 2008, "Fast unfolding of communities in large networks")

_GAIN = 1e-12
"""Minimum gain of a move, above rounding errors."""

_Level = list[dict[int, float]]
"""For each node its neighbours with edge weights; a loop counts twice."""


def louvain(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return Louvain's communities, each of at most `max_size` nodes."""
    level: _Level = [{} for _ in range(graph.n_nodes)]
    for (left, right), weight in zip(graph.edges.tolist(), graph.weights.tolist(), strict=True):
        level[left][right] = level[right][left] = weight
    total = 2 * float(graph.weights.sum())
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


# Girvan and Newman 2002, "Community structure in social and biological networks"; for weights Newman 2004, "Analysis of
# weighted networks": the betweenness of an edge is divided by its weight


def girvan_newman(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:  # noqa: ARG001  (all detections share it)
    """Return the first split in which no community has more than `max_size` nodes.

    Without a bound it is the split of highest modularity. `seed` has no effect.
    """
    if max_size is None:
        return best_of(graph, list(splits(graph)))
    return next(split for split in splits(graph) if largest(split) <= max(max_size, 1))


def splits(graph: SmallGraph) -> Iterator[Partition]:
    """Yield the connected components of the graph and after every edge removal that splits one."""
    weights = graph.adjacency()
    links = (weights > 0).astype(np.float64)
    crossed = np.zeros_like(links)
    found = components(graph)
    for nodes in members(found):
        _cross(links, nodes, crossed)
    yield found
    left, right = graph.edges[:, 0], graph.edges[:, 1]
    alive = np.ones(len(graph.edges), bool)
    while alive.any():
        values = np.where(alive, np.round(crossed[left, right] / graph.weights, _DIGITS), -1.0)
        gone = int(np.argmax(values))
        alive[gone] = False
        links[left[gone], right[gone]] = links[right[gone], left[gone]] = 0.0
        nodes = np.flatnonzero(found == found[left[gone]])
        found = components(SmallGraph(graph.n_nodes, graph.edges[alive], graph.weights[alive]))
        parts = np.unique(found[nodes])
        for part in parts:
            _cross(links, np.flatnonzero(found == part), crossed)
        if len(parts) > 1:
            yield found


def _cross(links: Floats, nodes: Ints, crossed: Floats) -> None:
    """Write the betweenness of the edges among the nodes of a component; Brandes' sums for all sources together."""
    if len(nodes) < 2:
        return
    inside = links[np.ix_(nodes, nodes)]
    levels = [np.eye(len(nodes))]  # row s: how many shortest paths from s reach each node of this distance
    seen = levels[0] > 0
    while True:
        reached = levels[-1] @ inside
        reached[seen] = 0.0
        if not reached.any():
            break
        seen |= reached > 0
        levels.append(reached)
    flow = np.zeros_like(inside)
    edges = np.zeros_like(inside)
    for before, here in zip(reversed(levels[:-1]), reversed(levels[1:]), strict=True):
        passed = np.divide(1.0 + flow, here, out=np.zeros_like(here), where=here > 0)
        edges += before.T @ passed
        flow = before * (passed @ inside)
    edges = (edges + edges.T) * inside / 2
    crossed[np.ix_(nodes, nodes)] = edges


# Hierarchical clustering with average linkage; nodes are as similar as the cosine of their closed neighbourhoods (each
# node and its neighbours, by weight)


def agglomerative(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:  # noqa: ARG001  (all detections share it)
    """Return the last state before a merge creates a community of more than `max_size` nodes.

    Without a bound, it is the state of highest modularity. `seed` has no effect.
    """
    states = _states(graph, max_size)
    return states[-1] if max_size is not None else best_of(graph, states)


def _states(graph: SmallGraph, max_size: int | None) -> list[Partition]:
    """Return the partitions after each merge, starting with single nodes, while the size bound is satisfied."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    of = np.arange(graph.n_nodes, dtype=np.int64)
    states = [of.copy()]
    if graph.n_nodes < 2:
        return states
    near = graph.adjacency()
    np.fill_diagonal(near, np.maximum(near.max(axis=1), 1.0))
    rows = near / np.linalg.norm(near, axis=1, keepdims=True)
    # Rounded, so that ties are the same on every machine; they are broken by the order of nodes.
    apart = np.round(1.0 - rows @ rows.T, 9)
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(apart, checks=False), "average")
    for number, (left, right, _, size) in enumerate(merges):
        if max_size is not None and size > max_size:
            break
        of[(of == int(left)) | (of == int(right))] = graph.n_nodes + number
        states.append(numbered(of))
    return states


# Spectral clustering (Ng, Jordan and Weiss 2001): k-means on the first eigenvectors of the normalised Laplacian

_ROUNDS = 20


def spectral(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return the clusters for the smallest k at which no cluster has more than `max_size` nodes.

    Without a bound it is the k of highest modularity.
    """
    size = graph.n_nodes
    if not size:
        return np.zeros(0, np.int64)
    vectors = _eigenvectors(graph)
    if max_size is None:
        return best_of(graph, [_clusters(vectors, count, seed) for count in range(1, size + 1)])
    for count in range(-(-size // max(max_size, 1)), size):
        if largest(found := _clusters(vectors, count, seed)) <= max_size:
            return found
    return np.arange(size, dtype=np.int64)


def _eigenvectors(graph: SmallGraph) -> Floats:
    """Return the eigenvectors (n, n) of D^-½ A D^-½, those of the largest eigenvalues first."""
    adjacency = graph.adjacency()
    degree = adjacency.sum(axis=1)
    scale = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    _, vectors = np.linalg.eigh(scale[:, None] * adjacency * scale[None, :] - np.diag((degree == 0) * 1.0))
    return np.asarray(vectors[:, ::-1], np.float64)


def _clusters(vectors: Floats, count: int, seed: int) -> Partition:
    """Return the clusters of k-means with k = `count`, started by k-means++ (Arthur and Vassilvitskii 2007)."""
    rows = vectors[:, :count]
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, length, out=np.zeros_like(rows), where=length > 10**-_DIGITS)
    draw = np.random.default_rng(seed)
    centres = rows[[int(draw.integers(len(rows)))]]
    while len(centres) < count:
        apart = np.round(_distances(rows, centres).min(axis=1), _DIGITS)
        if not apart.sum():
            break  # fewer different rows than clusters
        centres = np.vstack([centres, rows[int(draw.choice(len(rows), p=apart / apart.sum()))]])
    found = np.zeros(len(rows), np.int64)
    for _ in range(_ROUNDS):
        nearest = np.argmin(np.round(_distances(rows, centres), _DIGITS), axis=1)
        if np.array_equal(nearest, found):
            break
        found = nearest
        sums = np.zeros_like(centres)
        np.add.at(sums, found, rows)
        held = np.bincount(found, minlength=len(centres))[:, None]
        centres = np.where(held > 0, sums / np.maximum(held, 1), centres)
    return numbered(found)


def _distances(rows: Floats, centres: Floats) -> Floats:
    """Return the squared distances (n, k)."""
    squares = (rows**2).sum(axis=1)[:, None] + (centres**2).sum(axis=1)[None, :]
    return np.asarray(np.maximum(squares - 2 * rows @ centres.T, 0.0), np.float64)


# Random groups: the baseline


def random_groups(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return groups of `max_size` nodes (all together without a bound) drawn without regard to the edges."""
    of = np.empty(graph.n_nodes, np.int64)
    of[np.random.default_rng(seed).permutation(graph.n_nodes)] = np.arange(graph.n_nodes) // (
        max(max_size, 1) if max_size is not None else max(graph.n_nodes, 1)
    )
    return numbered(of)


DETECTIONS: dict[str, Detection] = {
    "louvain": louvain,
    "girvan_newman": girvan_newman,
    "agglomerative": agglomerative,
    "spectral": spectral,
    "random": random_groups,
}
"""The detections by their name in `fasttog.detection`."""
