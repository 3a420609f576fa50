"""Paths between two entities of a graph: the shortest ones, and if there are few, also those one step longer.

The search is bidirectional: it reads the graph from both ends up to half of the longest path, and joins the halves at
the entities where they meet. Edges are followed in both directions; a path visits an entity once.
"""

from collections.abc import Iterator
from itertools import islice

import numpy as np
from conspectus.query.types.trace import Hop
from conspectus.query.walk.graph import KnowledgeGraph, around
from conspectus.storage.arrays import Bools

_MOST_HALVES = 200
"""Maximum number of path halves, from each end, that are joined at one meeting entity."""
_MOST_PATHS = 2_000
"""Maximum number of paths of one length; meeting entities with few edges come first."""
_ONE_MORE = 1
"""Number of steps by which a path may exceed the shortest one."""


def connecting_paths(
    graph: KnowledgeGraph, one: int, other: int, *, longest: int, enough: int
) -> list[tuple[Hop, ...]]:
    """Return paths from one entity to another.

    Args:
        graph: The graph.
        one: The row of the entity at which paths begin.
        other: The row of the entity at which they end.
        longest: The largest number of steps.
        enough: Longer paths are not sought once this many paths are found.

    Returns:
        The paths as steps, the shortest first, at most 2,000 of each length. The list is empty if no path has at most
        `longest` steps, or if both entities are the same.
    """
    if one == other:
        return []
    near_one = _Distances(graph, one, (longest + 1) // 2)
    near_other = _Distances(graph, other, longest // 2)
    found: list[tuple[Hop, ...]] = []
    last = longest
    for length in range(1, longest + 1):
        if length > last or len(found) >= enough:
            break
        paths = list(islice(_of_length(near_one, near_other, length), _MOST_PATHS))
        if paths and not found:
            last = min(longest, length + _ONE_MORE)
        found += paths
    return found


def _of_length(near_one: "_Distances", near_other: "_Distances", length: int) -> Iterator[tuple[Hop, ...]]:
    """Yield the paths of exactly this length: pairs of halves that share only the entity where they meet."""
    ahead, back = (length + 1) // 2, length // 2
    meeting = np.flatnonzero(near_one.within(ahead) & near_other.within(back))
    degrees = near_one.graph.degrees()[meeting]
    for entity in meeting[np.lexsort((meeting, degrees))].tolist():
        firsts = list(islice(near_one.paths(entity, ahead), _MOST_HALVES))
        for second in islice(near_other.paths(entity, back), _MOST_HALVES) if firsts else ():
            passed = {hop.end for hop in second}
            for first in firsts:
                if not passed & {hop.end for hop in first}:
                    yield (*(_turned(hop) for hop in reversed(first)), *second)


class _Distances:
    """The distance of each entity from a root, up to a maximum, and the paths back to the root."""

    def __init__(self, graph: KnowledgeGraph, root: int, most: int) -> None:
        self.graph = graph
        self._root = root
        _, self._distance = around(graph, [root], most)

    def within(self, steps: int) -> Bools:
        """Return which entities are at most `steps` from the root, bool (n,)."""
        found: Bools = (self._distance >= 0) & (self._distance <= steps)
        return found

    def paths(self, entity: int, steps: int, passed: frozenset[int] = frozenset()) -> Iterator[tuple[Hop, ...]]:
        """Yield the paths of exactly `steps` steps from an entity to the root that visit no entity twice."""
        if steps == 0:
            if entity == self._root:
                yield ()
            return
        if entity == self._root:
            return
        edges = self.graph.edges_of([entity])
        distances = self._distance[edges.neighbours]
        onward = np.flatnonzero((distances >= 0) & (distances < steps))
        passed |= {entity}
        for place in onward.tolist():
            to = int(edges.neighbours[place])
            if to not in passed:
                hop = Hop(int(edges.relation[place]), entity, to, bool(edges.outgoing[place]))
                for rest in self.paths(to, steps - 1, passed):
                    yield (hop, *rest)


def _turned(hop: Hop) -> Hop:
    return Hop(hop.relation, hop.end, hop.start, not hop.outgoing)
