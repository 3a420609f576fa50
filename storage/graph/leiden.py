"""Hierarchical Leiden: community detection, repeated inside every community above a maximum size."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from conspectus.storage.arrays import Bools, Ints, SmallInts, runs
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.edges import Edges
from conspectus.storage.spilled import array_of
from numpy.typing import NDArray

_EDGES_AT_ONCE = 65_536
_RANDOMNESS, _ITERATIONS = 0.001, 2
"""Those of the refinement phase, and of all of Leiden, each from the result of the last."""


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """Partitions of all nodes, each refining the one above it.

    A community that is not split appears on all deeper levels with the same id, so every set of nodes has one, as
    reports need it. On level l the communities with `first[id] < l` are unsplit ones.

    Attributes:
        levels: One int32 (n,) array per level, coarsest first: the id of each node's community. At least one level,
            even for a graph without nodes.
        first: int32 (c,), the first level that each community appears on.
        parents: int32 (c,), the community above each, -1 on level 0.
        oversized: bool (c,), whether each has more than `max_cluster_size` members and was not split because every
            attempted split has a lower modularity (a clique, for example).
    """

    levels: tuple[SmallInts, ...]
    first: SmallInts
    parents: SmallInts
    oversized: Bools

    def __len__(self) -> int:
        """Return the number of communities, distinct sets of nodes."""
        return len(self.first)


def hierarchical_leiden(
    edges: Edges,
    *,
    seed: int,
    max_cluster_size: int = 10,
    resolution: float = 1.0,
) -> Hierarchy:
    """Return a hierarchy of communities, with every community that can be split within `max_cluster_size`.

    Leiden maximises the modularity of level 0; each community above the size is then divided as a separate
    graph, until none can be split. Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing
    well-connected communities" (2019); the recursion is that of Edge et al., "From Local to Global" (2024),
    section 3.1.4. The implementation is graspologic-native.

    The same edges and seed give the same hierarchy. A node without edges is a singleton community on level 0. The
    weights are divided by their mean.

    Args:
        edges: The edges of the graph.
        seed: Random seed, in 0 .. 2**64 - 1.
        max_cluster_size: Larger communities are split further if possible; at least 1.
        resolution: Resolution of modularity, above 0; higher gives more and smaller communities.

    Raises:
        ValueError: An argument is out of range.

    >>> from conspectus.storage.graph.edges import canonical_edges
    >>> two_triangles = canonical_edges(7, [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1.0] * 7)
    >>> hierarchy = hierarchical_leiden(two_triangles, seed=0)
    >>> hierarchy.levels[0]
    array([0, 0, 0, 1, 1, 1, 2], dtype=int32)
    """
    _check("seed", seed, 0 <= seed < 2**64, "in 0 .. 2**64 - 1")
    _check("max_cluster_size", max_cluster_size, max_cluster_size >= 1, "at least 1")
    _check("resolution", resolution, 0 < resolution < np.inf, "above 0 and finite")
    if len(edges.weights) == 0:
        return hierarchy_of([np.arange(edges.n_nodes)], max_cluster_size)
    # Randomness is relative to gains in weight; a mean of 1 makes it independent of the unit.
    dividing = _Dividing(edges.weights.mean(dtype=np.float64), resolution, seed)
    return divided(edges, dividing.once(edges), lambda _, part, __: dividing.once(part), max_cluster_size)


@dataclass(frozen=True, slots=True)
class _Dividing:
    """Divides graphs whose weights are multiples of `unit`."""

    unit: float
    resolution: float
    seed: int

    def once(self, edges: Edges) -> SmallInts:
        """Return the community of each node; from arrays, since the library's own recursion takes 400 bytes an edge."""
        import graspologic_native

        graph = Adjacency.of(edges)
        scaled = array_of(len(graph.weights), np.float64)
        for start in range(0, len(graph.weights), _EDGES_AT_ONCE):
            scaled.append(graph.weights[start : start + _EDGES_AT_ONCE].astype(np.float64) / self.unit)
        _, found = graspologic_native.leiden_csr(
            graph.indptr,
            graph.indices,
            scaled.array(),
            edges.n_nodes,
            resolution=self.resolution,
            randomness=_RANDOMNESS,
            iterations=_ITERATIONS,
            seed=self.seed,
        )
        return np.fromiter(map(found.__getitem__, range(edges.n_nodes)), np.int32, edges.n_nodes)


Divide = Callable[[Ints, Edges, int], "NDArray[np.integer[Any]] | None"]
"""Returns labels for the nodes of a community, given these, its edges and its level; None or one label: not split."""


def divided(edges: Edges, first: "NDArray[np.integer[Any]]", divide: Divide, max_cluster_size: int) -> Hierarchy:
    """Return the hierarchy whose coarsest level is `first`: those above the size are divided while they can be."""
    levels = [_by_first_node(first)]
    is_open = np.ones(edges.n_nodes, np.bool_)
    while len(levels) == 1 or (levels[-1] != levels[-2]).any():
        is_open &= np.bincount(levels[-1], minlength=1)[levels[-1]] > max_cluster_size
        below = levels[-1].copy()
        for nodes, part in subgraphs(edges, levels[-1], is_open):
            found = divide(nodes, part, len(levels) - 1)
            if found is None or (found == found[0]).all():
                is_open[nodes] = False
            else:
                below[nodes] = nodes[_by_first_node(found)]
        levels.append(below)
    return hierarchy_of(levels[:-1], max_cluster_size)


def _by_first_node(labels: "NDArray[np.integer[Any]]") -> SmallInts:
    """Return the first node that has the label of each node."""
    _, first, inverse = np.unique(labels, return_index=True, return_inverse=True)
    nodes: SmallInts = first.astype(np.int32)[inverse]
    return nodes


def subgraphs(edges: Edges, labels: "NDArray[np.integer[Any]]", wanted: Bools) -> Iterator[tuple[Ints, Edges]]:
    """Yield the nodes of each label, ascending, and the edges between them, of labels whose first node is wanted."""
    within = np.flatnonzero(labels[edges.lower] == labels[edges.upper])
    within = within[np.argsort(labels[edges.lower[within]], kind="stable")]
    label_of_edge = labels[edges.lower[within]]
    place = np.zeros(len(labels), np.int32)
    for nodes in groups(labels):
        if wanted[nodes[0]]:
            first, last = np.searchsorted(label_of_edge, [labels[nodes[0]], labels[nodes[0]] + 1])
            own = within[first:last]
            place[nodes] = np.arange(len(nodes))
            yield nodes, Edges(len(nodes), place[edges.lower[own]], place[edges.upper[own]], edges.weights[own])


def modularity(edges: Edges, membership: "NDArray[np.integer[Any]]", resolution: float = 1.0) -> float:
    """Return the modularity of a partition: the weight within communities in excess of chance, at most 1.

    Q = Σ_c [ w_c / m − resolution · (S_c / 2m)² ], where m is the sum of all weights, w_c that of the edges
    within community c and S_c the sum of its members' weighted degrees. Newman and Girvan (2004); the
    resolution is that of Reichardt and Bornholdt (2006). A graph without weight has modularity 0.

    Args:
        edges: The edges of the graph.
        membership: (n,), the label of each node, any integers.
        resolution: Weight of the chance term.

    >>> from conspectus.storage.graph.edges import canonical_edges
    >>> modularity(canonical_edges(4, [0, 2], [1, 3], [1.0, 1.0]), np.array([7, 7, 9, 9]))
    0.5
    """
    weight = edges.weights.astype(np.float64)
    total = weight.sum()
    if total == 0:
        return 0.0
    distinct, community = np.unique(membership, return_inverse=True)
    start, end = community[edges.lower], community[edges.upper]
    within = weight[start == end].sum() / total
    share = np.bincount(start, weights=weight / total, minlength=len(distinct))
    share += np.bincount(end, weights=weight / total, minlength=len(distinct))
    return float(within - resolution * np.square(share / 2).sum())


def hierarchy_of(labels: "Iterable[NDArray[np.integer[Any]]]", max_cluster_size: int) -> Hierarchy:
    """Return the hierarchy of labellings, coarsest first, each a refinement of the previous one."""
    levels: list[SmallInts] = []
    first, parents, sizes = (np.zeros(0, np.int32) for _ in range(3))
    for level, labelling in enumerate(labels):
        _, least, label, count = np.unique(labelling, return_index=True, return_inverse=True, return_counts=True)
        order = np.argsort(least)  # by the smallest member
        above = levels[-1][least[order]] if levels else np.full(len(order), -1, np.int32)
        new = sizes[above] != count[order] if levels else np.ones(len(order), np.bool_)
        ids = np.where(new, len(sizes) + np.cumsum(new) - 1, above)  # a part of the same size is the same set
        first = np.append(first, np.full(np.count_nonzero(new), level, np.int32))
        parents, sizes = np.append(parents, above[new]), np.append(sizes, count[order][new].astype(np.int32))
        standing = np.empty(len(order), np.int32)
        standing[order] = ids
        levels.append(standing[label])
    oversized = np.zeros(len(sizes), np.bool_)
    oversized[levels[-1]] = True
    return Hierarchy(tuple(levels), first, parents, oversized & (sizes > max_cluster_size))


def groups(labelling: "NDArray[np.integer[Any]]") -> list[Ints]:
    """Return the nodes of each label, ascending; the groups are in the order of their smallest nodes."""
    order, starts = runs(labelling)
    groups = np.split(order, starts[1:]) if len(order) else []
    return sorted(groups, key=lambda members: int(members[0]))


def _check(name: str, value: float, holds: bool, range_: str) -> None:
    if not holds:
        raise ValueError(f"{name} must be {range_}, but is {value}")
