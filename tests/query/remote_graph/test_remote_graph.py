"""A live graph: Oxigraph's server with the films as RDF as it is found elsewhere, walked and read."""

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from conspectus.endpoint import open_endpoint
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.context import Context
from conspectus.query.question.topics import find_topics
from conspectus.query.remote_graph import graph as remote_graph
from conspectus.query.remote_graph.graph import LiveGraph
from conspectus.query.sparql import endpoint
from conspectus.query.sparql.endpoint import Endpoint
from conspectus.query.walk.graph import WalkGraph, open_graph, open_walk_graph
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus
from tests.query import films
from tests.query.endpoint_serving import oxigraph_server, send, serving
from tests.query.methods.tog.test_tog2 import NO, naming, rules

THING = "http://films.example/thing/"
PREDICATES = {
    "directed_by": "<http://films.example/terms/directedBy>",
    "starred_actors": "<http://films.example/terms/starred_actors>",
    "release_year": "<http://films.example/terms/releaseYear>",
    "has_genre": "<http://films.example/terms/hasGenre>",
    "written_by": "<http://films.example/terms/P50>",
    "born_in": "<http://films.example/terms/bornIn>",
    "lies_in": "<http://films.example/terms/liesIn>",
}
LABEL = "<http://www.w3.org/2000/01/rdf-schema#label>"


def turtle() -> str:
    """The films: years are literals, one predicate is named by a property that it stands for, as in Wikidata."""
    names = sorted({end for source, _, target in films.TRIPLES for end in (source, target) if not end.isdigit()})
    things = {name: f"<{THING}{number}>" for number, name in enumerate(names)}
    lines = [
        f"<{THING}P50> <http://wikiba.se/ontology#directClaim> {PREDICATES['written_by']} ; {LABEL} 'written by'@en .",
        f"{things['Grey Heron']} <http://www.w3.org/2000/01/rdf-schema#comment> 'Grey Heron is a quiet film.'@en ;"
        f" <http://films.example/terms/award> [ {LABEL} 'a medal' ] ; {LABEL} 'Graureiher'@de .",
    ]
    lines += [f'{thing} {LABEL} "{name}"@en .' for name, thing in things.items()]
    for source, predicate, target in films.TRIPLES:
        year = f'"{target}"^^<http://www.w3.org/2001/XMLSchema#gYear>'
        lines.append(f"{things[source]} {PREDICATES[predicate]} {year if target.isdigit() else things[target]} .")
    return "\n".join(lines)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with oxigraph_server(tmp_path_factory.mktemp("films"), turtle()) as url:
        yield url


def live(url: str) -> LiveGraph:
    chosen = load_settings()
    embedder = open_embedder(chosen.embedding, chosen.embedding_server)
    return LiveGraph(Endpoint(url), chosen.endpoint, embedder)


def stated(graph: WalkGraph, row: int) -> set[tuple[str, str, str, bool]]:
    edges = graph.edges_of([row])
    predicates = {"directedBy": "directed_by", "releaseYear": "release_year", "hasGenre": "has_genre",
                  "written by": "written_by", "bornIn": "born_in", "liesIn": "lies_in"}  # fmt: skip
    return {
        (graph.names[at], predicates.get(graph.predicates[number], graph.predicates[number]), graph.names[other], out)
        for at, other, number, _, out in zip(*(part.tolist() for part in edges), strict=True)
    }


@pytest.mark.parametrize("page", [2, 1000])
def test_a_live_graph_reads_as_the_arrays_of_an_index_do(
    server: str, films_index: Context, page: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_PAGE", page)
    one, other = live(server), open_walk_graph(films_index)
    for name in ("Grey Heron", "Ada Mirren", "Pelluci", "1974"):
        [row] = one.topics("", [name], 3).rows if name != "1974" else one.topics("What came out in 1974?", None, 1).rows
        [stored] = find_topics(films_index, "", [name]).rows
        assert stated(one, row) == stated(other, stored)
        assert one.degrees_of([row]) >= open_graph(films_index).degrees()[stored]
    assert one.topics("", ["Nobody"], 3).step.detail == "given: Nobody; the endpoint lacks Nobody"
    assert any("blank nodes" in text for _, text in one.notes), "what cannot be read is told"
    assert one.topics("who directed GREY HERON", None, 1).rows == one.topics("", ["Grey Heron"], 1).rows


ASKED = [
    ("Who directed Night Ferry?", {"Hugo Wren"}),
    ("In what year did Salt Pans come out?", {"1974"}),
    ("Which films did Ada Mirren make?", {"Grey Heron", "Salt Pans", "Port Alma"}),
    ("Who acted in the films of Ada Mirren?", {"Otto Brand", "Lena Fisk", "Hugo Wren"}),
    ("Which directors were born in the same place as Ada Mirren?", {"Hugo Wren"}),
    ("What films came out in 1974?", {"Salt Pans", "Night Ferry"}),
    ("Did Hugo Wren direct Grey Heron?", {"no"}),
    ("How many films did Ada Mirren direct?", {"3"}),
    ("In which region was the writer of Night Ferry born?", {"Ostrava"}),
    ("Who wrote Grey Heron?", None),
    ("Which comedy did Otto Brand act in?", {"Port Alma"}),
    ("Who is older, Ada Mirren or Hugo Wren?", None),
]
FAR = {
    "Which directors were born in the same place as Ada Mirren?",
    "In which region was the writer of Night Ferry born?",
}
"""What two steps from the things that are named do not reach."""


@pytest.mark.parametrize("whole", [True, False])
def test_questions_without_a_model(server: str, whole: bool) -> None:
    graph = open_endpoint(server, load_settings(overrides={"endpoint": {} if whole else {"most_triples": 20}}))
    for question, right in ASKED:
        answer = graph.ask(question)
        if right is None or (question in FAR and not whole):
            assert not answer.known, (question, answer.text)
        else:
            assert set(answer.names) == right, (question, answer.text)
            assert answer.triples
            assert all(triple.relation_id.startswith(f"<{THING}") for triple in answer.triples)
        assert answer.trace[0].name == "endpoint"


def test_a_number_is_counted_by_the_endpoint_where_a_part_is_read(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_graph, "MOST_EDGES", 2)
    settings = load_settings(overrides={"endpoint": {"most_triples": 10}})
    answer = open_endpoint(server, settings).ask("How many films did Ada Mirren direct?")
    assert answer.names == ("3",), "though no more than two statements in each direction were read"
    assert [step.detail[:4] for step in answer.trace if step.name == "counted"] == ["3 by"]
    assert any("of Ada Mirren at most" in step.detail for step in answer.trace if step.name == "not read")


def test_a_walk_with_a_model_reads_the_graph_as_it_goes(server: str, memo: Path) -> None:
    said = [NO, "{Yes} {Pelluci} [1][2]"]
    with FakeServer([*rules(said), naming("directed by", "born in")]) as model:
        llm = {"model": "m", "base_url": model.url, "attempts": 1}
        index = open_endpoint(server, load_settings(overrides={"llm": llm})).about(QUESTION, "tog2")
        answer = index.ask(QUESTION, "tog2")
    assert answer.text == "Pelluci [1][2]"
    assert [(each.source, each.target) for each in answer.triples] == [
        ("Grey Heron", "Ada Mirren"),
        ("Ada Mirren", "Pelluci"),
    ]
    assert answer.triples[0].relation_id.split()[1] == PREDICATES["directed_by"]
    assert "Grey Heron" in index.walk_text(answer)
    assert index.graph is not None
    assert len(index.part.sources) < len(films.TRIPLES), "what lies elsewhere was not read"


QUESTION = "Where was the director of Grey Heron born?"


def test_what_an_endpoint_says_stays_data() -> None:
    evil = [
        {"at": uri("http://x.example/a> } DROP ALL"), "label": text("Grey Heron")},
        {"at": {"type": "bnode", "value": "b"}, "label": text("Grey Heron")},
        {"at": uri("http://x.example/a"), "label": text("Grey Heron")},
    ]
    seen: list[str] = []

    def reply(request: BaseHTTPRequestHandler, query: str) -> None:
        import json

        seen.append(query)
        rows = evil if "SELECT DISTINCT ?at ?label" in query else []
        body = {"head": {"vars": ["at", "label"]}, "results": {"bindings": rows}}
        send(request, 200, json.dumps(body).encode())

    with serving(reply) as url:
        answer = open_endpoint(url).ask("Who directed Grey Heron?")
    assert not answer.known
    assert not any("DROP" in query for query in seen)


def uri(value: str) -> dict[str, str]:
    return {"type": "uri", "value": value}


def text(value: str) -> dict[str, str]:
    return {"type": "literal", "value": value}


def test_a_scan_that_is_refused_is_a_step(server: str) -> None:
    def refuse(request: BaseHTTPRequestHandler, query: str) -> None:
        if "LCASE" in query:
            return send(request, 500, b"too expensive")
        found = from_server(server, query)
        return send(request, 200, found)

    with serving(refuse) as url:
        answer = open_endpoint(url).ask("Where was Mirren born?")
    [step] = [step for step in answer.trace if "not scanned" in step.detail]
    assert "too expensive" in step.detail
    assert open_endpoint(server).ask("Where was Mirren born?").names == ("Pelluci",)


def from_server(url: str, query: str) -> bytes:
    """Put a query to the real server."""
    import httpx

    accepted = {"Accept": "application/sparql-results+json"}
    return httpx.post(url, data={"query": query}, headers=accepted, trust_env=False).content


def test_methods_for_documents_and_large_graphs_are_told(server: str) -> None:
    with pytest.raises(UsageError, match="reads documents"):
        open_endpoint(server).ask("Who directed Grey Heron?", "bm25")
    few = load_settings(overrides={"endpoint": {"most_triples": 5}})
    with pytest.raises(UsageError, match="queries a whole graph"):
        open_endpoint(server, few).ask("Who directed Grey Heron?", "sparql")
    for method in ("sparql", "fasttog", "tog2", "tog", "gretriever", "plan"):
        assert open_endpoint(server).ask("Who directed Night Ferry?", method).names == ("Hugo Wren",), method


def test_the_command_line(server: str) -> None:
    done = conspectus("ask", "Who directed Night Ferry?", "--endpoint", server, "--trace")
    assert done.status == 0, done.err
    assert done.out.startswith("Hugo Wren [1]")
    assert "statements of" in done.out
    refused = conspectus("ask", "Who?", "--endpoint", "ftp://x.example/")
    assert (refused.status, "http://" in refused.err) == (2, True)
