"""The divisive method of Girvan and Newman: the edge that most shortest paths cross goes, again and again.

Girvan and Newman 2002, "Community structure in social and biological networks"; weights as in Newman 2004, "Analysis
of weighted networks": an edge's betweenness is divided by its weight.
"""

from collections.abc import Iterator

import numpy as np
from conspectus.query.methods.fasttog.detection.graph import (
    Partition,
    SmallGraph,
    best_of,
    components,
    largest,
    members,
)
from conspectus.storage.arrays import Floats, Ints

_DIGITS = 9
"""Betweenness is compared to so many digits; of equal edges the first goes."""


def girvan_newman(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return the first split none of whose communities has more than `max_size` nodes.

    Without a bound it is the split of highest modularity. Nothing is drawn, so that every `seed` gives the same.
    """
    if max_size is None:
        return best_of(graph, list(splits(graph)))
    return next(each for each in splits(graph) if largest(each) <= max(max_size, 1))


def splits(graph: SmallGraph) -> Iterator[Partition]:
    """Yield the connected components, and again each time that an edge's removal divides one, to the last edge."""
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
    """Write the betweenness of the edges among the nodes of a component, Brandes' sums for all sources at once."""
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
