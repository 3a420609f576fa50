"""Communities by leidenalg, with each of its quality functions."""

import igraph
import leidenalg
import networkx
import numpy as np
import pytest
from conspectus.storage.errors import MissingPart
from conspectus.storage.graph.edges import Edges, canonical_edges
from conspectus.storage.graph.leiden import Hierarchy, hierarchical_leiden
from conspectus.storage.graph.leidenalg_engine import check_engine

from tests.storage.graph.hierarchies import groups_at

QUALITIES = ["modularity", "cpm", "rber", "surprise", "significance"]
RESOLUTION = {"cpm": 0.1}


def edges_of(graph: networkx.Graph) -> Edges:
    ends = np.array(list(graph.edges()))
    return canonical_edges(len(graph), ends[:, 0], ends[:, 1], np.ones(len(ends)))


PLANTED = edges_of(networkx.planted_partition_graph(8, 12, 0.9, 0.01, seed=3))


def divided(
    edges: Edges, quality: str, resolution: float = 1.0, max_cluster_size: int = 10, seed: int = 5
) -> Hierarchy:
    return hierarchical_leiden(
        edges, engine=f"leidenalg:{quality}", resolution=resolution, max_cluster_size=max_cluster_size, seed=seed
    )


@pytest.mark.parametrize("quality", QUALITIES)
def test_each_quality_finds_planted_communities(quality: str) -> None:
    found = divided(PLANTED, quality, max_cluster_size=12, resolution=RESOLUTION.get(quality, 1.0))
    planted = {frozenset(range(first, first + 12)) for first in range(0, 96, 12)}
    assert planted == {frozenset(group.members.tolist()) for group in groups_at(found, 0)}


def test_cpm_is_divided_at_higher_resolutions_and_a_clique_is_not() -> None:
    whole = networkx.disjoint_union(
        networkx.complete_graph(20), networkx.planted_partition_graph(2, 15, 0.9, 0.2, seed=1)
    )
    found = divided(edges_of(whole), "cpm", resolution=0.1)
    assert [len(group.members) for group in groups_at(found, 0)] == [20, 30]
    assert sorted(len(group.members) for group in groups_at(found, 1))[-1] == 20
    [clique] = [group for group in groups_at(found, -1) if group.oversized and len(group.members) == 20]
    assert clique.members.tolist() == list(range(20))


def test_weights_and_seed_reach_the_library() -> None:
    graph = networkx.gnm_random_graph(60, 180, seed=2)
    ends = np.array(list(graph.edges()))
    weights = np.random.default_rng(1).uniform(0.1, 5, len(ends))
    edges = canonical_edges(60, ends[:, 0], ends[:, 1], weights)
    found = divided(edges, "cpm", seed=2**40 + 3, resolution=0.2, max_cluster_size=60)
    reference = leidenalg.find_partition(
        igraph.Graph(60, np.column_stack([edges.lower, edges.upper])),
        leidenalg.CPMVertexPartition,
        weights=(edges.weights / edges.weights.mean(dtype=np.float64)).tolist(),
        n_iterations=2,
        seed=3,
        resolution_parameter=0.2,
    )
    assert {tuple(group.members.tolist()) for group in groups_at(found, 0)} == {
        tuple(sorted(each)) for each in reference
    }


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conspectus.storage.graph.leidenalg_engine.find_spec", lambda _: None)
    check_engine("graspologic")
    with pytest.raises(MissingPart, match=r"conspectus\[igraph\]"):
        check_engine("leidenalg:cpm")
