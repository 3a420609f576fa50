"""Personalized PageRank: the stationary distribution of a random walk with restart at its seeds.

From a node the walk follows an edge with probability `damping`, in proportion to the edge weights, and
otherwise restarts at a seed, chosen in proportion to the personalization vector s. From a node without edges it
always restarts. With P the row-normalised adjacency (a zero row where a node has no edges), the scores x
solve

    x = damping · Pᵀ x + (1 − damping · ‖Pᵀ x‖₁) · s ,    ‖x‖₁ = 1 .

Page, Brin, Motwani and Winograd, "The PageRank Citation Ranking" (1999), section 6; Haveliwala,
"Topic-sensitive PageRank" (2002). There are two solvers: `power_iteration` reads every edge in every
step and is exact; `forward_push` reads only the surroundings of its seeds. `personalized_pagerank` chooses.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from conspectus.storage.arrays import Bools, Floats, Ints
from conspectus.storage.cancellation import check
from conspectus.storage.errors import NotConverged
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.edges import check_weights, node_ids
from numpy.typing import ArrayLike

EPSILON = 2e-7
"""Waiting mass per neighbour above which a node is pushed. On the questions of three multi-hop sets .990 or more of the
20 best agree with the exact walk, and at a million nodes a push takes a hundredth of igraph's time (benchmarks/walks.py
and benchmarks/ppr.py); 1e-6 is three times as fast and agrees to .983, 1e-7 half as fast and to .995."""

_FEW_SEEDS = 100
_FEW_SEEDS_SHARE = 0.01
"""A push from more seeds than both of these (the second a share of the nodes) covers the whole graph, and is slower
than the exact walk: from the passages of a graph of 23,000 nodes 40 ms instead of 15 ms."""


@dataclass(frozen=True, slots=True, eq=False)
class PageRank:
    """The scores of a walk, and a bound on their error.

    Attributes:
        nodes: int64 (k,), ascending: all nodes (power) or those that were reached (push).
        scores: float64 (k,), parallel to `nodes`; a node that is not listed scores 0.
        residual: the L1 distance to the exact scores: an upper bound (power) or the exact distance (push, where each
            score is a lower bound and `scores.sum() + residual` is 1).
        steps: matrix products (power) or rounds of pushes (push).
        solver: the solver used.
    """

    nodes: Ints
    scores: Floats
    residual: float
    steps: int
    solver: Literal["power", "push"]

    def top(self, k: int) -> tuple[Ints, Floats]:
        """Return up to k best nodes and their scores, best first, equal scores by node id."""
        if k < 0:
            raise ValueError(f"k must not be negative, but is {k}")
        candidates = np.arange(len(self.scores))
        if 0 < k < len(self.scores):
            # Include every node that ties with the k-th, so that the id decides and not the partition.
            candidates = np.flatnonzero(self.scores >= np.partition(self.scores, -k)[-k])
        order = np.lexsort((self.nodes[candidates], -self.scores[candidates]))
        best = candidates[order[:k]]
        return self.nodes[best], self.scores[best]

    def dense(self, n_nodes: int) -> Floats:
        """Return the scores of nodes 0 .. n_nodes - 1, as float64 (n_nodes,)."""
        scores = np.zeros(n_nodes)
        scores[self.nodes] = self.scores
        return scores


def personalized_pagerank(
    adjacency: Adjacency,
    seeds: ArrayLike,
    mass: ArrayLike,
    damping: float = 0.5,
    *,
    exact: bool = False,
) -> PageRank:
    """Return personalized PageRank scores, by forward push from few seeds and by power iteration from many.

    Arguments and errors are those of `forward_push` and `power_iteration`; `exact` forces power iteration.

    >>> path = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> personalized_pagerank(path, [0], [1.0]).solver, personalized_pagerank(path, [0], [1.0], exact=True).solver
    ('push', 'power')
    """
    start, share = _gather_seeds(node_ids("seeds", seeds, adjacency.n_nodes), mass)
    if exact or len(start) > max(_FEW_SEEDS, _FEW_SEEDS_SHARE * adjacency.n_nodes):
        personalization = np.zeros(adjacency.n_nodes)
        personalization[start] = share
        return power_iteration(adjacency, personalization, damping)
    return forward_push(adjacency, start, share, damping)


def power_iteration(
    adjacency: Adjacency,
    personalization: ArrayLike,
    damping: float = 0.5,
    tolerance: float = 1e-10,
    max_steps: int = 200,
) -> PageRank:
    """Return the scores of all nodes, within `tolerance` (L1) of the exact ones; they sum to 1.

    One step is x ← damping · Pᵀ x + (the mass that followed no edge) · s. It shrinks the error at least by
    the factor `damping`, so after a step of length δ the error is at most δ · damping / (1 − damping).

    Args:
        adjacency: the graph, of n nodes.
        personalization: float (n,), the restart distribution; not negative, scaled here to sum 1.
        damping: the probability of following an edge, in [0, 1).
        tolerance: the L1 error at which to stop; below about 1e-14 rounding may hide it.
        max_steps: the maximum number of steps.

    Raises:
        ValueError: an argument out of range, or a personalisation that is zero everywhere.
        NotConverged: the tolerance was not reached in `max_steps`.
        IndexCorrupt: an edge leads to no node.

    >>> path = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> power_iteration(path, [1.0, 0.0, 0.0]).scores.round(3)
    array([0.583, 0.333, 0.083])
    """
    from scipy.sparse import csr_array

    n_nodes = adjacency.n_nodes
    _check_damping(damping)
    if not tolerance > 0:
        raise ValueError(f"tolerance must be above 0, but is {tolerance}")
    restart = np.asarray(personalization, dtype=np.float64)
    if restart.shape != (n_nodes,):
        raise ValueError(f"personalization must have shape ({n_nodes},), not {restart.shape}")
    restart = _distribution("personalization", restart)

    adjacency.check_edges()  # the compiled product does not
    weights = csr_array(
        (adjacency.weights.astype(np.float64), adjacency.indices, adjacency.indptr), shape=(n_nodes, n_nodes)
    )
    # The weights are symmetric, so Pᵀ x = W (x / strength).
    follow = np.zeros(n_nodes)
    np.divide(damping, adjacency.strength, out=follow, where=adjacency.strength > 0)

    scores = restart
    for step in range(1, max_steps + 1):
        check()
        previous = scores
        scores = weights @ (follow * previous)
        scores += (1.0 - scores.sum()) * restart
        residual = float(np.abs(scores - previous).sum()) * damping / (1.0 - damping)
        if residual <= tolerance:
            return PageRank(np.arange(n_nodes, dtype=np.int64), scores, residual, step, "power")
    raise NotConverged(
        f"PageRank is not within {tolerance:g} of its limit after {max_steps} steps at damping {damping:g}; "
        "raise the tolerance or max_steps, or lower the damping"
    )


def forward_push(
    adjacency: Adjacency,
    seeds: ArrayLike,
    mass: ArrayLike,
    damping: float = 0.5,
    epsilon: float = EPSILON,
) -> PageRank:
    """Return lower bounds of the scores around the seeds; their total deficit is `residual`.

    Andersen, Chung and Lang, "Local Graph Partitioning using PageRank Vectors" (2006), section 3, without the
    lazy half of their walk. Mass r waits at the nodes. Pushing node u adds (1 − damping) · r(u) to its score
    and distributes damping · r(u) to its neighbours in proportion to the weights; scores + waiting mass stay 1. All
    nodes with r(u) > epsilon · degree(u) are pushed together, round after round, until there are none. Finally
    nodes with more than epsilon waiting also add (1 − damping) of it to their scores: much mass may wait at a
    hub that is still below its threshold.

    The degree in the threshold is the number of neighbours, not their weight, so the result does not depend
    on the unit of the weights. Since a push reads degree(u) edges and settles more than
    (1 − damping) · epsilon · degree(u), at most 1 / ((1 − damping) · epsilon) edges are read in all, in any
    graph, in addition to those of the seeds. If all weights are equal, each score is within epsilon · degree
    of the exact one, since the walk is reversible; in general `residual` is the bound. The seeds are pushed
    once even if their mass is below the threshold, so the result is never empty.

    Waiting mass, scores and one scratch index are dense arrays whose pages the system allocates on first
    access: a look-up is one indexed read, and time and memory depend on the nodes reached, not on n.

    Args:
        adjacency: the graph.
        seeds: int (k,), where the walk starts and restarts; the mass of a repeated seed is summed.
        mass: float (k,), not negative, parallel to `seeds`; scaled here to sum 1.
        damping: the probability of following an edge, in [0, 1).
        epsilon: the waiting mass per neighbour above which a node is pushed; above 0.

    Raises:
        ValueError: an argument out of range, no seeds, or no mass.
        IndexCorrupt: an edge that was read leads to no node.

    >>> path = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    >>> walk = forward_push(path, [0], [1.0])
    >>> walk.nodes, walk.scores.round(3), walk.residual < 1e-6
    (array([0, 1, 2]), array([0.583, 0.333, 0.083]), True)
    """
    if not epsilon > 0:
        raise ValueError(f"epsilon must be above 0, but is {epsilon}")
    start, begun = begun_mass(adjacency, seeds, mass, damping)
    isolated = _are_isolated(adjacency, start)
    settled, waiting = np.zeros(adjacency.n_nodes), np.zeros(adjacency.n_nodes)
    settled[start[isolated]] = begun[isolated]
    frontier = start[~isolated]
    waiting[frontier] = begun[~isolated] / (1.0 - damping)
    residual = float(waiting[frontier].sum())

    place = np.empty(adjacency.n_nodes, dtype=np.int64)
    reached, steps = [start], 0
    while len(frontier):
        check()
        steps += 1
        moved = waiting[frontier]
        waiting[frontier] = 0.0
        settled[frontier] += (1.0 - damping) * moved
        residual -= (1.0 - damping) * float(moved.sum())

        degrees, neighbours, weights = adjacency.edges_of(frontier)
        np.add.at(waiting, neighbours, np.repeat(damping * moved / adjacency.strength[frontier], degrees) * weights)
        noticed = _distinct(neighbours[waiting[neighbours] > epsilon], place)
        degrees = adjacency.indptr[noticed + 1] - adjacency.indptr[noticed]
        frontier = noticed[waiting[noticed] > epsilon * degrees]
        reached.append(noticed)

    nodes = np.sort(_distinct(np.concatenate(reached), place))
    kept = (1.0 - damping) * waiting[nodes]
    return PageRank(nodes, settled[nodes] + kept, max(residual - float(kept.sum()), 0.0), steps, "push")


def begun_mass(adjacency: Adjacency, seeds: ArrayLike, mass: ArrayLike, damping: float) -> tuple[Ints, Floats]:
    """Return the distinct seeds with mass, ascending, and the mass of the walk without edges from each.

    An isolated node is reached by restarts only, so its share is known in advance: each visit to it lasts one step,
    each excursion from another seed 1 / (1 - damping) steps on average.

    Raises:
        ValueError: an argument out of range, no seeds, or no mass.

    >>> begun_mass(Adjacency.from_edges(2, [0], [1], [1.0]), [0, 1, 0], [1.0, 2.0, 1.0], 0.5)
    (array([0, 1]), array([0.25, 0.25]))
    """
    _check_damping(damping)
    start, share = _gather_seeds(node_ids("seeds", seeds, adjacency.n_nodes), mass)
    isolated = _are_isolated(adjacency, start)
    per_visit = 1.0 / (share[isolated].sum() + share[~isolated].sum() / (1.0 - damping))
    return start, share * per_visit


def _are_isolated(adjacency: Adjacency, nodes: Ints) -> Bools:
    isolated: Bools = adjacency.indptr[nodes + 1] == adjacency.indptr[nodes]
    return isolated


def _distinct(nodes: Ints, place: Ints) -> Ints:
    """Return the distinct nodes, in no particular order; `place` is scratch space for every node of the graph.

    Sorting instead would take half the time of a push.
    """
    own = np.arange(len(nodes))
    place[nodes] = own
    return nodes[np.equal(place[nodes], own)]


def _gather_seeds(seeds: Ints, mass: ArrayLike) -> tuple[Ints, Floats]:
    """Return the distinct seeds that have mass, ascending, and their shares, which sum to 1."""
    amounts = np.asarray(mass, dtype=np.float64)
    if amounts.shape != seeds.shape:
        raise ValueError(f"mass must have one entry per seed ({seeds.shape}), but has shape {amounts.shape}")
    shares = _distribution("mass", amounts)
    distinct, place = np.unique(seeds, return_inverse=True)
    totals = np.bincount(place, weights=shares, minlength=len(distinct)).astype(np.float64)
    return distinct[totals > 0], totals[totals > 0]


def _distribution(name: str, values: Floats) -> Floats:
    """Return the values scaled to sum 1."""
    check_weights(name, values)
    largest = values.max(initial=0.0)
    if largest == 0:
        raise ValueError(f"{name} must have a value above 0")
    scaled: Floats = values / largest  # first, so that the sum cannot overflow
    scaled /= scaled.sum()
    return scaled


def _check_damping(damping: float) -> None:
    if not 0 <= damping < 1:
        raise ValueError(f"damping must be in [0, 1), but is {damping}")
