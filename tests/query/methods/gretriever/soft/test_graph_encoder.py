"""Graph networks over drawn graphs, against formulas written out and against what must not matter."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from conspectus.query.methods.gretriever.soft.checkpoint import Encoder
from conspectus.query.methods.gretriever.soft.graph_encoder import GraphEncoder, batched
from conspectus.query.methods.gretriever.soft.graph_encodings import EncodedGraph

from tests.query.made_subgraphs import WIDTH, drawn_graph

KINDS: tuple[Encoder, ...] = ("graph_transformer", "gat", "gcn")
CPU = torch.device("cpu")


def encoder(kind: Encoder, layers: int = 2) -> GraphEncoder:
    torch.manual_seed(1)
    return GraphEncoder(kind, WIDTH, 8, 6, layers, 2, 0.0).eval()


def vectors(network: GraphEncoder, *graphs: EncodedGraph) -> torch.Tensor:
    with torch.inference_mode():
        return network(batched(graphs, CPU))


@pytest.mark.parametrize("kind", KINDS)
def test_a_graph_has_one_vector_whoever_is_in_the_batch(kind: Encoder) -> None:
    graphs = [drawn_graph(seed, nodes, edges) for seed, (nodes, edges) in enumerate([(4, 5), (1, 0), (6, 9), (2, 1)])]
    network = encoder(kind)
    together = vectors(network, *graphs)
    assert together.shape == (4, 6)
    for row, graph in enumerate(graphs):
        torch.testing.assert_close(vectors(network, graph)[0], together[row])


@pytest.mark.parametrize("kind", KINDS)
def test_the_numbers_of_nodes_and_the_order_of_edges_do_not_matter(kind: Encoder) -> None:
    graph = drawn_graph(3, 5, 7)
    order, edges = np.array([3, 0, 4, 1, 2]), np.array([6, 2, 0, 5, 1, 4, 3])
    place = np.argsort(order)
    moved = EncodedGraph(graph.nodes[order], place[graph.ends[:, edges]], graph.edges[edges])
    network = encoder(kind)
    torch.testing.assert_close(vectors(network, moved), vectors(network, graph))


def test_what_edges_say_matters_but_to_gcn() -> None:
    graph = drawn_graph(5, 5, 7)
    other = replace(graph, edges=-graph.edges)
    for kind in KINDS:
        network = encoder(kind)
        same = torch.allclose(vectors(network, graph), vectors(network, other))
        assert same == (kind == "gcn"), kind


def test_one_layer_of_gcn_is_its_formula() -> None:
    """Kipf and Welling 2017, equation 2: D^-1/2 (A + I) D^-1/2 X W, with the degrees of edges that come in."""
    graph = EncodedGraph(drawn_graph(2, 4, 0).nodes, np.array([[0, 1, 2], [1, 2, 3]]), drawn_graph(2, 4, 3).edges)
    network = encoder("gcn", layers=1)
    weight, bias = (network.state_dict()[f"layers.0.{name}"].numpy() for name in ("lin.weight", "bias"))
    joined = np.eye(4)
    joined[graph.ends[1], graph.ends[0]] = 1
    scale = 1 / np.sqrt(joined.sum(1))
    wanted = (scale[:, None] * joined * scale[None, :] @ graph.nodes @ weight.T + bias).mean(0)
    np.testing.assert_allclose(vectors(network, graph)[0].numpy(), wanted, rtol=1e-4, atol=1e-5)
