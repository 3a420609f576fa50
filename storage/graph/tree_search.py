"""Improving a prize-collecting Steiner tree by small changes, as long as one brings more prize less cost.

Growing decides ties blindly, and where prizes are ranks and all edges cost the same there are many. Three changes are
tried, as in local searches for this problem (Canuto, Resende, Ribeiro 2001, "Local search with perturbations for the
prize-collecting Steiner tree problem"): prizes outside are attached by their cheapest path; the prizes inside are
joined anew by the paths between their neighbourhoods (Mehlhorn 1988, "A faster approximation algorithm for the Steiner
problem in graphs"); a node beside the tree is taken in, if the cheapest tree over all nodes is better so.
"""

from collections.abc import Iterable
from heapq import heapify, heappop, heappush

import numpy as np
import numpy.typing as npt

from storage.graph.subtree import SteinerTree, best_subtree

Rows = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

_MOST_TRIED = 256
"""Nodes that are tried one by one."""
_GAIN = 1e-9
"""Least gain, as a part of all prizes: below are rounding errors."""


def improved(ends: Rows, costs: Floats, prizes: Floats, tree: SteinerTree) -> SteinerTree:
    """Return a tree of at least the same profit; `ends`, `costs`, `prizes` as in `prize_collecting_tree`."""
    search = _Search(ends, costs, prizes)
    while True:
        found = search.better(tree)
        if found is None:
            return tree
        tree = found


class _Search:
    """A problem, its edges by node, and how many nodes were tried so far."""

    def __init__(self, ends: Rows, costs: Floats, prizes: Floats) -> None:
        self.ends, self.costs, self.prizes = ends, costs, prizes
        self.least = _GAIN * float(prizes.sum())
        self.tried = 0
        at = ends.T.reshape(-1)
        order = np.argsort(at, kind="stable")
        self.starts: list[int] = np.searchsorted(at[order], np.arange(len(prizes) + 1)).tolist()
        far = ends[:, ::-1].T.reshape(-1)[order]
        self.beside: list[tuple[int, float]] = list(zip(far.tolist(), np.tile(costs, 2)[order].tolist(), strict=True))

    def better(self, tree: SteinerTree) -> SteinerTree | None:
        """Return the first change that brings more, None where none does."""
        for found in (self._attached(tree), self._joined_anew(tree)):
            if found.profit > tree.profit + self.least:
                return found
        for node in self._neighbours(tree):
            if self.tried == _MOST_TRIED:
                return None
            self.tried += 1
            found = self._over([*tree.nodes.tolist(), node])
            if found.profit > tree.profit + self.least:
                return found
        return None

    def _attached(self, tree: SteinerTree) -> SteinerTree:
        """Return the tree with the prizes outside that are worth their way."""
        inside = np.zeros(len(self.prizes), bool)
        inside[tree.nodes] = True
        outside = np.flatnonzero((self.prizes > 0) & ~inside)
        ways = self._ways(tree.nodes, float(self.prizes[outside].max(initial=0.0)))
        nodes = set(tree.nodes.tolist())
        for node in outside.tolist():
            if node in ways and ways[node][0] <= self.prizes[node]:
                nodes.update(_way_back(ways, node))
        return self._over(nodes)

    def _joined_anew(self, tree: SteinerTree) -> SteinerTree:
        """Return a tree over the same prizes, joined by the shortest ways between their neighbourhoods."""
        prized = tree.nodes[self.prizes[tree.nodes] > 0]
        ways = self._ways(prized, float(self.costs[tree.edges].sum()))
        far = np.full(len(self.prizes), np.inf)
        nearest = np.full(len(self.prizes), -1, np.int64)
        for node, (distance, _, start) in ways.items():
            far[node], nearest[node] = distance, start
        one, other = self.ends[:, 0], self.ends[:, 1]
        between = np.flatnonzero((nearest[one] != nearest[other]) & (nearest[one] >= 0) & (nearest[other] >= 0))
        lengths = self.costs[between] + far[one[between]] + far[other[between]]
        joins = np.stack([nearest[one[between]], nearest[other[between]]], axis=1)
        nodes = set(prized.tolist())
        for edge in between[spanning_forest(joins, lengths)].tolist():
            for node in self.ends[edge].tolist():
                nodes.update(_way_back(ways, node))
        return self._over(nodes)

    def _neighbours(self, tree: SteinerTree) -> list[int]:
        """Return the nodes beside a tree that two or more edges lead to, those with most first."""
        inside = np.zeros(len(self.prizes), bool)
        inside[tree.nodes] = True
        leads = inside[self.ends]
        rows = np.flatnonzero(leads[:, 0] != leads[:, 1])
        count = np.bincount(np.where(leads[rows, 0], self.ends[rows, 1], self.ends[rows, 0]), minlength=len(inside))
        beside = np.flatnonzero(count > 1)
        return [int(each) for each in beside[np.argsort(-count[beside], kind="stable")]]

    def _over(self, nodes: Iterable[int]) -> SteinerTree:
        """Return the best part of the cheapest trees that join these nodes among themselves."""
        inside = np.zeros(len(self.prizes), bool)
        inside[list(nodes)] = True
        rows = np.flatnonzero(inside[self.ends].all(axis=1))
        forest = rows[spanning_forest(self.ends[rows], self.costs[rows])]
        return best_subtree(self.ends, self.costs, np.where(inside, self.prizes, 0.0), forest)

    def _ways(self, starts: Rows, limit: float) -> dict[int, tuple[float, int, int]]:
        """Return by node within `limit`: its distance to the nearest start, the node before it, and that start."""
        ways = {int(each): (0.0, int(each), int(each)) for each in starts}
        waiting = [(0.0, each) for each in ways]
        heapify(waiting)
        while waiting:
            distance, node = heappop(waiting)
            if distance > ways[node][0]:
                continue
            for other, cost in self.beside[self.starts[node] : self.starts[node + 1]]:
                there = distance + cost
                if there <= limit and (other not in ways or there < ways[other][0]):
                    ways[other] = (there, node, ways[node][2])
                    heappush(waiting, (there, other))
        return ways


def spanning_forest(ends: Rows, costs: Floats) -> Rows:
    """Return the rows of the edges of a cheapest spanning forest, ties by row (Kruskal's algorithm)."""
    parent: dict[int, int] = {}

    def root(node: int) -> int:
        while (above := parent.setdefault(node, node)) != node:
            parent[node] = parent[above]
            node = above
        return node

    rows: list[int] = []
    joined: list[list[int]] = ends.tolist()
    for row in np.argsort(costs, kind="stable").tolist():
        one, other = map(root, joined[row])
        if one != other:
            parent[one] = other
            rows.append(row)
    return np.array(rows, np.int64)


def _way_back(ways: dict[int, tuple[float, int, int]], node: int) -> list[int]:
    way = [node]
    while (before := ways[node][1]) != node:
        way.append(before)
        node = before
    return way
