"""GraphML, GEXF and graphs of networkx and igraph as others read them."""

import json
from pathlib import Path

import igraph
import networkx as nx
import pytest
from conspectus.pipelines.exchange.exports import write_gexf, write_graphml
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Relation

from tests.pipelines.exchange.made import entity, graph_of, index_of, relation, triples

A = entity('A "quoted" <b> & 北京大学', "PERSON", "NAME", description="first\nsecond ]]>")
B = entity("b\x01c\ufffe\U0001f600", "ORG")
STATED = [relation(A, "knows", B, "they met", 2.5, 7.0), relation(A, "owes", B), relation(B, "knows", A)]
INDEX = index_of(
    [A, B],
    STATED,
    [
        Community("k0", 0, None, None, False, (A.id, B.id), (), (), 2),
        Community("k1", 1, "k0", None, False, (A.id,), (), (), 1),
        Community("k2", 1, "k0", None, False, (B.id,), (), (), 1),
    ],
)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    write_graphml(INDEX, tmp_path / "g.graphml")
    return tmp_path / "g.graphml"


def test_networkx_reads_every_column_with_its_type(file: Path) -> None:
    graph = nx.read_graphml(file)
    assert graph.is_directed()
    assert graph.is_multigraph()
    node = graph.nodes[A.id]
    assert (node["label"], node["name"], node["type"]) == (A.name, A.name, "PERSON")
    assert json.loads(node["types"]) == ["PERSON", "NAME"]
    assert (node["description"], node["frequency"], node["degree"]) == (A.description, 0, 0)
    assert [(graph.nodes[each.id]["c0"], graph.nodes[each.id]["c1"]) for each in (A, B)] == [("k0", "k1"), ("k0", "k2")]
    assert graph.nodes[B.id]["name"] == "b\ufffdc\ufffd\U0001f600", "what XML cannot hold"
    edge = graph.edges[A.id, B.id, STATED[0].id]
    assert (edge["label"], edge["predicate"], edge["description"]) == ("knows", "knows", "they met")
    assert (edge["weight"], edge["strength"], json.loads(edge["chunk_ids"])) == (2.5, 7.0, [])
    assert "strength" not in graph.edges[A.id, B.id, STATED[1].id]


def test_a_whole_index_is_read_by_both_and_back(sample_root: Path, tmp_path: Path) -> None:
    index, file = StoredIndex.open(sample_root), tmp_path / "g.graphml"
    done = write_graphml(index, file)
    entities, relations = index.rows(Entity), index.rows(Relation)
    assert done.rows == {"entities": len(entities), "relations": len(relations)}
    assert done.notes == ()
    assert nx.read_graphml(file, force_multigraph=True).number_of_edges() == len(relations)
    assert igraph.Graph.Read_GraphML(str(file)).vcount() == len(entities)
    name_of = {each.id: each.name for each in entities}
    stated = {(name_of[each.source_id], each.predicate, name_of[each.target_id]) for each in relations}
    assert triples(graph_of(file)) == stated


def test_gexf_is_read_by_networkx_and_back_and_has_no_date(tmp_path: Path) -> None:
    done = write_gexf(INDEX, tmp_path / "g.gexf")
    assert (done.rows, len(done.notes)) == ({"entities": 2, "relations": 3}, 1)
    graph = nx.read_gexf(tmp_path / "g.gexf")
    assert (graph.nodes[A.id]["label"], graph.nodes[A.id]["c1"]) == (A.name, "k1")
    assert sorted(told["predicate"] for _, _, told in graph.edges(data=True)) == ["knows", "knows", "owes"]
    assert "lastmodifieddate" not in (tmp_path / "g.gexf").read_text("utf-8")
    written = {said for _, said, _ in triples(graph_of(tmp_path / "g.gexf"))}
    assert written == {"knows", "owes"}
