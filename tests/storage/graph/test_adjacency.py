"""Graphs in memory and their edges."""

from pathlib import Path
from random import Random
from unittest.mock import patch

import numpy as np
import pytest
from conspectus.storage import spilled
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.graph.adjacency import Adjacency
from conspectus.storage.graph.edges import canonical_edges, degrees_of
from conspectus.storage.records import Relation
from conspectus.storage.spilled import spilling_to
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array

FILES = ["indices.npy", "indptr.npy", "strength.npy", "weights.npy"]


def a_graph() -> Adjacency:
    return Adjacency.from_edges(5, [0, 1, 3, 1], [1, 2, 1, 0], [1.0, 2.0, 0.5, 3.0])


SOME_EDGES = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 5)), max_size=40)


@given(SOME_EDGES)
def test_equals_scipy_on_the_doubled_edges(edges: list[tuple[int, int, int]]) -> None:
    sources, targets, weights = (np.array([e[k] for e in edges], dtype=np.int64) for k in range(3))
    graph = Adjacency.from_edges(10, sources, targets, weights)
    half = coo_array((weights, (sources, targets)), shape=(10, 10)).toarray()
    expected = half + half.T
    np.fill_diagonal(expected, 0)

    found = np.zeros((10, 10))
    rows = np.repeat(np.arange(10), np.diff(graph.indptr))
    found[rows, graph.indices] = graph.weights
    assert (found == expected).all()
    assert (graph.strength == expected.sum(axis=1)).all()
    assert len(graph.indices) == np.count_nonzero(expected)
    assert all((np.diff(graph.indices[rows == row]) > 0).all() for row in range(10))


@given(SOME_EDGES, st.integers(1, 9))
def test_many_edges_are_made_into_rows_in_parts(
    tmp_path_factory: pytest.TempPathFactory, edges: list[tuple[int, int, int]], size: int
) -> None:
    columns = [[edge[k] for edge in edges] for k in range(3)]
    whole = Adjacency.from_edges(10, *columns)
    with (
        spilling_to(tmp_path_factory.getbasetemp()),
        patch.object(spilled, "BYTES_IN_MEMORY", 4),
        patch("conspectus.storage.graph.edges._EDGES_AT_ONCE", size),
        patch("conspectus.storage.graph.adjacency._EDGES_AT_ONCE", size),
    ):
        graph = Adjacency.from_edges(10, *columns)
    for name in ("indptr", "indices", "weights", "strength"):
        one, other = getattr(graph, name), getattr(whole, name)
        assert one.dtype == other.dtype
        assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("graph", [a_graph(), Adjacency.from_edges(0, [], [], []), Adjacency.from_edges(3, [], [], [])])
def test_comes_back_as_it_was_saved(graph: Adjacency, tmp_path: Path) -> None:
    graph.save(tmp_path / "one")
    loaded = Adjacency.load(tmp_path / "one")
    assert loaded.n_nodes == graph.n_nodes
    for name in ("indptr", "indices", "weights", "strength"):
        assert (getattr(loaded, name) == getattr(graph, name)).all()
        assert not getattr(loaded, name).flags.writeable
    loaded.check_edges()

    loaded.save(tmp_path / "other")
    assert sorted(file.name for file in (tmp_path / "one").iterdir()) == FILES
    for name in FILES:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes()


@given(SOME_EDGES, st.sets(st.integers(0, 9)), st.integers(1, 9))
def test_a_part_has_the_edges_between_its_nodes(edges: list[tuple[int, int, int]], some: set[int], size: int) -> None:
    graph, nodes = (
        Adjacency.from_edges(10, *([edge[k] for edge in edges] for k in range(3))),
        np.array(sorted(some), int),
    )
    with patch("conspectus.storage.graph.adjacency._NODES_AT_ONCE", size):
        part = graph.part(nodes)
    place_of = {node: place for place, node in enumerate(nodes.tolist())}
    kept = [(place_of[one], place_of[other], weight) for one, other, weight in edges if {one, other} <= some]
    expected = Adjacency.from_edges(len(nodes), *([edge[k] for edge in kept] for k in range(3)))
    for name in ("indptr", "indices", "weights", "strength"):
        assert getattr(part, name).dtype == getattr(expected, name).dtype
        assert (getattr(part, name) == getattr(expected, name)).all()


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_named(name: str, tmp_path: Path) -> None:
    a_graph().save(tmp_path)
    whole = (tmp_path / name).read_bytes()
    for damage in (whole[:-3], b"", b"not an array", None):
        (tmp_path / name).unlink()
        if damage is not None:
            (tmp_path / name).write_bytes(damage)
        with pytest.raises(IndexCorrupt, match=name):
            Adjacency.load(tmp_path)
        (tmp_path / name).write_bytes(whole)
    Adjacency.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("indptr", np.array([1, 1, 4, 5, 6, 6])),
        ("indptr", np.array([0, 4, 1, 5, 6, 6])),
        ("indptr", np.array([0, 1, 4, 5, 6, 6], dtype=np.int32)),
        ("indices", np.array([1, 0, 2, 3, 1, 5], dtype=np.int32)),
        ("indices", np.array([[1, 0, 2, 3, 1, 1]], dtype=np.int32)),
        ("weights", np.ones(5, dtype=np.float32)),
        ("strength", np.ones(4)),
    ],
)
def test_a_wrong_array_is_named(name: str, array: np.ndarray, tmp_path: Path) -> None:
    a_graph().save(tmp_path)
    np.save(tmp_path / f"{name}.npy", array)
    with pytest.raises(IndexCorrupt, match=rf"{name}\.npy"):
        Adjacency.load(tmp_path)


def test_damage_amid_the_edges_is_found_by_who_reads_them(tmp_path: Path) -> None:
    a_graph().save(tmp_path)
    np.save(tmp_path / "indices.npy", np.array([1, 0, 99, 3, 1, 1], dtype=np.int32))
    graph = Adjacency.load(tmp_path)
    with pytest.raises(IndexCorrupt, match="has a node outside"):
        graph.check_edges()
    with pytest.raises(IndexCorrupt, match="has a node outside"):
        graph.edges_of(np.array([1]))
    graph.edges_of(np.array([0]))


Edge = tuple[int, int, float]
some_edges = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 7), st.floats(0, 1e6)), max_size=30)


@given(some_edges, st.randoms(use_true_random=False))
def test_order_and_direction_leave_no_trace(edges: list[Edge], random: Random) -> None:
    shuffled = [(t, s, w) if random.random() < 0.5 else (s, t, w) for s, t, w in edges]
    random.shuffle(shuffled)
    one, other = (canonical_edges(8, *columns(rows)) for rows in (edges, shuffled))
    assert one.lower.tolist() == other.lower.tolist()
    assert one.upper.tolist() == other.upper.tolist()
    assert one.weights.tobytes() == other.weights.tobytes()


@given(some_edges)
def test_equals_a_dictionary_of_sums(edges: list[Edge]) -> None:
    sums: dict[tuple[int, int], float] = {}
    for source, target, weight in edges:
        if source != target and np.float32(weight) > 0:
            key = min(source, target), max(source, target)
            sums[key] = sums.get(key, 0.0) + weight
    result = canonical_edges(8, *columns(edges))
    found = dict(zip(zip(result.lower.tolist(), result.upper.tolist(), strict=True), result.weights, strict=True))
    assert list(found) == sorted(found)
    assert (result.weights > 0).all()
    for key, total in sums.items():
        assert found.pop(key) == pytest.approx(total, rel=1e-6)
    assert not found or max(found.values()) < 1e-37  # sums of what float32 cannot hold alone


@pytest.mark.parametrize(
    ("n_nodes", "sources", "targets", "weights", "message"),
    [
        (3, [0], [3], [1.0], "targets contains node 3 in a graph of 3 nodes"),
        (3, [0.0], [1], [1.0], "sources must be integers"),
        (3, [0], [1], [-1.0], "must not be negative, but the least is -1"),
        (3, [0], [1], [float("nan")], "weights must be finite"),
        (3, [0], [1], [1e39], "more than float32 can hold"),
        (3, [0, 1], [1], [1.0], "must have one length"),
        (2**31, [], [], [], "n_nodes must be in"),
    ],
)
def test_refuses(n_nodes: int, sources: list[int], targets: list[int], weights: list[float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        canonical_edges(n_nodes, sources, targets, weights)


def columns(edges: list[Edge]) -> tuple[list[int], list[int], list[float]]:
    return [e[0] for e in edges], [e[1] for e in edges], [e[2] for e in edges]


def test_degrees_count_neighbours_once_in_either_direction() -> None:
    ends = [("a", "b"), ("b", "a"), ("a", "b"), ("c", "c"), ("b", "c")]
    relations = [Relation(f"r{row}", *each, "", "", 1.0, ()) for row, each in enumerate(ends)]
    assert degrees_of(relations) == {"a": 1, "b": 2, "c": 2}
