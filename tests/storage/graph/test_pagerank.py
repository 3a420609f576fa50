import numpy as np
import pytest
from conspectus.storage.arrays import Floats
from conspectus.storage.errors import NotConverged
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.pagerank import PageRank, forward_push, personalized_pagerank, power_iteration
from hypothesis import given
from hypothesis import strategies as st

Case = tuple[Adjacency, Floats, float]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """A small graph with isolated nodes and several components, a personalisation and a damping."""
    n_nodes = draw(st.integers(1, 12))
    node = st.integers(0, n_nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.floats(0.125, 8)), max_size=25))
    restart = draw(st.lists(st.sampled_from([0.0, 0.0, 0.5, 1.0, 7.0]), min_size=n_nodes, max_size=n_nodes))
    restart[draw(node)] = 1.0
    graph = Adjacency.from_edges(n_nodes, *([e[k] for e in edges] for k in range(3)))
    return graph, np.array(restart), draw(st.sampled_from([0.0, 0.1, 0.5, 0.85]))


def push(graph: Adjacency, restart: Floats, damping: float, epsilon: float) -> PageRank:
    seeds = np.flatnonzero(restart)
    return forward_push(graph, seeds, restart[seeds], damping, epsilon)


def exact(graph: Adjacency, restart: Floats, damping: float) -> Floats:
    """The stationary distribution of the whole chain, written out as a dense matrix and solved directly."""
    n_nodes = graph.n_nodes
    seeds = restart / restart.sum()
    chain = np.tile((1 - damping) * seeds, (n_nodes, 1))
    for row in range(n_nodes):
        entries = slice(graph.indptr[row], graph.indptr[row + 1])
        if entries.start == entries.stop:
            chain[row] = seeds
        else:
            chain[row, graph.indices[entries]] += damping / graph.strength[row] * graph.weights[entries].astype(float)
    system = np.vstack([chain.T - np.eye(n_nodes), np.ones(n_nodes)])
    return np.asarray(np.linalg.lstsq(system, np.append(np.zeros(n_nodes), 1.0))[0])


def heavy_tailed(seed: int, n_nodes: int = 600, n_edges: int = 2400) -> Adjacency:
    rng = np.random.default_rng(seed)
    chance = (np.arange(n_nodes) + 1.0) ** -0.6
    ends = rng.choice(n_nodes, (2, n_edges), p=chance / chance.sum())
    return Adjacency.from_edges(n_nodes, ends[0], ends[1], rng.random(n_edges) + 0.01)


@given(cases())
def test_power_iteration_solves_the_chain(case: Case) -> None:
    graph, restart, damping = case
    walk = power_iteration(graph, restart, damping, max_steps=400)
    truth = exact(graph, restart, damping)
    assert walk.scores.sum() == pytest.approx(1.0, abs=1e-12)
    assert (walk.scores >= -1e-15).all()
    assert np.abs(walk.scores - truth).sum() <= walk.residual + 1e-12
    assert walk.residual <= 1e-10
    assert walk.solver == "power"


@given(cases(), st.sampled_from([1e-1, 1e-3, 1e-9]))
def test_push_lacks_exactly_its_residual(case: Case, epsilon: float) -> None:
    graph, restart, damping = case
    walk = push(graph, restart, damping, epsilon)
    truth = exact(graph, restart, damping)
    scores = walk.dense(graph.n_nodes)
    assert (scores <= truth + 1e-12).all()
    assert np.abs(scores - truth).sum() == pytest.approx(walk.residual, abs=1e-12)
    assert walk.scores.sum() + walk.residual == pytest.approx(1.0, abs=1e-12)
    assert walk.residual <= epsilon * (len(graph.indices) + graph.n_nodes) + 1e-12
    assert (np.diff(walk.nodes) > 0).all()
    assert (walk.scores > 0).all()


def test_push_finds_the_exact_top_of_random_walks() -> None:
    graph = heavy_tailed(3, 5_000, 25_000)
    rng = np.random.default_rng(4)
    shares = []
    for _ in range(100):
        seeds = rng.choice(np.flatnonzero(graph.strength), rng.integers(1, 31), replace=False)
        mass = rng.random(len(seeds)) + 0.01
        found = personalized_pagerank(graph, seeds, mass)
        assert found.solver == "push"
        truth = personalized_pagerank(graph, seeds, mass, exact=True)
        shares.append(len(np.intersect1d(found.top(20)[0], truth.top(20)[0])) / 20)
    assert np.mean(shares) >= 0.99


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3]), min_size=1, max_size=12), st.integers(0, 14))
def test_top_breaks_ties_by_id(scores: list[float], k: int) -> None:
    walk = PageRank(np.arange(len(scores)) * 3, np.array(scores), 0.0, 1, "push")
    expected = sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:k]
    nodes, best = walk.top(k)
    assert nodes.tolist() == [3 * i for i in expected]
    assert best.tolist() == [scores[i] for i in expected]


def test_stops_short_aloud() -> None:
    with pytest.raises(NotConverged, match=r"after 3 steps at damping 0\.9"):
        power_iteration(heavy_tailed(0), np.ones(600), damping=0.9, max_steps=3, tolerance=1e-12)


@pytest.mark.parametrize(
    ("restart", "options", "message"),
    [
        ([0.0, 0.0], {}, "personalization must have a value above 0"),
        ([1.0, -1.0], {}, "personalization must not be negative"),
        ([1.0, 0.0], {"damping": 1.0}, r"damping must be in \[0, 1\)"),
        ([1.0, 0.0], {"tolerance": 0.0}, "tolerance must be above 0"),
    ],
)
def test_power_refuses(restart: list[float], options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        power_iteration(Adjacency.from_edges(2, [0], [1], [1.0]), restart, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seeds", "mass", "options", "message"),
    [
        ([0], [0.0], {}, "mass must have a value above 0"),
        ([0], [-1.0], {}, "mass must not be negative"),
        ([0, 1], [1.0], {}, "mass must have one entry per seed"),
        ([0], [1.0], {"epsilon": 0.0}, "epsilon must be above 0"),
    ],
)
def test_push_refuses(seeds: list[int], mass: list[float], options: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        forward_push(Adjacency.from_edges(2, [0], [1], [1.0]), seeds, mass, **options)
