"""Local search for prize-collecting Steiner trees: rebuild the tree in many ways while the profit improves.

Moat growing breaks ties arbitrarily, and there are many if prizes are ranks and edge costs are equal. Given the
distances of all prizes to all nodes, a tree is built quickly: starting at a root, repeatedly join the prize nearest to
the tree by its shortest path (Takahashi, Matsuyama 1980, "An approximate solution for the Steiner problem in graphs").
The search tries other roots, and one prize more or less, as in local searches for this problem (Canuto, Resende,
Ribeiro 2001, "Local search with perturbations for the prize-collecting Steiner tree problem").
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from conspectus.storage.arrays import Floats, Rows
from conspectus.storage.graph.pcst_pruning import SteinerTree, best_subtree

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_MOST_JOINED = 1500
"""Maximum prizes joined to trees, summed over all trees."""
_ROOTS = 60
"""Number of non-prize nodes that are tried as a root: those near many prizes."""
_GAIN = 1e-9
"""Minimum improvement as a share of all prizes; less may be a rounding error."""


def improved(ends: Rows, costs: Floats, prizes: Floats, tree: SteinerTree) -> SteinerTree:
    """Return a tree with at least the same profit; `ends`, `costs`, `prizes` as in `prize_collecting_tree`."""
    search = _Search(ends, costs, prizes)
    while True:
        for found in search.others(tree):
            if found.profit > tree.profit + search.least:
                tree = found
                break
            if search.joined >= _MOST_JOINED:
                return tree
        else:
            return tree


class _Search:
    """A problem, its edges by node, and the distances of its k prizes to all n nodes."""

    def __init__(self, ends: Rows, costs: Floats, prizes: Floats) -> None:
        self.ends, self.costs, self.prizes = ends, costs, prizes
        self.least = _GAIN * float(prizes.sum())
        self.joined = 0
        n = len(prizes)
        at = ends.T.reshape(-1)
        order = np.argsort(at, kind="stable")
        starts = np.searchsorted(at[order], np.arange(n + 1))
        self.starts: list[int] = starts.tolist()
        beside = ends[:, ::-1].T.reshape(-1)[order]
        self.beside: list[int] = beside.tolist()
        self.edge: list[int] = (order % max(1, len(costs))).tolist()
        self.cost: list[float] = costs.tolist()
        self.prized = np.flatnonzero(prizes > 0)
        self.place = {int(node): place for place, node in enumerate(self.prized)}
        self.far, self.toward = _distances(starts, beside, np.tile(costs, 2)[order], self.prized)

    def others(self, tree: SteinerTree) -> Iterator[SteinerTree]:
        """Yield other trees: over all prizes and over those of a tree, from many roots, then with one prize more or
        less."""
        inside = [self.place[node] for node in tree.nodes.tolist() if node in self.place]
        every = list(range(len(self.prized)))
        roots = [*(int(self.prized[item]) for item in inside), *self._central(inside)]
        yield self._built(roots[0], every)
        for place in every:
            wanted = [item for item in inside if item != place] if place in inside else [*inside, place]
            if wanted:
                yield self._built(int(self.prized[wanted[-1]]), wanted)
        for root in roots:
            yield self._built(root, inside)

    def _central(self, inside: list[int]) -> list[int]:
        """Return the nodes, other than prizes, with the smallest distance to three of these prizes."""
        if len(inside) < 3:
            return []
        three = np.partition(self.far[inside], 2, axis=0)[:3].sum(axis=0)
        best = np.argsort(three, kind="stable")[: _ROOTS + len(inside)]
        return [int(item) for item in best if np.isfinite(three[item]) and int(item) not in self.place][:_ROOTS]

    def _built(self, root: int, wanted: list[int]) -> SteinerTree:
        """Return the best subtree of the tree that joins these prizes to a root, nearest first."""
        rows = np.array([item for item in wanted if self.prized[item] != root], np.int64)
        nearest = self.far[rows, root]
        joins = np.full(len(rows), root)
        nodes = {root}
        self.joined += len(rows)
        while len(rows):
            first = int(np.argmin(nearest))
            if not np.isfinite(nearest[first]):
                break
            row = int(rows[first])
            new = self._way(row, int(joins[first]), nodes)
            nodes.update(new)
            left = np.arange(len(rows)) != first
            rows, nearest, joins = rows[left], nearest[left], joins[left]
            if new and len(rows):
                reach = self.far[np.ix_(rows, new)]
                closest = reach.argmin(axis=1)
                distance = reach[np.arange(len(rows)), closest]
                nearer = distance < nearest
                nearest = np.where(nearer, distance, nearest)
                joins = np.where(nearer, np.array(new)[closest], joins)
        return self._over(nodes)

    def _way(self, row: int, node: int, nodes: set[int]) -> list[int]:
        """Return the nodes on the path from a node to a prize, without those already in the tree."""
        way = []
        toward, end = self.toward[row], int(self.prized[row])
        while node != end:
            node = int(toward[node])
            way.append(node)
        return [item for item in way if item not in nodes]

    def _over(self, nodes: Iterable[int]) -> SteinerTree:
        """Return the best subtree of a minimum spanning forest over these nodes."""
        inside = set(nodes)
        rows = sorted(
            {
                self.edge[place]
                for node in inside
                for place in range(self.starts[node], self.starts[node + 1])
                if self.beside[place] in inside
            },
            key=lambda edge: (self.cost[edge], edge),
        )
        parent = {node: node for node in inside}

        def top(node: int) -> int:
            while (above := parent[node]) != node:
                parent[node] = parent[above]
                node = above
            return node

        forest = []
        for row in rows:
            one, other = (top(int(end)) for end in self.ends[row])
            if one != other:
                parent[one] = other
                forest.append(row)
        return best_subtree(self.ends, self.costs, self.prizes, np.array(forest, np.int64))


def _distances(starts: Rows, beside: Rows, costs: Floats, prized: Rows) -> tuple[Floats, npt.NDArray[np.int32]]:
    """Return the distances from prizes to all nodes, float64 (k, n), and the next node on the way, int (k, n).

    Nodes farther than the longest path needed to join all prizes are unreachable.
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import dijkstra

    n = len(starts) - 1
    graph = csr_array((costs, beside, starts), shape=(n, n))
    limit = _longest_join(graph, prized)
    far, toward = dijkstra(graph, directed=True, indices=prized, return_predecessors=True, limit=limit)
    return far, toward


def _longest_join(graph: "csr_array", prized: Rows) -> float:
    """Return the longest path of a minimum spanning tree over the prizes, by where their neighbourhoods meet.

    Mehlhorn 1988, "A faster approximation algorithm for the Steiner problem in graphs".
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra, minimum_spanning_tree

    near, _, nearest = dijkstra(graph, directed=True, indices=prized, return_predecessors=True, min_only=True)
    at = np.repeat(np.arange(len(near)), np.diff(graph.indptr))
    one, other = nearest[at], nearest[graph.indices]
    meet = np.flatnonzero((one >= 0) & (other > one))
    if not len(meet):
        return 0.0
    lengths = graph.data[meet] + near[at[meet]] + near[graph.indices[meet]]
    order = np.lexsort((lengths, other[meet], one[meet]))
    pairs = np.stack([one[meet], other[meet]], axis=1)[order]
    first = np.append(True, (pairs[1:] != pairs[:-1]).any(axis=1))
    ways = coo_array((lengths[order][first], pairs[first].T), shape=graph.shape)
    joined = minimum_spanning_tree(ways.tocsr())
    return float(joined.data.max(initial=0.0))
