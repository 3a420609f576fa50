from random import Random

import numpy as np
import pytest
from conspectus.storage.graph.edges import canonical_edges, degrees_of
from conspectus.storage.records import Relation
from hypothesis import given
from hypothesis import strategies as st

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
