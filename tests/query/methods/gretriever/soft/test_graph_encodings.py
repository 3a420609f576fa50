"""Encodings of graphs, and what of a graph a question needs."""

from pathlib import Path

import numpy as np
import pytest
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.methods.gretriever.soft import graph_encodings
from conspectus.query.methods.gretriever.soft.given_graph import Cutting, cut
from conspectus.query.methods.gretriever.soft.graph_encodings import RememberedEncodings, encoded, texts_of
from conspectus.query.types.textual_graph import TextualEdge, TextualGraph
from conspectus.storage.memo import Memo
from conspectus.storage.settings import EmbeddingServerSettings, EmbeddingSettings

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
