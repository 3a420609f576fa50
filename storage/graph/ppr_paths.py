"""Paths behind a personalized PageRank score: those that carry the most mass from the seeds to a node.

The scores of `pagerank` are a sum over walks. With s the personalization vector, P the row-normalised adjacency and d
the damping, the solution is x = c (s + d Pᵀ s + d² Pᵀ² s + ...), so that

    x(v) = sum over walks u0, ..., ul = v of  c · s(u0) · product over its edges of  d · w(ui, ui+1) / strength(ui) .

c is 1 − d if every seed has edges; isolated seeds make it larger, because a walk restarts there immediately. Walks that
visit no node twice are paths, and the few that carry the most mass explain why a node was found.
"""

from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import pairwise

import numpy as np
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import begun_mass
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True)
class MassPath:
    """A path from a seed, `nodes[0]`, to the target, `nodes[-1]`, and the mass that it carries there.

    A target that is a seed itself has a path of one node.
    """

    nodes: tuple[int, ...]
    mass: float


def top_paths(
    adjacency: Adjacency,
    seeds: ArrayLike,
    mass: ArrayLike,
    target: int,
    *,
    damping: float,
    count: int,
    least: float,
) -> list[MassPath]:
    """Return the paths that carry the most mass to a node: at most `count`, best first, each at least `least`.

    Paths are grown backwards from the target, always the one that may carry most: the largest mass that a walk from the
    seeds brings to its front (Dijkstra over the products of the factors above, only as far as needed), times the
    fraction that the path passes on. So the first `count` paths that begin at a seed are the best. With x(v) the
    target's score, at most x(v) / least paths of any one length are examined, and none longer than log(least) / log(d):
    the walks through different paths of one length are different walks, whose masses sum to no more than x(v). So
    `least` bounds the work in any graph.

    Args:
        adjacency: The graph.
        seeds: int (k,), as in `forward_push`; the mass of repeated seeds is summed.
        mass: float (k,), not negative; scaled to sum 1.
        target: The node to explain.
        damping: Probability of following an edge, in [0, 1).
        count: Maximum number of paths.
        least: Minimum mass of a path, above 0; a thousandth of the target's score works well.

    Raises:
        ValueError: an argument out of range, or no mass.
        IndexCorrupt: an edge that was read leads to no node.

    >>> path = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> top_paths(path, [0], [1.0], 2, damping=0.5, count=9, least=1e-6)
    [MassPath(nodes=(0, 1, 2), mass=0.0625)]
    """
    if not 0 <= target < adjacency.n_nodes:
        raise ValueError(f"target must be in 0 .. {adjacency.n_nodes - 1}, but is {target}")
    if not least > 0:
        raise ValueError(f"least must be above 0, but is {least}")
    nodes, begun = begun_mass(adjacency, seeds, mass, damping)
    start: dict[int, float] = dict(zip(nodes.tolist(), begun.tolist(), strict=True))
    best = _BestWalks(adjacency, start, damping)
    found: list[MassPath] = []
    # (bound negated, path backwards, fraction it passes on, whether it is complete)
    front: list[tuple[float, tuple[int, ...], float, bool]] = [(-best.bound(target), (target,), 1.0, False)]
    while front and len(found) < count:
        bound, backwards, passed, whole = heappop(front)
        if whole:
            found.append(MassPath(backwards[::-1], -bound))
            continue
        first = backwards[-1]
        best.settle(first, max(least, -front[0][0] if front else 0.0) / passed)
        if best.bound(first) * passed < -bound:  # less than the bound: others may come first
            if best.bound(first) * passed >= least:
                heappush(front, (-best.bound(first) * passed, backwards, passed, False))
            continue
        if start.get(first, 0.0) * passed >= least:
            heappush(front, (-start[first] * passed, backwards, passed, True))
        _, neighbours, weights = adjacency.edges_of(np.array([first]))
        factors = damping * passed / adjacency.strength[neighbours] * weights
        dead_ends = adjacency.indptr[neighbours + 1] - adjacency.indptr[neighbours] == 1
        for node, factor, dead_end in zip(neighbours.tolist(), factors.tolist(), dead_ends.tolist(), strict=True):
            leads_on = node in start or not dead_end
            if leads_on and node not in backwards and best.bound(node) * factor >= least:
                heappush(front, (-best.bound(node) * factor, (*backwards, node), factor, False))
    return found


def carried(adjacency: Adjacency, begun: dict[int, float], walk: tuple[int, ...], damping: float) -> float:
    """Return the mass of one walk, given by its nodes; 0 if it does not begin at a seed or a step is not an edge.

    >>> path = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> carried(path, {0: 0.5}, (0, 1, 0, 1), 0.5)
    0.03125
    """
    product = begun.get(walk[0], 0.0)
    for source, end in pairwise(walk):
        product *= damping * edge_weight(adjacency, source, end) / (adjacency.strength[source] or 1.0)
    return float(product)


def edge_weight(adjacency: Adjacency, source: int, end: int) -> float:
    """Return the weight of the edge between two nodes, 0 if there is none."""
    first, last = adjacency.indptr[source], adjacency.indptr[source + 1]
    at = first + np.searchsorted(adjacency.indices[first:last], end)
    return float(adjacency.weights[at]) if at < last and adjacency.indices[at] == end else 0.0


class _BestWalks:
    """The maximum mass of a single walk from the seeds to each node, by Dijkstra's algorithm, run as far as needed."""

    def __init__(self, adjacency: Adjacency, start: dict[int, float], damping: float) -> None:
        self._adjacency = adjacency
        self._damping = damping
        self._settled: dict[int, float] = {}
        self._front = sorted((-amount, node) for node, amount in start.items())

    def bound(self, node: int) -> float:
        """Return the maximum mass of a walk to a node, or an upper bound if it is not settled."""
        if node in self._settled:
            return self._settled[node]
        return -self._front[0][0] if self._front else 0.0

    def settle(self, node: int, least: float) -> None:
        """Continue until a node is settled, or no walk can carry `least` to it."""
        while node not in self._settled and self._front and -self._front[0][0] >= least:
            self._next()

    def _next(self) -> None:
        amount, node = heappop(self._front)
        if node in self._settled:
            return
        self._settled[node] = -amount
        _, neighbours, weights = self._adjacency.edges_of(np.array([node]))
        amounts = (-amount * self._damping / (self._adjacency.strength[node] or 1.0)) * weights.astype(np.float64)
        for other, passed in zip(neighbours.tolist(), amounts.tolist(), strict=True):
            if other not in self._settled and passed > 0:
                heappush(self._front, (-passed, other))
