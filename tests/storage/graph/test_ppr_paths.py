from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import pytest
from conspectus.storage.arrays import Floats
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import begun_mass, power_iteration
from conspectus.storage.graph.ppr_paths import carried, top_paths
from hypothesis import given
from hypothesis import strategies as st

Case = tuple[Adjacency, Floats, float]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small graph with isolated nodes and several components, a personalisation and a damping."""
    n_nodes = draw(st.integers(1, 6))
    node = st.integers(0, n_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.floats(0.125, 8)), max_size=12))
    restart = draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 7.0]), min_size=n_nodes, max_size=n_nodes))
    restart[draw(node)] = 1.0
    graph = Adjacency.from_edges(n_nodes, *([e[k] for e in edges] for k in range(3)))
    return graph, np.array(restart), draw(st.sampled_from([0.0, 0.3, 0.5, 0.85]))


def steps_of(graph: Adjacency) -> Floats:
    """The row-normalised adjacency, written out."""
    dense = np.zeros((graph.n_nodes, graph.n_nodes))
    for row in range(graph.n_nodes):
        entries = slice(graph.indptr[row], graph.indptr[row + 1])
        dense[row, graph.indices[entries]] = graph.weights[entries]
    return dense / np.maximum(dense.sum(axis=1, keepdims=True), 1e-300)


def walks(steps: Floats, end: int, length: int) -> Iterator[tuple[int, ...]]:
    """All walks of so many edges to a node."""
    if length == 0:
        yield (end,)
        return
    for before in np.flatnonzero(steps[:, end]).tolist():
        for walk in walks(steps, before, length - 1):
            yield (*walk, end)


def begun(graph: Adjacency, restart: Floats, damping: float) -> dict[int, float]:
    nodes, masses = begun_mass(graph, np.arange(graph.n_nodes), restart, damping)
    return dict(zip(nodes.tolist(), masses.tolist(), strict=True))


@given(cases())
def test_the_masses_of_all_walks_sum_to_the_score(case: Case) -> None:
    """Up to any length: what is missing is the mass of longer walks, at most damping to that length."""
    graph, restart, damping = case
    first, steps = begun(graph, restart, damping), steps_of(graph)
    scores = power_iteration(graph, restart, damping, tolerance=1e-13).scores
    summed = np.zeros(graph.n_nodes)
    for length in range(5):
        for node in range(graph.n_nodes):
            summed[node] += sum(carried(graph, first, walk, damping) for walk in walks(steps, node, length))
        missing = scores - summed
        assert missing.min() > -1e-9
        assert missing.sum() < damping ** (length + 1) + 1e-9


@given(cases(), st.integers(1, 8), st.sampled_from([1.3e-9, 1.013e-3, 0.04937]))
def test_the_best_paths_are_those_of_all(case: Case, count: int, least: float) -> None:
    """Against all walks without a repeated node, each with its product of the dense matrix's entries."""
    graph, restart, damping = case
    steps, first = steps_of(graph), begun(graph, restart, damping)
    for target in range(graph.n_nodes):
        masses: dict[tuple[int, ...], float] = {}
        for length in range(graph.n_nodes):
            for walk in walks(steps, target, length):
                if len(set(walk)) == len(walk):
                    edges = pairwise(walk)
                    masses[walk] = first.get(walk[0], 0.0) * np.prod([damping * steps[edge] for edge in edges])
        want = sorted((mass for mass in masses.values() if mass >= least), reverse=True)[:count]
        found = top_paths(graph, np.arange(graph.n_nodes), restart, target, damping=damping, count=count, least=least)
        np.testing.assert_allclose([each.mass for each in found], want, rtol=1e-6)
        assert len({each.nodes for each in found}) == len(found)
        for each in found:
            assert each.mass == pytest.approx(masses[each.nodes])
            assert each.mass == pytest.approx(carried(graph, first, each.nodes, damping))
        assert sum(each.mass for each in found) <= power_iteration(graph, restart, damping).scores[target] + 1e-9


def test_many_paths_that_lead_nowhere_cost_little() -> None:
    """A clique behind the target holds more paths than could ever be looked at; `least` shuts it out."""
    clique = [(a, b) for a in range(2, 42) for b in range(2, a)]
    edges = [(0, 1), *((1, a) for a in range(2, 42)), *clique]
    graph = Adjacency.from_edges(42, [a for a, _ in edges], [b for _, b in edges], np.ones(len(edges)))
    score = power_iteration(graph, np.eye(42)[0], 0.85).scores[1]
    found = top_paths(graph, [0], [1.0], 1, damping=0.85, count=100, least=score / 1000)
    assert [each.nodes for each in found] == [(0, 1)]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"target": 3}, "target must be in"), ({"least": 0.0}, "least must be above 0"),
        ({"damping": 1.0}, "damping must be in"), ({"mass": [0.0]}, "mass must have a value above 0"),
        ({"mass": [1.0, 1.0]}, "one entry per seed"), ({"mass": [-1.0]}, "must not be negative"),
        ({"seeds": [7]}, "contains node 7"),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(changed: dict[str, object], message: str) -> None:
    graph = Adjacency.from_edges(3, [0], [1], [1.0])
    given = {"seeds": [0], "mass": [1.0], "target": 1, "damping": 0.5, "count": 1, "least": 1e-6} | changed
    with pytest.raises(ValueError, match=message):
        top_paths(graph, **given)  # type: ignore[arg-type]


def test_an_edge_that_leads_nowhere_is_told() -> None:
    good = Adjacency.from_edges(3, [0, 1], [1, 2], [1.0, 1.0])
    bad = Adjacency(good.indptr, np.array([1, 0, 9, 1], np.int32), good.weights, good.strength)
    with pytest.raises(IndexCorrupt, match="outside"):
        top_paths(bad, [0], [1.0], 2, damping=0.5, count=1, least=1e-6)
