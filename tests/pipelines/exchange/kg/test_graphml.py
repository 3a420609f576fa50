"""GraphML of other programs, and of nobody's friends."""

from collections.abc import Mapping
from pathlib import Path

import igraph
import networkx as nx
import pytest
from conspectus.pipelines.exchange.kg.builder import ImportedGraph, ThingAttributes, TripleAttributes
from conspectus.storage.errors import InputError

from tests.pipelines.exchange.made import graph_of, known, triples

KEYS = """<key id="d0" for="node" attr.name="entity_type" attr.type="string"/>
<key id="d1" for="node" attr.name="description" attr.type="string"/>
<key id="d2" for="node" attr.name="source_id" attr.type="string"/>
<key id="d3" for="edge" attr.name="weight" attr.type="double"/>
<key id="d4" for="edge" attr.name="description" attr.type="string"/>
<key id="d5" for="edge" attr.name="keywords" attr.type="string"/>
<key id="d6" for="edge" attr.name="source_id" attr.type="string"/>
<key id="d7" for="edge" attr.name="order" attr.type="int"/>
"""


def written(path: Path, body: str, keys: str = "", head: str = "") -> Path:
    path.write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n{head}<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
        f'{keys}<graph edgedefault="undirected">\n{body}\n</graph></graphml>',
        "utf-8",
    )
    return path


def thing(graph: ImportedGraph, name: str) -> ThingAttributes:
    return graph.thing_attributes[graph.names.index(name)]


def only(told: Mapping[int, TripleAttributes]) -> TripleAttributes:
    (one,) = told.values()
    return one


def test_what_nano_graphrag_writes(tmp_path: Path) -> None:
    file = written(
        tmp_path / "graph_chunk_entity_relation.graphml",
        """<node id="&quot;EBENEZER SCROOGE&quot;"><data key="d0">"PERSON"</data>
<data key="d1">"A miser."&lt;SEP&gt;"He changes."&lt;SEP&gt;"A miser."</data>
<data key="d2">chunk-1&lt;SEP&gt;chunk-2</data></node>
<node id="&quot;LONDON&quot;"><data key="d0">"GEO"</data><data key="d2">chunk-1</data></node>
<edge source="&quot;EBENEZER SCROOGE&quot;" target="&quot;LONDON&quot;"><data key="d3">16.0</data>
<data key="d4">"He lives there."</data><data key="d6">chunk-1</data><data key="d7">1</data></edge>""",
        KEYS,
    )
    graph = graph_of(file)
    assert triples(graph) == {("EBENEZER SCROOGE", "", "LONDON")}
    scrooge = thing(graph, "EBENEZER SCROOGE")
    assert (scrooge.types, scrooge.description) == (("PERSON",), "A miser. He changes.")
    assert (scrooge.rows[0].source_id, scrooge.rows[0].details["source_id"]) == (
        '"EBENEZER SCROOGE"',
        "chunk-1<SEP>chunk-2",
    )
    told = only(graph.triple_attributes)
    assert (told.weight, told.description) == (16.0, "He lives there.")
    assert dict(told.rows[0].details) == {"source_id": "chunk-1", "order": "1", "description": "He lives there."}
    entities = {each.name: each for each in known(graph).entities}
    assert (entities["LONDON"].type, entities["LONDON"].degree) == ("GEO", 1)


def test_what_igraph_networkx_gephi_and_yed_write(tmp_path: Path) -> None:
    made = igraph.Graph(directed=True)
    made.add_vertices(2, {"name": ["Ada", "Charles"], "born": [1815, 1791]})
    made.add_edges([(0, 1)], {"relation": ["met"], "weight": [3.0]})
    made.write_graphml(str(tmp_path / "i.graphml"))
    graph = graph_of(tmp_path / "i.graphml")
    assert triples(graph) == {("Ada", "met", "Charles"), ("Ada", "born", "1815"), ("Charles", "born", "1791")}
    assert only(graph.triple_attributes).weight == 3.0
    assert thing(graph, "Ada").rows[0].details["born"] == "1815"

    nx.write_graphml(nx.DiGraph([("Ada", "Charles")]), tmp_path / "n.graphml")
    assert triples(graph_of(tmp_path / "n.graphml")) == {("Ada", "connected to", "Charles")}

    gephi = written(
        tmp_path / "g.graphml",
        '<node id="0"><data key="label">Ada</data></node><node id="1"><data key="label">Charles</data></node>'
        '<edge id="9" source="0" target="1"><data key="edgelabel">met</data><data key="weight">2</data></edge>',
        '<key attr.name="label" attr.type="string" for="node" id="label"/>'
        '<key attr.name="Edge Label" attr.type="string" for="edge" id="edgelabel"/>'
        '<key attr.name="weight" attr.type="double" for="edge" id="weight"/>',
    )
    assert triples(graph_of(gephi)) == {("Ada", "met", "Charles")}

    shape = (
        '<data key="k"><y:ShapeNode xmlns:y="http://www.yworks.com/xml/graphml"><y:Fill color="#fff"/>'
        "<y:NodeLabel>{}</y:NodeLabel> \n</y:ShapeNode></data></node>"
    )
    yed = written(
        tmp_path / "y.graphml",
        f'<node id="n0">{shape.format("Ada")}<node id="n1">{shape.format("Charles")}<edge source="n0" target="n1">'
        "<data key='e'><y:PolyLineEdge xmlns:y='http://www.yworks.com/xml/graphml'><y:EdgeLabel>met</y:EdgeLabel></y:PolyLineEdge></data></edge>",
        '<key for="node" id="k" yfiles.type="nodegraphics"/><key for="edge" id="e" yfiles.type="edgegraphics"/>',
    )
    assert triples(graph_of(yed)) == {("Ada", "met", "Charles")}


def test_nodes_of_one_name_stay_two_and_those_of_two_files_are_one(tmp_path: Path) -> None:
    keys = '<key id="l" for="node" attr.name="label"/>'
    keys += '<key id="p" for="edge" attr.name="predicate"><default>near</default></key>'
    paris = '<node id="n{}"><data key="l">{}</data></node>'
    body = paris.format(0, "Paris") + paris.format(1, "paris") + paris.format(2, "Lyon")
    one = written(tmp_path / "a.graphml", body + '<edge source="n1" target="n2"/>', keys)
    two = written(tmp_path / "b.graphml", paris.format(0, "LYON"), keys)
    graph = graph_of(one, two)
    assert triples(graph) == {("paris", "near", "Lyon")}
    assert sorted(graph.names) == ["Lyon", "Paris (a.graphml#n0)", "paris"]


def test_what_cannot_be_used_is_a_failure_with_its_place(tmp_path: Path) -> None:
    keys = KEYS.replace('"weight" attr.type="double"', '"weight" attr.type="string"')
    body = """<node id="a"/>
<node id=" "/>
<edge source="a" target=" "/>
<edge source="a" target="b"><data key="d3">heavy</data></edge>
<edge source="a" target="c"><data key="d3">-1</data></edge>"""
    graph = graph_of(written(tmp_path / "a.graphml", body, keys))
    assert [(each.item_id, each.reason) for each in graph.failures] == [
        ("a.graphml#1", "a node without a name"),
        ("a.graphml#0", "an edge to a missing node"),
        ("a.graphml#1", "not a weight"),
        ("a.graphml#2", "not a weight"),
    ]
    assert only(dict(list(graph.triple_attributes.items())[:1])).weight == 1.0, "an edge without a weight weighs 1"


BOMB = "".join(f'<!ENTITY e{i} "{f"&e{i - 1};" * 10}">' for i in range(1, 9))


@pytest.mark.parametrize(
    "content",
    [
        "",
        "<graphml",
        "<html/>",
        "<!DOCTYPE graphml SYSTEM 'file:///etc/passwd'><graphml/>",
        f'<!DOCTYPE r [<!ENTITY e0 "aaaaaaaaaaaa">{BOMB}]><graphml>&e8;</graphml>',
        f"<graphml>{'<a>' * 300_000}",
    ],
)
def test_what_is_no_graphml_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.graphml").write_text(content, "utf-8")
    with pytest.raises(InputError, match=r"a\.graphml cannot be read: .") as caught:
        graph_of(tmp_path / "a.graphml")
    assert "\n" not in str(caught.value)
