"""Graphs as vectors: encodings, and networks against formulas written out and against what must not matter."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.methods.gretriever.soft import graph_encodings
from conspectus.query.methods.gretriever.soft.checkpoint import Encoder
from conspectus.query.methods.gretriever.soft.given_graph import Cutting, cut
from conspectus.query.methods.gretriever.soft.graph_encodings import (
    EncodedGraph,
    RememberedEncodings,
    encoded,
    texts_of,
)
from conspectus.query.methods.gretriever.soft.prompt import GraphEncoder, batched
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.memo import Memo
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings

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


GRAPH = TextualGraph(
    ("bram tolliver", "rosa tolliver", "oster", "quillan", "m.0brn7rs"),
    (
        TextualEdge(0, "sibling", 4),
        TextualEdge(4, "sibling", 1),
        TextualEdge(0, "country of birth", 2),
        TextualEdge(2, "capital", 3),
    ),
)


def encodings(memo: Path | None = None) -> RememberedEncodings:
    return RememberedEncodings(open_embedder(EmbeddingSettings(), EmbeddingServerSettings()), memo)


def test_a_graph_is_encoded_in_the_order_of_its_parts() -> None:
    encode = encodings()
    found = encoded(GRAPH, encode)
    assert found.ends.tolist() == [[0, 4, 0, 2], [4, 1, 2, 3]]
    assert found.nodes.shape == (5, encode.width)
    assert found.edges.shape == (4, encode.width)
    assert np.array_equal(found.edges[0], found.edges[1])
    assert np.array_equal(found.nodes[2], encode(["oster"])[0])
    assert texts_of([GRAPH, GRAPH]) == [*GRAPH.nodes, "sibling", "country of birth", "capital"]
    alone = encoded(TextualGraph(("one",), ()), encode)
    assert (alone.ends.shape, alone.edges.shape) == ((2, 0), (0, encode.width))


def test_encodings_are_remembered_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = "whales live in the sea " * 200
    first = encodings(tmp_path / "memo.sqlite")(["oster", long])
    np.testing.assert_allclose(np.linalg.norm(first, axis=1), 1, rtol=1e-5)
    memo = Memo(tmp_path / "memo.sqlite")
    (kind,) = memo.kinds()
    again = encodings(tmp_path / "memo.sqlite")
    assert kind.endswith(again.name)
    assert np.array_equal(again([long, "oster"]), first[::-1])
    monkeypatch.setattr(graph_encodings, "_MOST_KNOWN", 2)
    assert np.array_equal(again(["quillan", "oster", long])[1:], first)


def test_the_part_of_a_graph_that_a_question_needs() -> None:
    encode = encodings()
    question = "who was the sister of bram tolliver"
    part = cut(GRAPH, question, encode, Cutting(nodes=3, edges=1, edge_cost=0.5))
    assert {"bram tolliver", "rosa tolliver", "m.0brn7rs"} <= set(part.nodes)
    assert "quillan" not in part.nodes
    assert [each.text for each in part.edges].count("sibling") == 2
    assert cut(GRAPH, question, encode, Cutting(nodes=0, edges=0)) == GRAPH
    bare = TextualGraph(GRAPH.nodes, ())
    assert cut(bare, question, encode, Cutting()) == bare
