"""The sampled neighbourhood of a community."""

import numpy as np
import pytest
from conspectus.query.methods.fasttog.local_search import neighbourhood
from conspectus.query.walk.graph import KnowledgeGraph, graph_of
from hypothesis import given
from hypothesis import strategies as st


def graph(n: int, triples: list[tuple[int, int, int]]) -> KnowledgeGraph:
    """A graph of entities "0" to "n - 1" and triples (source, predicate, target)."""
    rows = np.array(triples, np.int64).reshape(-1, 3)
    said = [f"p{number}" for number in range(int(rows[:, 1].max(initial=-1)) + 1)]
    ids = [str(number) for number in range(max(n, len(rows)))]
    names = [str(number) for number in range(n)]
    return graph_of(names, said, rows[:, 0], rows[:, 2], rows[:, 1].astype(np.int32), ids, ids, [""] * len(rows))


def star(leaves: int, predicates: int = 1) -> KnowledgeGraph:
    """A hub, 0, whose first leaf has a predicate of its own."""
    return graph(leaves + 1, [(0, 0 if leaf == 1 else 1 + leaf % predicates, leaf) for leaf in range(1, leaves + 1)])


def line(n: int) -> KnowledgeGraph:
    return graph(n, [(each, 0, each + 1) for each in range(n - 1)])


def test_distances_are_those_over_the_graph() -> None:
    found = neighbourhood(line(9), (4,), rho=1.0, max_hops=3, max_nodes=100, seed=7)
    assert found.nodes.tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert found.hops.tolist() == [3, 2, 1, 0, 1, 2, 3]
    assert sorted(zip(found.sources.tolist(), found.targets.tolist(), strict=True)) == [(i, i + 1) for i in range(1, 7)]
    both = neighbourhood(line(9), (2, 6), rho=1.0, max_hops=1, max_nodes=100, seed=7)
    assert both.nodes.tolist() == [1, 2, 3, 5, 6, 7], "the distance is that to the nearest member"


def test_an_entity_n_hops_away_is_kept_with_rho_to_the_power_n_minus_1() -> None:
    # A hub with 2,000 neighbours, each of which has one neighbour, which has one again.
    n = 2000
    triples = [(0, 0, i) for i in range(1, n + 1)]
    triples += [(i, 0, i + n) for i in range(1, 2 * n + 1)]
    found = neighbourhood(
        graph(3 * n + 1, triples[n:]), tuple(range(1, n + 1)), rho=0.5, max_hops=3, max_nodes=9999, seed=1
    )
    one, two = (int((found.hops == hop).sum()) for hop in (1, 2))
    assert one == n, "those beside the community are all kept"
    assert two == pytest.approx(n * 0.5, rel=0.1)
    small = neighbourhood(graph(3 * n + 1, triples), (0,), rho=0.5, max_hops=3, max_nodes=9999, seed=1)
    counts = [int((small.hops == hop).sum()) for hop in (1, 2, 3)]
    assert counts[0] == 1000, "of an entity with very many edges not all are read"
    assert counts[1] == pytest.approx(500, rel=0.15)
    assert counts[2] == pytest.approx(500 * 0.25 * 2 * 0.5, rel=0.35), "its one draw is below 1/4, and so below 1/2"


def test_the_same_seed_keeps_the_same_entities_wherever_one_looks_from() -> None:
    whole = graph(60, [(i, 0, j) for i in range(6) for j in range(6, 60)])
    first = neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=3)
    assert np.array_equal(first.nodes, neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=3).nodes)
    assert not np.array_equal(first.nodes, neighbourhood(whole, (0,), rho=0.5, max_hops=2, max_nodes=20, seed=4).nodes)


def test_of_a_hop_without_room_every_relation_is_seen_before_one_is_seen_again() -> None:
    for seed in range(5):
        found = neighbourhood(star(500, predicates=3), (0,), rho=0.5, max_hops=1, max_nodes=8, seed=seed)
        assert len(found.nodes) == 9
        assert 1 in found.nodes, "the one relation of its kind"


@given(
    st.integers(2, 12).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, 2), st.integers(0, n - 1)), max_size=40),
            st.integers(0, n - 1),
            st.integers(1, 6),
            st.integers(0, 5),
        )
    )
)
def test_the_bounds_hold_and_all_is_connected(given: tuple[int, list[tuple[int, int, int]], int, int, int]) -> None:
    n, triples, start, most, seed = given
    found = neighbourhood(graph(n, triples), (start,), rho=0.5, max_hops=3, max_nodes=most, seed=seed)
    assert start in found.nodes
    assert len(found.nodes) <= most + 1
    assert found.hops.max() <= 3
    inside = set(found.nodes.tolist())
    stated = {(i, j) for i, _, j in triples}
    assert {(int(i), int(j)) for i, j in zip(found.sources, found.targets, strict=True)} == {
        (i, j) for i, j in stated if i in inside and j in inside
    }
    hops = dict(zip(found.nodes.tolist(), found.hops.tolist(), strict=True))
    for node, hop in hops.items():
        if hop:
            beside = {j for i, j in stated if i == node} | {i for i, j in stated if j == node}
            assert any(hops.get(each) == hop - 1 for each in beside)
