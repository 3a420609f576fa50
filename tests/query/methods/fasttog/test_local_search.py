"""Candidates around a community: filtered, pruned, and with the relations that join them."""

import numpy as np
import pytest
from conspectus.query.methods.fasttog import local_search
from conspectus.query.methods.fasttog.communities import community_modularity, louvain, small_graph
from conspectus.query.methods.fasttog.local_search import CommunitySearch
from conspectus.query.methods.fasttog.text import Triple2Text, join_statements
from conspectus.query.walk.graph import KnowledgeGraph
from conspectus.storage.settings import FastTogSettings

from tests.query.methods.fasttog.test_neighbourhood import graph

# Entity 0 stands beside three triangles; a fourth, 10 to 12, hangs behind the first one.
TRIANGLES = [
    (a, 0, b) for start in (1, 4, 7, 10) for a, b in ((start, start + 1), (start + 1, start + 2), (start, start + 2))
]
WHOLE = [(0, 1, 1), (0, 1, 4), (0, 1, 7), *TRIANGLES, (3, 1, 10)]


@pytest.fixture
def whole() -> KnowledgeGraph:
    return graph(13, WHOLE)


@pytest.fixture(autouse=True)
def _everything_near(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing within four hops is left out by chance."""
    monkeypatch.setattr(local_search, "_RHO", 1.0)
    monkeypatch.setattr(local_search, "_MAX_HOPS", 4)


def searching(whole: KnowledgeGraph, **chosen: int) -> CommunitySearch:
    near = np.zeros(len(whole.predicates), np.float32)
    return CommunitySearch(whole, FastTogSettings.model_validate({"max_community_size": 3, **chosen}), near)


def test_candidates_have_an_edge_to_the_community(whole: KnowledgeGraph) -> None:
    found = searching(whole).around((0,), set())
    assert {each.nodes for each in found.kept} == {(1, 2, 3), (4, 5, 6), (7, 8, 9)}
    assert (found.n_nodes, found.n_communities, found.apart, found.seen) == (12, 4, 1, 0)
    first = next(each for each in found.kept if each.nodes == (1, 2, 3))
    assert [WHOLE[row] for row in first.bridges] == [(0, 1, 1)]
    assert {WHOLE[row] for row in first.inside} == {(1, 0, 2), (2, 0, 3), (1, 0, 3)}
    assert first.origin == (0,)
    assert join_statements(Triple2Text(whole).statements([first])[0]) == "0 p1 1. 1 p0 2. 1 p0 3. 2 p0 3."


def test_what_was_visited_is_left_out_by_its_exact_members(whole: KnowledgeGraph) -> None:
    found = searching(whole).around((0,), {(1, 2, 3), (4, 5)})
    assert {each.nodes for each in found.kept} == {(4, 5, 6), (7, 8, 9)}
    assert found.seen == 1


def test_coarse_pruning_keeps_the_highest_modularity(whole: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = searching(whole).around((0,), set())
    monkeypatch.setattr(local_search, "_COARSE_K", 1)
    few = searching(whole).around((0,), set())
    assert few.kept == everything.kept[:1]
    assert few.pruned == everything.kept[1:]
    outside = small_graph(12, [(a - 1, b - 1) for a, _, b in WHOLE if a and b])
    values = community_modularity(outside, louvain(outside, 3))
    assert few.kept[0].modularity == pytest.approx(values.max())
