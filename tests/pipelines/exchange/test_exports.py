"""Exports of a graph: CSV, Cypher, GraphML, GEXF and RDF, as others read them and as they come back."""

import csv
import json
import re
import tempfile
from pathlib import Path

import igraph
import networkx as nx
import pyoxigraph
import pytest
from conspectus.pipelines.exchange.cypher_export import write_cypher
from conspectus.pipelines.exchange.exports import write_csv, write_gexf, write_graphml, write_spreadsheet_csv
from conspectus.pipelines.exchange.ntriples_export import write_nquads, write_ntriples
from conspectus.pipelines.steps.join_graph import origins
from conspectus.storage import rdf_terms as terms
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Community, Entity, Relation
from hypothesis import given
from hypothesis import strategies as st

from tests.pipelines.exchange.made import entity, graph_of, graphs, index_of, known, relation, triples

NAMES = [
    "=1+1",
    "+1",
    "-1",
    "@SUM(A1)",
    " =1",
    "\t=1",
    '"quoted", comma',
    "line\nbreak",
    "cr\rhere",
    "北京",
    "plain -1",
]


def names_of(path: Path, encoding: str = "utf-8") -> list[str]:
    with path.open(encoding=encoding, newline="") as stream:
        return [row["name"] for row in csv.DictReader(stream, strict=True)]


def test_no_text_is_a_formula_for_a_spreadsheet(tmp_path: Path) -> None:
    done = write_spreadsheet_csv(index_of([entity(each) for each in NAMES]), tmp_path / "t")
    found = names_of(tmp_path / "t" / "entities.csv", "utf-8-sig")
    assert [each.removeprefix("'") for each in found] == NAMES
    assert [each for each in found if each.startswith("'")] == [f"'{each}" for each in NAMES[:6]]
    assert (tmp_path / "t" / "entities.csv").read_bytes().startswith(b"\xef\xbb\xbf")
    assert done.notes


@pytest.mark.parametrize("write", [write_csv, write_spreadsheet_csv])
def test_an_empty_index_has_every_table_with_its_columns(tmp_path: Path, write: object) -> None:
    assert callable(write)
    done = write(index_of([]), tmp_path / "t")
    assert set(done.rows.values()) == {0}
    assert all(each.read_text("utf-8").count("\r\n") <= 1 for each in done.files)


_KEYS = "id|name|description|source|target|told|predicate|weight|chunk_ids|types?|frequency|degree|strength"
_KEY = re.compile(rf"(?<=[{{,] )?\b({_KEYS}): (?=[\"\[{{0-9n-])")
_ANY = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=20)


def rows(text: str, statement: str) -> list[dict[str, object]]:
    """Return the rows that a kind of statement is given, read as JSON after keys without signs that texts may have."""
    parts = [each.split("\n] AS row\n") for each in text.split(";\n") if each.startswith("UNWIND [\n")]
    blocks = [given.removeprefix("UNWIND [\n") for given, said in parts if re.match(statement, said)]
    lines = [line.removesuffix(",") for block in blocks for line in block.split("\n")]
    return [json.loads(_KEY.sub(r'"\1": ', line)) for line in lines]


@given(graphs(_ANY.map(lambda text: text.replace(": ", ":"))))
def test_no_sign_of_a_text_ends_a_statement(made: tuple[list[Entity], list[Relation]]) -> None:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        write_cypher(index_of(*made), Path(folder, "g.cypher"))
        text = Path(folder, "g.cypher").read_text("utf-8")
    assert {each["id"] for each in rows(text, "MERGE")} == {each.id for each in made[0]}
    assert {each["id"] for each in rows(text, "MATCH .a:")} == {each.id for each in made[1]}


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


Rows = tuple[list[Entity], list[Relation]]
_NO_NUL = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"], exclude_characters="\0\r"), max_size=20)


@given(graphs())
def test_a_graph_comes_back_from_graphml(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "g.graphml")
        write_graphml(index_of(*rows), file)
        found = graph_of(file)
    assert found.failures == []
    assert (known(found).entities, known(found).relations) == rows
    assert {each.item_id for each in origins(found, known(found))} == {each.id for each in (*rows[0], *rows[1])}


@given(graphs(_NO_NUL))
def test_a_graph_comes_back_from_ntriples_whatever_signs_it_has(rows: Rows) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "g.nt")
        write_ntriples(index_of(*rows), file)
        found = graph_of(file)
    assert found.failures == []
    assert (known(found).entities, known(found).relations) == rows
    assert {each.item_id for each in origins(found, known(found))} == {each.id for each in (*rows[0], *rows[1])}


def test_relations_are_in_the_graphs_of_their_passages(sample_root: Path, tmp_path: Path) -> None:
    index, file = StoredIndex.open(sample_root), tmp_path / "g.nq"
    done = write_nquads(index, file)
    quads = list(pyoxigraph.parse(path=str(file)))
    named = {
        (quad.subject.value, quad.object.value, quad.graph_name.value)
        for quad in quads
        if isinstance(quad.graph_name, pyoxigraph.NamedNode)
    }
    relations = index.rows(Relation)
    assert named == {
        (terms.ENTITY + each.source_id, terms.ENTITY + each.target_id, terms.CHUNK + chunk)
        for each in relations
        for chunk in each.chunk_ids
    }
    assert named
    assert (done.rows["relations"], done.rows["triples"]) == (len(relations), len(quads))
    assert len(triples(graph_of(file))) == len(relations)
