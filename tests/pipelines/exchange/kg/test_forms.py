"""Graphs in the forms in which other programs write them, each with the triples that it states."""

import bz2
import gzip
import json
from collections.abc import Mapping
from pathlib import Path

import networkx as nx
import pytest
from conspectus.pipelines.exchange.kg.builder import ImportedGraph
from conspectus.pipelines.exchange.kg.read import read_graph
from conspectus.storage.errors import InputError
from conspectus.storage.settings import KgSettings

from tests.pipelines.exchange.made import triples

WORK = {("Ada", "employs", "Bob"), ("Bob", "knows", "Cleo")}
PAIRS = {("Ada", "connected to", "Bob"), ("Bob", "connected to", "Cleo")}
BOTH = PAIRS | {(target, relation, source) for source, relation, target in PAIRS}
PEOPLE = {("Ada", "born", "1815"), ("Ada", "type", "Person"), ("Bob", "type", "Person"), ("Bob", "type", "Clerk")}
NODES = [{"id": "a", "label": "Ada"}, {"id": "b", "label": "Bob"}, {"id": "c", "label": "Cleo"}]
EDGES = [
    {"source": "a", "target": "b", "relation": "employs", "weight": 2},
    {"source": "b", "target": "c", "relation": "knows"},
]
X = "http://ex.org/"
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TURTLE = f"""@prefix x: <{X}> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
x:1 x:employs x:2 ; <{LABEL}> "Ada"@en , "Ada die Erste"@de ; skos:altLabel "Countess"@en ;
  skos:definition "The first programmer."@en .
x:2 skos:prefLabel "Bob" ; x:knows x:3 . x:3 <http://xmlns.com/foaf/0.1/name> "Cleo" .
"""
DEFINED = {*WORK, ("Ada", "definition", "The first programmer.")}

FORMS: dict[str, tuple[Mapping[str, str | bytes], set[tuple[str, str, str]]]] = {
    "relation last": ({"a.csv": "source,target,relation\nAda,Bob,employs\nBob,Cleo,knows\n"}, WORK),
    "relation last without a header": (
        {"a.csv": "Ada,Bob,employs\nBob,Cleo,knows\nCleo,Ada,knows\n"},
        {*WORK, ("Cleo", "knows", "Ada")},
    ),
    "semicolons, a byte order mark, Excel's line that names the separator, and CR": (
        {"a.csv": "\ufeffsep=;\rSubject;Predicate;Object\rAda;employs;Bob\rBob;knows;Cleo\r"},
        WORK,
    ),
    "UTF-16 with numbered rows": (
        {"a.csv": "id;Subject;Predicate;Object\r\n1;Ada;employs;Bob\r\n2;Bob;knows;Cleo\r\n".encode("utf-16")},
        WORK,
    ),
    "German headers with numbered rows": (
        {"a.csv": "Nr.;Subjekt;Prädikat;Objekt\n1;Ada;employs;Bob\n2;Bob;knows;Cleo\n".encode("cp1252")},
        WORK,
    ),
    "code page 1252": (
        {"a.csv": "from,to\nMüller,Château Élysée\n".encode("cp1252")},
        {("Müller", "connected to", "Château Élysée")},
    ),
    "quoted cells in TSV": (
        {"a.tsv": '"head"\t"relation"\t"tail"\n"Ada"\t"employs"\t"Bob"\n"Bob"\t"knows"\t"Cleo"\n'},
        WORK,
    ),
    "comments, duplicates, short rows": (
        {"a.tsv": "# by hand\n\n# another\nAda\temploys\tBob\nAda\temploys\tBob\n# a remark\nBob\nBob\tknows\tCleo\n"},
        WORK,
    ),
    "two columns": ({"a.csv": "from,to\nAda,Bob\nBob,Cleo\n"}, PAIRS),
    "SNAP": ({"a.txt": "# Directed graph\n# FromNodeId\tToNodeId\nAda\tBob\nBob\tCleo\n"}, PAIRS),
    "words between blanks": ({"a.txt": "Ada Bob\nBob Cleo\n"}, PAIRS),
    "an index of pandas": ({"a.csv": ",head,relation,tail\n0,Ada,employs,Bob\n1,Bob,knows,Cleo\n"}, WORK),
    "edges of Gephi": (
        {
            "edges.csv": "Source,Target,Type,Id,Label,Weight\n1,2,Directed,0,employs,2.0\n2,3,Directed,1,knows,1.0\n",
            "nodes.csv": "Id,Label,timeset\n1,Ada,\n2,Bob,\n3,Cleo,\n",
        },
        WORK,
    ),
    "undirected edges of Gephi": (
        {"edges.csv": "Source,Target,Type,Weight\nAda,Bob,Undirected,14\nBob,Cleo,Undirected,3\n"},
        BOTH,
    ),
    "neo4j-admin": (
        {
            "people.csv": "personId:ID,name,born:int,:LABEL\np1,Ada,1815,Person\np2,Bob,,Person;Clerk\n",
            "work.csv": ":START_ID,:END_ID,:TYPE\np1,p2,employs\n",
        },
        {("Ada", "employs", "Bob"), *PEOPLE},
    ),
    "APOC": (
        {
            "all.csv": '"_id","_labels","born","name","_start","_end","_type"\n"0",":Person","1815","Ada",,,\n'
            '"1",":Person:Clerk","","Bob",,,\n,,,,"0","1","employs"\n'
        },
        {("Ada", "employs", "Bob"), *PEOPLE},
    ),
    "APOC's JSON lines": (
        {
            "all.json": '{"type":"node","id":"0","labels":["Person"],"properties":{"name":"Ada","born":1815}}\n'
            '{"type":"node","id":"1","labels":["Person","Clerk"],"properties":{"name":"Bob"}}\n'
            '{"id":"0","type":"relationship","label":"employs","start":{"id":"0"},"end":{"id":"1"}}\n'
        },
        {("Ada", "employs", "Bob"), *PEOPLE},
    ),
    "a result of Wikidata as CSV": (
        {"query.csv": f"item,itemLabel,employer,employerLabel,birth\n{X}Q1,Bob,{X}Q2,Ada,1815-12-10T00:00:00Z\n"},
        {("Bob", "employer", "Ada"), ("Bob", "birth", "1815-12-10")},
    ),
    "triples of Wikidata as CSV": (
        {"query.csv": f"item,itemLabel,property,propertyLabel,value,valueLabel\n{X}Q1,Ada,{X}P1,employs,{X}Q2,Bob\n"},
        {("Ada", "employs", "Bob")},
    ),
    "a result of SPARQL as JSON": (
        {
            "query.json": json.dumps(
                {"results": {"bindings": [{"s": {"value": "Ada"}, "p": {"value": "employs"}, "o": {"value": "Bob"}}]}}
            )
        },
        {("Ada", "employs", "Bob")},
    ),
    "lists in JSON": ({"a.json": json.dumps([list(each) for each in sorted(WORK)], indent=1)}, WORK),
    "objects in JSON": (
        {"a.json": json.dumps([{"head": head, "relation": said, "tail": tail} for head, said, tail in sorted(WORK)])},
        WORK,
    ),
    "objects in JSON lines": (
        {"a.jsonl": '{"subject":"Ada","predicate":"employs","object":"Bob"}\n["Bob","knows","Cleo"]\n'},
        WORK,
    ),
    "node-link data": ({"a.json": json.dumps({"directed": True, "graph": {}, "nodes": NODES, "links": EDGES})}, WORK),
    "adjacency data": (
        {
            "a.json": json.dumps(
                {
                    "directed": True,
                    "nodes": NODES,
                    "adjacency": [[{"id": "b", **EDGES[0]}], [{"id": "c", **EDGES[1]}], []],
                }
            )
        },
        WORK,
    ),
    "D3 with numbers": (
        {"a.json": json.dumps({"nodes": NODES, "links": [{"source": 0, "target": 1}, {"source": 1, "target": 2}]})},
        PAIRS,
    ),
    "Cytoscape": (
        {
            "a.cyjs.json": json.dumps(
                {
                    "elements": {
                        key: [{"data": each} for each in several]
                        for key, several in (("nodes", NODES), ("edges", EDGES))
                    }
                }
            )
        },
        WORK,
    ),
    "Turtle": ({"a.ttl": TURTLE}, DEFINED),
    "TriG": ({"a.trig": f"{TURTLE} x:g {{ x:3 x:knows x:1 }}"}, {*DEFINED, ("Cleo", "knows", "Ada")}),
    "RDF/XML": (
        {
            "a.xml": '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://ex.org/">'
            '<r:Description r:about="http://ex.org/Ada"><x:employs r:resource="http://ex.org/Bob"/></r:Description></r:RDF>'
        },
        {("Ada", "employs", "Bob")},
    ),
    "JSON-LD": (
        {"a.json": json.dumps({"@context": {"@vocab": X}, "@id": f"{X}1", "name": "Ada", "employs": {"name": "Bob"}})},
        {("Ada", "employs", "Bob")},
    ),
    "N-Quads, compressed": (
        {"a.nq.gz": gzip.compress(f"<{X}Ada> <{X}employs> <{X}Bob> <{X}g> .\n".encode())},
        {("Ada", "employs", "Bob")},
    ),
    "CSV, compressed": (
        {"a.csv.bz2": bz2.compress(b"source,target,relation\nAda,Bob,employs\nBob,Cleo,knows\n")},
        WORK,
    ),
}


def imported(folder: Path, files: Mapping[str, str | bytes], columns: tuple[str, ...] = ()) -> ImportedGraph:
    """Return the graph of a folder with these files."""
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    graph = read_graph(KgSettings(files=(str(folder),), columns=columns))
    assert graph is not None
    return graph


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_other_programs(form: str, tmp_path: Path) -> None:
    files, expected = FORMS[form]
    assert triples(imported(tmp_path, files)) == expected


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("a.graphml", nx.write_graphml),
        ("a.graphml.gz", nx.write_graphml),
        ("a.gexf", nx.write_gexf),
        ("a.gml", nx.write_gml),
        ("a.edgelist", nx.write_edgelist),
        ("a.net", nx.write_pajek),
    ],
)
def test_what_networkx_writes(name: str, write: object, tmp_path: Path) -> None:
    made = nx.DiGraph()
    made.add_edge("Ada", "Bob", relation="employs", weight=2)
    made.add_edge("Bob", "Cleo", relation="knows", weight=1)
    assert callable(write)
    write(made, tmp_path / name)
    graph = imported(tmp_path, {})
    if name.endswith(".net"):  # it writes no texts of edges
        assert {each[::2] for each in triples(graph)} == {each[::2] for each in WORK}
    elif name.endswith(".edgelist"):  # it states no direction
        assert triples(graph) == WORK
    else:
        assert triples(graph) == WORK
        assert sorted(each.weight for each in graph.triple_attributes.values()) == [1, 2]


def test_labels_in_other_languages_and_alternative_ones_are_further_names(tmp_path: Path) -> None:
    graph = imported(tmp_path, {"a.ttl": TURTLE})
    further = {(name, graph.names[row]) for name, row in graph.other_names}
    assert further == {("Ada die Erste", "Ada"), ("Countess", "Ada")}
    assert graph.thing_attributes[graph.names.index("Ada")].description == "The first programmer."


@pytest.mark.parametrize("columns", [("who", "does", "whom"), ("2", "3", "4")])
def test_a_setting_names_the_columns(columns: tuple[str, ...], tmp_path: Path) -> None:
    rows = "nr,who,does,whom\n1,Ada,employs,Bob\n2,Bob,knows,Cleo\n"
    found = triples(imported(tmp_path, {"a.csv": rows}, columns))
    assert found == (WORK if columns[0] == "who" else {*WORK, ("who", "does", "whom")})
    with pytest.raises(InputError, match=r"kg\.columns names two to four of the columns nr, who, does, whom"):
        imported(tmp_path, {}, ("9", "8"))


@pytest.mark.parametrize(
    ("name", "content", "forms"),
    [
        ("a.csv", "when,where,what,how\n1,2,3,4\n", r"its columns \(when, where, what, how\) .* kg\.columns"),
        ("a.json", '{"name": "Ada"}', "its form is unknown; a list of triples"),
        ("a.json", "[1, 2", "it is not JSON"),
        ("a.xlsx", "PK", r"a graph is read from \.tsv"),
        ("a.csv", "", "empty"),
        ("a.gml", "graph [ node [", "cannot be read"),
    ],
)
def test_what_is_not_understood_is_refused_with_what_is_read(
    name: str, content: str, forms: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=forms):
        imported(tmp_path, {name: content})


def test_a_quotation_mark_that_is_not_closed_is_one_failure(tmp_path: Path) -> None:
    rows = "".join(f"Ada,knows,number {number}\n" for number in range(20_000))
    graph = imported(tmp_path, {"a.csv": f'Ada,employs,Bob\nBob,knows,Cleo\nAda,says,"so\n{rows}'})
    assert triples(graph) == WORK
    assert [each.reason for each in graph.failures] == ["a row is too long"]
