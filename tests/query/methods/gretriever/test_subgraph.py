"""The part that is worth most: against all connected parts of small graphs, with prizes on nodes and on edges."""

from itertools import combinations

import numpy as np
import pytest
from conspectus.query.methods.gretriever.retrieval import BestSubgraph, best_part
from conspectus.query.walk.graph import KnowledgeGraph, graph_of


def made(n: int, ends: list[tuple[int, int]]) -> KnowledgeGraph:
    sources, targets = (np.array([each[side] for each in ends], np.int64) for side in (0, 1))
    names = [f"n{row}" for row in range(n)]
    ids = [f"r{row}" for row in range(len(ends))]
    return graph_of(names, ["p"], sources, targets, np.zeros(len(ends), np.int32), names, ids, [""] * len(ends))


def worth(
    part: BestSubgraph, prizes: dict[int, float], edges: np.ndarray[tuple[int], np.dtype[np.float64]], c: float
) -> float:
    return sum(prizes.get(node, 0.0) for node in part.nodes.tolist()) + float((edges[part.relations] - c).sum())


def best_of_all(
    graph: KnowledgeGraph, prizes: dict[int, float], edges: np.ndarray[tuple[int], np.dtype[np.float64]], c: float
) -> float:
    """Return what the best connected set of edges, or node alone, is worth."""
    best = max(prizes.values(), default=0.0)
    rows = range(len(graph.sources))
    for size in range(1, len(graph.sources) + 1):
        for chosen in combinations(rows, size):
            nodes = {int(graph.sources[chosen[0]])}
            for _ in chosen:
                for row in chosen:
                    ends = {int(graph.sources[row]), int(graph.targets[row])}
                    nodes |= ends if ends & nodes else set()
            if all(int(graph.sources[row]) in nodes for row in chosen):
                best = max(best, sum(prizes.get(each, 0.0) for each in nodes) + sum(edges[row] - c for row in chosen))
    return best


@pytest.mark.parametrize("seed", range(40))
def test_the_part_is_connected_and_nearly_the_best(seed: int) -> None:
    random = np.random.default_rng(seed)
    n = int(random.integers(3, 7))
    ends = [(int(a), int(b)) for a, b in random.integers(0, n, (int(random.integers(2, 9)), 2)) if a != b]
    if not ends:
        return
    graph = made(n, ends)
    prizes = {int(row): float(prize) for prize, row in enumerate(random.permutation(n)[:3], start=1)}
    edges = np.where(random.random(len(ends)) < 0.4, random.integers(1, 4, len(ends)), 0).astype(float)
    part = best_part(graph, np.arange(len(ends)), prizes, edges, 0.8)
    held, joined = set(part.nodes.tolist()), {int(part.nodes[0])}
    for _ in ends:
        for row in part.relations.tolist():
            both = {ends[row][0], ends[row][1]}
            assert both <= held
            joined |= both if both & joined else set()
    assert joined == held
    # The edges of a ring need not all be in a tree: of these the solver may leave some out.
    assert worth(part, prizes, edges, 0.8) >= 0.7 * best_of_all(graph, prizes, edges, 0.8)


def test_only_the_given_relations_are_taken() -> None:
    graph = made(3, [(0, 1), (1, 2), (0, 2)])
    part = best_part(graph, np.array([0, 1]), {0: 5.0, 2: 5.0}, np.zeros(2), 1.0)
    assert part.relations.tolist() == [0, 1]


def test_without_prizes_there_is_nothing() -> None:
    part = best_part(made(2, [(0, 1)]), np.arange(1), {}, np.zeros(1), 1.0)
    assert not len(part.nodes)
    assert not len(part.relations)
