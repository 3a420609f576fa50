"""The Louvain method with a bound on the size of communities.

Blondel et al. 2008, "Fast unfolding of communities in large networks". Its first level is usually larger already than
the few nodes that FastToG allows, so that no earlier state could be gone back to: moves that would pass the bound are
refused instead, of nodes on the first level and of whole communities on the later ones.
"""

import random

from conspectus.query.methods.fasttog.detection.graph import Partition, SmallGraph, numbered

_GAIN = 1e-12
"""A move must gain more than this: rounding is no gain."""

_Level = list[dict[int, float]]
"""For each node its neighbours and the weights between them; a loop counts twice."""


def louvain(graph: SmallGraph, max_size: int | None = None, seed: int = 7) -> Partition:
    """Return the communities that greedy moves find, none of more than `max_size` nodes."""
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
        found = [moved[each] for each in found]
        level, sizes = _aggregated(level, sizes, moved, count)
    return numbered(found)


def _moved(level: _Level, sizes: list[int], total: float, most: int, order: random.Random) -> list[int]:
    """Return the community of each node when no single move gains any more."""
    degree = [sum(each.values()) for each in level]
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
