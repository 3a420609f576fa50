"""Hierarchical Leiden: community detection, repeated inside every community above a maximum size."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from conspectus.storage.arrays import Floats, Ints, runs
from conspectus.storage.graph.edges import Edges, canonical_edges, check_weights, node_ids
from numpy.typing import ArrayLike

_EDGES_AT_ONCE = 65_536


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One set of nodes, with the level on which it first appears.

    Attributes:
        id: Its number in the hierarchy, by (level, smallest member): 0, 1, 2, ...
        level: The first level that it appears on; 0 is the coarsest.
        parent: The id of the community on the level above that contains it; None on level 0.
        members: int64, ascending.
        oversized: Whether it has more than `max_cluster_size` members and was not split because every attempted split
            has a lower modularity (a clique, for example).
    """

    id: int
    level: int
    parent: int | None
    members: Ints
    oversized: bool


@dataclass(frozen=True, slots=True, eq=False)
class Hierarchy:
    """Partitions of all nodes, each refining the one above it.

    A community that is not split appears on all deeper levels with the same id, so `communities` lists every set of
    nodes once, as reports need it. On level l the communities with `communities[i].level < l` are unsplit ones.

    Attributes:
        communities: Every distinct set of nodes; `communities[i].id == i`.
        levels: One int64 (n,) array per level, coarsest first: the id of each node's community. At least one level,
            even for a graph without nodes.
    """

    communities: tuple[Group, ...]
    levels: tuple[Ints, ...]

    def at(self, level: int) -> tuple[Group, ...]:
        """Return the communities of a level, by id; a level below the deepest returns the deepest.

        Raises:
            ValueError: the level is negative.
        """
        if level < 0:
            raise ValueError(f"level must not be negative, but is {level}")
        standing = np.unique(self.levels[min(level, len(self.levels) - 1)])
        return tuple(self.communities[i] for i in standing.tolist())


def hierarchical_leiden(
    n_nodes: int,
    sources: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike,
    *,
    seed: int,
    max_cluster_size: int = 10,
    resolution: float = 1.0,
    randomness: float = 0.001,
    iterations: int = 2,
) -> Hierarchy:
    """Return a hierarchy of communities, with every community that can be split within `max_cluster_size`.

    Leiden maximises the modularity of level 0; each community above the size is then divided as a separate
    graph, until none can be split. Traag, Waltman and van Eck, "From Louvain to Leiden: guaranteeing
    well-connected communities" (2019); the recursion is that of Edge et al., "From Local to Global" (2024),
    section 3.1.4. The implementation is graspologic-native.

    The same edges and seed give the same hierarchy, whatever their order and direction. A node without edges
    is a singleton community on level 0. Parallel edges are summed, self-loops and zero weights dropped, and
    the weights divided by their mean.

    Args:
        n_nodes: Number of nodes, 0 .. n_nodes - 1.
        sources: int (m,), one end of each undirected edge.
        targets: int (m,), the other end.
        weights: float (m,), not negative.
        seed: Random seed, in 0 .. 2**64 - 1.
        max_cluster_size: Larger communities are split further if possible; at least 1.
        resolution: Resolution of modularity, above 0; higher gives more and smaller communities.
        randomness: Randomness of the refinement phase, above 0.
        iterations: Iterations of Leiden, each from the result of the last; at least 1.

    Raises:
        ValueError: An argument is out of range; for the edges see `canonical_edges`.

    >>> hierarchy = hierarchical_leiden(7, [0, 1, 2, 3, 4, 5, 2], [1, 2, 0, 4, 5, 3, 3], [1.0] * 7, seed=0)
    >>> [community.members.tolist() for community in hierarchy.at(0)]
    [[0, 1, 2], [3, 4, 5], [6]]
    """
    _check("seed", seed, 0 <= seed < 2**64, "in 0 .. 2**64 - 1")
    _check("max_cluster_size", max_cluster_size, max_cluster_size >= 1, "at least 1")
    _check("resolution", resolution, 0 < resolution < np.inf, "above 0 and finite")
    _check("randomness", randomness, 0 < randomness < np.inf, "above 0 and finite")
    _check("iterations", iterations, iterations >= 1, "at least 1")
    edges = canonical_edges(n_nodes, sources, targets, weights)
    if len(edges.weights) == 0:
        return hierarchy_of([np.arange(n_nodes)], max_cluster_size)

    import graspologic_native

    # Randomness is relative to gains in weight; a mean of 1 makes it independent of the unit.
    scaled = edges.weights.astype(np.float64) / edges.weights.mean(dtype=np.float64)
    rows = graspologic_native.hierarchical_leiden(
        edges=_NamedEdges(edges, scaled, n_nodes),
        resolution=resolution,
        randomness=randomness,
        iterations=iterations,
        use_modularity=True,
        max_cluster_size=max_cluster_size + 1,  # graspologic splits at its maximum, not above it
        seed=seed,
    )

    # graspologic lists a node on each level down to its last community; below that the label stays. Labels
    # from n_nodes on are graspologic's; a node without edges is its own label.
    nodes, depths, clusters = (
        np.fromiter((int(getattr(row, name)) for row in rows), np.int64, len(rows))
        for name in ("node", "level", "cluster")
    )
    del rows
    labels = [np.arange(n_nodes)]
    for depth in range(depths.max() + 1):
        labels.append(labels[-1].copy())
        labels[-1][nodes[depths == depth]] = n_nodes + clusters[depths == depth]
    return hierarchy_of(labels[1:], max_cluster_size)


class _NamedEdges(Sequence[tuple[str, str, float]]):
    """Edges in the form that graspologic reads, with names for nodes; each is made when it is read.

    A list of them would take 250 bytes an edge beside graspologic's own copy.
    """

    def __init__(self, edges: Edges, weights: Floats, n_nodes: int) -> None:
        self._columns = edges.lower, edges.upper, weights
        self._width = len(str(n_nodes))

    def __len__(self) -> int:
        return len(self._columns[0])

    def __iter__(self) -> Iterator[tuple[str, str, float]]:
        width = self._width
        for start in range(0, len(self), _EDGES_AT_ONCE):
            block = (column[start : start + _EDGES_AT_ONCE].tolist() for column in self._columns)
            for lower, upper, weight in zip(*block, strict=True):
                yield f"{lower:0{width}}", f"{upper:0{width}}", weight

    def __getitem__(self, place: Any) -> Any:  # noqa: ANN401  (graspologic only iterates)
        raise TypeError("edges are read in their order")


def modularity(
    n_nodes: int,
    sources: ArrayLike,
    targets: ArrayLike,
    weights: ArrayLike,
    membership: ArrayLike,
    resolution: float = 1.0,
) -> float:
    """Return the modularity of a partition: the weight within communities in excess of chance, at most 1.

    Q = Σ_c [ w_c / m − resolution · (S_c / 2m)² ], where m is the sum of all weights, w_c that of the edges
    within community c and S_c the sum of its members' weighted degrees. Newman and Girvan (2004); the
    resolution is that of Reichardt and Bornholdt (2006). Parallel edges add up; a self-loop counts once in
    w_c and twice in S_c. A graph without weight has modularity 0.

    Args:
        n_nodes: Number of nodes, 0 .. n_nodes - 1.
        sources: int (m,), one end of each undirected edge.
        targets: int (m,), the other end.
        weights: float (m,), not negative.
        membership: int (n_nodes,), the label of each node, any integers.
        resolution: Weight of the chance term; not negative.

    Raises:
        ValueError: an argument out of range or of the wrong shape.

    >>> modularity(4, [0, 2], [1, 3], [1.0, 1.0], [7, 7, 9, 9])
    0.5
    """
    source, target = node_ids("sources", sources, n_nodes), node_ids("targets", targets, n_nodes)
    weight = np.asarray(weights, dtype=np.float64)
    labels = np.asarray(membership)
    if not source.shape == target.shape == weight.shape:
        raise ValueError("sources, targets and weights must have one length")
    if labels.shape != (n_nodes,):
        raise ValueError(f"membership must have shape ({n_nodes},), not {labels.shape}")
    check_weights("weights", weight)
    _check("resolution", resolution, 0 <= resolution < np.inf, "not negative and finite")

    total = weight.sum()
    if total == 0:
        return 0.0
    distinct, community = np.unique(labels, return_inverse=True)
    start, end = community[source], community[target]
    within = weight[start == end].sum() / total
    share = np.bincount(start, weights=weight / total, minlength=len(distinct))
    share += np.bincount(end, weights=weight / total, minlength=len(distinct))
    return float(within - resolution * np.square(share / 2).sum())


def hierarchy_of(labels: list[Ints], max_cluster_size: int) -> Hierarchy:
    """Return the hierarchy of labellings, coarsest first, each a refinement of the previous one."""
    levels: list[Ints] = []
    found: list[tuple[int, int | None, Ints]] = []
    for level, labelling in enumerate(labels):
        standing = np.full(len(labelling), -1, dtype=np.int64)
        for members in groups(labelling):
            parent = int(levels[-1][members[0]]) if levels else None
            if parent is not None and len(found[parent][2]) == len(members):
                standing[members] = parent  # a part of the same size is the same set
            else:
                standing[members] = len(found)
                found.append((level, parent, members))
        levels.append(standing)
    whole = set(levels[-1].tolist())
    communities = tuple(
        Group(i, level, parent, members, i in whole and len(members) > max_cluster_size)
        for i, (level, parent, members) in enumerate(found)
    )
    return Hierarchy(communities, tuple(levels))


def groups(labelling: Ints) -> list[Ints]:
    """Return the nodes of each label, ascending; the groups are in the order of their smallest nodes."""
    order, starts = runs(labelling)
    groups = np.split(order, starts[1:]) if len(order) else []
    return sorted(groups, key=lambda members: int(members[0]))


def _check(name: str, value: float, holds: bool, range_: str) -> None:
    if not holds:
        raise ValueError(f"{name} must be {range_}, but is {value}")
