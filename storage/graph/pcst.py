"""Prize-collecting Steiner trees: connected subgraphs that maximise prizes minus edge costs.

Two steps. `grow` is the primal-dual scheme of Goemans and Williamson 1995, "A general approximation technique for
constrained forest problems", section 4, without a root as in Johnson, Minkoff, Phillips 2000, "The prize collecting
Steiner tree problem"; edges are watched from both ends, in parts, as in Hegde, Indyk, Schmidt 2014, "A fast, adaptive
variant of the Goemans-Williamson scheme". All clusters with remaining budget grow at the same speed and pay for their
boundary edges from the prizes inside. A cluster without budget stops. When two clusters have paid an edge in full, they
merge and share the remaining budget. Growing ends when at most one cluster is active.

`best_subtree` keeps the most profitable subtree of the resulting forest: strong pruning (Johnson et al., section 3)
over all choices of the top.
"""

from dataclasses import dataclass
from heapq import heappop, heappush

import numpy as np
from conspectus.storage.arrays import Bools, Floats, Rows
from conspectus.storage.cancellation import check
from numpy.typing import ArrayLike


@dataclass(frozen=True, slots=True, eq=False)
class SteinerTree:
    """A tree: its node rows (t,) and edge rows (t - 1,), ascending; `profit` is the prizes minus the costs."""

    nodes: Rows
    edges: Rows
    profit: float


def best_subtree(ends: Rows, costs: Floats, prizes: Floats, forest: Rows) -> SteinerTree:
    """Return the subtree of a forest (edge rows) with the highest sum of prizes minus costs, exactly.

    A node's value is its prize plus, for each subtree below it, its value minus the cost of the edge to it if that is
    positive; the best subtree is that of the node with the highest value. Ties go to the lowest node. Isolated nodes
    are trees of one node.
    """
    if not len(forest):
        best = int(np.argmax(prizes))
        return SteinerTree(np.array([best], np.int64), np.empty(0, np.int64), float(prizes[best]))
    names, places = np.unique(ends[forest].T, return_inverse=True)  # below, nodes are positions in this array
    at = places.reshape(-1)
    order = np.argsort(at, kind="stable")
    starts: list[int] = np.searchsorted(at[order], np.arange(len(names) + 1)).tolist()
    beside: list[int] = at[order - len(forest)].tolist()  # the other end: half of the list further on, or back
    edge: list[int] = (order % len(forest)).tolist()
    value: list[float] = prizes[names].tolist()
    cost: list[float] = costs[forest].tolist()
    reached: list[int] = []
    above, edge_up = [-1] * len(value), [-1] * len(value)
    for top in range(len(value)):
        if above[top] >= 0:
            continue
        above[top] = top
        waiting = [top]
        for node in waiting:
            for place in range(starts[node], starts[node + 1]):
                other = beside[place]
                if above[other] < 0:
                    above[other], edge_up[other] = node, edge[place]
                    waiting.append(other)
        reached += waiting
    taken = [False] * len(value)
    for node in reversed(reached):
        if edge_up[node] >= 0 and (brings := value[node] - cost[edge_up[node]]) > 0:
            value[above[node]] += brings
            taken[node] = True
    best, alone = int(np.argmax(value)), int(np.argmax(prizes))
    if prizes[alone] > value[best]:
        return SteinerTree(np.array([alone], np.int64), np.empty(0, np.int64), float(prizes[alone]))
    nodes = [best]
    for node in nodes:
        nodes += [other for other in beside[starts[node] : starts[node + 1]] if taken[other] and above[other] == node]
    edges = np.array([edge_up[node] for node in nodes[1:]], np.int64)
    return SteinerTree(names[np.sort(np.array(nodes, np.int64))], np.sort(forest[edges]), value[best])


def prize_collecting_tree(ends: ArrayLike, costs: ArrayLike, prizes: ArrayLike) -> SteinerTree:
    """Return a 2-approximate tree: its cost plus the prizes outside it is at most twice the optimum.

    Near-linear in the edges. The same input gives the same tree; without any prize it is empty.

    Args:
        ends: int (m, 2), the two nodes of each edge; parallel edges and loops are allowed.
        costs: float (m,), not negative.
        prizes: float (n,), not negative.

    Raises:
        ValueError: The shapes do not match, a node does not exist, or a number is negative or infinite.
    """
    joined = np.asarray(ends, np.int64).reshape(-1, 2)
    takes = np.asarray(costs, np.float64)
    worth = np.asarray(prizes, np.float64)
    _check(joined, takes, worth)
    if not worth.any():
        return SteinerTree(np.empty(0, np.int64), np.empty(0, np.int64), 0.0)
    return best_subtree(joined, takes, worth, grow(joined, takes, worth))


def _check(ends: Rows, costs: Floats, prizes: Floats) -> None:
    if costs.shape != (len(ends),) or prizes.ndim != 1:
        raise ValueError(f"{len(ends)} edges have costs of shape {costs.shape}, and prizes have shape {prizes.shape}")
    if ends.size and not (ends.min() >= 0 and ends.max() < len(prizes)):
        raise ValueError(f"an edge has a node outside 0 .. {len(prizes) - 1}")
    for name, numbers in (("cost", costs), ("prize", prizes)):
        if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
            raise ValueError(f"a {name} is negative or not finite")


_NEGLIGIBLE = 1e-12
"""Share of all prizes below which an unpaid remainder is a rounding error."""


def grow(ends: Rows, costs: Floats, prizes: Floats) -> Rows:
    """Return the rows of the tight edges (f,), those paid in full: a forest over the nodes.

    Near-linear: each edge is examined a few times, however often its clusters stop and restart.

    Args:
        ends: int64 (m, 2), the two nodes of each edge.
        costs: float64 (m,), not negative.
        prizes: float64 (n,), not negative.
    """
    moats = _Moats(ends, costs, prizes)
    moats.run()
    return np.array(moats.paid, np.int64)


class _Moats:
    """The state of growing. Clusters are a union-find forest over the nodes; a root's array entries describe its
    cluster.

    The growth at a node is the amount that the clusters containing it have paid so far: the sum of `offset` from the
    node up to, but excluding, its root, plus the root's clock. A cluster's clock read `grown` at time `since` and
    advances while the cluster is active; `left` was its remaining budget at that time. Its heap contains (clock, part)
    pairs: the clock reading at which it must examine an edge from that end. The growth still allowed at both ends of an
    edge together never exceeds its unpaid cost, so no edge becomes fully paid unnoticed. A node that has never grown
    has no heap: it has paid nothing, and its edges are examined when it joins a growing cluster.
    """

    def __init__(self, ends: Rows, costs: Floats, prizes: Floats) -> None:
        n, self.m = len(prizes), len(costs)
        self.at: list[int] = ends.T.reshape(-1).tolist()
        """The node at each part: an edge has the parts edge, at its first end, and edge + m, at its second."""
        self.far: list[int] = ends[:, ::-1].T.reshape(-1).tolist()
        """The node at the other end."""
        self.costs: list[float] = costs.tolist()
        self.tiny = _NEGLIGIBLE * float(prizes.sum())
        self.parent = list(range(n))
        self.offset = [0.0] * n
        self.left: list[float] = prizes.tolist()
        self.grown = [0.0] * n
        self.since = [0.0] * n
        self.active: list[bool] = (prizes > 0).tolist()
        self.n_active = sum(self.active)
        self.size = [1] * n
        self.stamp = [0] * n
        self.events: list[tuple[float, int, int]] = []
        self.paid: list[int] = []
        self.heaps: list[list[tuple[float, int]] | None] = [None] * n
        self._begin(ends, costs, prizes > 0)

    def _begin(self, ends: Rows, costs: Floats, active: Bools) -> None:
        """Fill the heaps of the initially active nodes: half an edge each, or all of it."""
        share = np.where(active[ends].all(axis=1), costs / 2, costs)
        allowed = np.where(active[ends.T], share, 0.0).reshape(-1)
        self.allowed: list[float] = allowed.tolist()
        """By part: the clock at which its cluster examines it; other heap entries for it are out of date."""
        at = ends.T.reshape(-1)
        order = np.lexsort((allowed, at))  # stable: ties by part
        self.starts: list[int] = np.searchsorted(at[order], np.arange(len(active) + 1)).tolist()
        self.parts: list[int] = order.tolist()
        """The parts at each node."""
        waiting = list(zip(allowed[order].tolist(), self.parts, strict=True))
        for node in np.flatnonzero(active).tolist():
            self.heaps[node] = waiting[self.starts[node] : self.starts[node + 1]]  # sorted, so a heap
            self._schedule(node)

    def run(self) -> None:
        """Grow until at most one cluster is active."""
        while self.n_active > 1 and self.events:
            check()
            time, root, stamp = heappop(self.events)
            if stamp != self.stamp[root]:
                continue
            heap = self.heaps[root]
            stop = self.since[root] + self.left[root]
            if heap and self.since[root] + (heap[0][0] - self.grown[root]) <= stop:
                self._look(root, heappop(heap)[1], time)
            else:
                self._set(root, stop)
                self.left[root] = 0.0
                self.active[root] = False
                self.n_active -= 1

    def _look(self, root: int, part: int, time: float) -> None:
        """Examine an edge from one end: it is fully paid, or its unpaid cost is divided again."""
        far = self._root(self.far[part])
        if root == far:
            self._schedule(root)
            return
        self._set(root, time)
        self._set(far, time)
        edge, far_part = (part, part + self.m) if part < self.m else (part - self.m, part - self.m)
        left = self.costs[edge] - self._growth(self.at[part]) - self._growth(self.far[part])
        if left <= self.tiny:
            self.paid.append(edge)
            self._join(root, far, time)
            return
        share = left / 2 if self.active[far] else left
        self._wait(root, part, share)
        self._wait(far, far_part, left - share)
        self._schedule(root)
        self._schedule(far)

    def _join(self, one: int, other: int, time: float) -> None:
        """Merge two clusters, both set to this time; the smaller heap is poured into the larger."""
        woken = [item for item in (one, other) if self.heaps[item] is None]
        large, small = (one, other) if self._weight(one) >= self._weight(other) else (other, one)
        self.n_active -= self.active[one] + self.active[other]
        self.parent[small] = large
        self.offset[small] = self.grown[small] - self.grown[large]
        self.left[large] += self.left[small]
        self.size[large] += self.size[small]
        self.active[large] = self.left[large] > 0
        self.n_active += self.active[large]
        into = self.heaps[large] = self.heaps[large] or []
        later = self.grown[large] - self.grown[small]
        allowed, far, root = self.allowed, self.far, self._root
        for clock, part in self.heaps[small] or ():
            if clock == allowed[part] and root(far[part]) != large:
                allowed[part] = clock + later
                heappush(into, (clock + later, part))
        self.heaps[small] = []
        self.stamp[small] += 1
        for node in woken:
            self._wake(node, large, time)
        self._schedule(large)

    def _wake(self, node: int, root: int, time: float) -> None:
        """Examine the edges of a node, now in the cluster of `root`, that never grew before."""
        for part in self.parts[self.starts[node] : self.starts[node + 1]]:
            far = self._root(self.far[part])
            if far == root:
                continue
            self._set(far, time)
            edge, far_part = (part, part + self.m) if part < self.m else (part - self.m, part - self.m)
            left = self.costs[edge] - self._growth(node) - self._growth(self.far[part])
            share = left / 2 if self.active[far] else left
            self._wait(root, part, share)
            if self.heaps[far] is not None:
                self._wait(far, far_part, left - share)
                self._schedule(far)

    def _wait(self, root: int, part: int, growth: float) -> None:
        """Schedule the cluster to examine an end of an edge after growing by this much from its current clock."""
        clock = self.grown[root] + max(growth, 0.0)
        self.allowed[part] = clock
        heap = self.heaps[root]
        if heap is None:
            return
        heappush(heap, (clock, part))

    def _schedule(self, root: int) -> None:
        """Schedule the next time when a cluster examines an edge or stops; edges inside it are dropped."""
        if not self.active[root]:
            return
        heap = self.heaps[root] or []
        while heap and (heap[0][0] != self.allowed[heap[0][1]] or self._root(self.far[heap[0][1]]) == root):
            heappop(heap)
        time = self.since[root] + self.left[root]
        if heap:
            time = min(time, self.since[root] + (heap[0][0] - self.grown[root]))
        self.stamp[root] += 1
        heappush(self.events, (time, root, self.stamp[root]))

    def _set(self, root: int, time: float) -> None:
        """Set the clock of a cluster to this time."""
        if self.active[root]:
            passed = time - self.since[root]
            self.grown[root] += passed
            self.left[root] -= passed
        self.since[root] = time

    def _root(self, node: int) -> int:
        """Return the root of a node, with path halving."""
        parent = self.parent
        above = parent[node]
        while above != node:
            top = parent[above]
            if top == above:
                return above
            self.offset[node] += self.offset[above]
            parent[node] = top
            node, above = top, parent[top]
        return node

    def _growth(self, node: int) -> float:
        """Return the growth at a node: the amount paid by the clusters around it; its root's clock must be current."""
        total = 0.0
        while (above := self.parent[node]) != node:
            total += self.offset[node]
            node = above
        return total + self.grown[node]

    def _weight(self, root: int) -> int:
        return len(self.heaps[root] or ()) + self.size[root]
