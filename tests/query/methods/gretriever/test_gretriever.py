"""G-Retriever over a small graph: what is found, what answers without a model, and what a model may cite."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.citations.marks import UNVERIFIED
from conspectus.query.context import Context
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.types import Answer
from conspectus.query.walk.graph import open_graph
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import Rule
from tests.query.graph_serving import asked_of, prompts, served

QUESTION = "What genre is the film Grey Heron?"
READ = "a part of a knowledge graph"


def ask(context: Context, question: str = QUESTION, topics: Sequence[str] = ()) -> Answer:
    return asked_of(context, "gretriever", question, topics)


def with_settings(context: Context, **keys: object) -> Context:
    return Context(context.index, load_settings(overrides={"gretriever": keys}))


def said(answer: str = "It is a drama.", **more: object) -> str:
    return json.dumps({"answer": answer, "names": ["drama"], "nodes": [0], "edges": [0]} | more)


def test_the_subgraph_is_around_what_the_question_names(films_index: Context) -> None:
    found = retrieve_subgraph(films_index, QUESTION).subgraph
    assert found.text.nodes[0] == "Grey Heron"
    assert "Drama" in found.text.nodes
    assert found.node_prizes[0] == 3.0
    assert len(found.nodes) == len(found.text.nodes) == len(found.node_prizes)
    assert len(found.relations) == len(found.text.edges) == len(found.edge_prizes)
    graph = open_graph(films_index)
    for row, edge in zip(found.relations, found.text.edges, strict=True):
        assert graph.names[graph.sources[row]].replace("_", " ") == found.text.nodes[edge.source]
        assert graph.names[graph.targets[row]].replace("_", " ") == found.text.nodes[edge.target]


def test_settings_decide_on_its_size(films_index: Context) -> None:
    bare = {"top_k_nodes": 1, "fill": False}
    few = retrieve_subgraph(with_settings(films_index, top_k_edges=1, **bare), QUESTION).subgraph
    many = retrieve_subgraph(with_settings(films_index, top_k_edges=7, edge_cost=0.1), QUESTION).subgraph
    dear = retrieve_subgraph(with_settings(films_index, top_k_edges=0, edge_cost=100, **bare), QUESTION).subgraph
    assert 0 < len(few.relations) < len(many.relations)
    assert few.text.edges[0].text == "has genre"
    assert (dear.text.nodes, dear.relations) == (("Grey Heron",), ())
    short = retrieve_subgraph(with_settings(films_index, top_k_edges=7, context_tokens=64), QUESTION)
    assert 0 < len(short.subgraph.nodes) < len(many.nodes)
    assert "token budget reached" in short.trace[-1].detail


def test_given_topics_lead_and_unknown_ones_are_told(films_index: Context) -> None:
    found = retrieve_subgraph(films_index, "Who wrote it?", ["Salt_Pans", "Nowhere"])
    assert found.subgraph.text.nodes[0] == "Salt Pans"
    assert "lacks Nowhere" in found.trace[0].detail


def test_without_a_model_the_best_supported_node_answers(films_index: Context) -> None:
    answer = ask(films_index)
    assert answer.method == "gretriever:offline"
    assert answer.names == ("Drama",)
    assert answer.text == "Drama [1]"
    assert [(each.source, each.predicate, each.target) for each in answer.triples] == [
        ("Grey Heron", "has_genre", "Drama")
    ]
    assert answer.usage.calls == 0
    assert answer.usage.units == len(answer.evidence.subgraph.nodes if answer.evidence.subgraph else ())
    assert answer.known


def test_a_model_is_asked_once_and_cites_what_is_there(films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(said(nodes=[0, 1, 99], edges=[0, 0, 77]), READ)]) as (context, server):
        answer = ask(context)
    assert len(server.requests) == answer.usage.calls == 1
    assert (answer.method, answer.text, answer.names) == (
        "gretriever",
        "It is a drama. [1]",
        ("Drama",),
    )
    assert [each.target for each in answer.triples] == ["Drama"]
    assert answer.dropped_citations == 2
    assert "2 of 3 cited nodes and 1 of 2 cited edges are valid; fully valid: no" in answer.trace[-1].detail
    prompt = prompts(server)[0]
    assert "node_id,node_attr\n0,Grey Heron\n" in prompt
    assert "edge_id,src,edge_attr,dst\n0,0,has genre,1\n" in prompt
    assert QUESTION in prompt


@pytest.mark.parametrize(
    ("prompt", "keys"),
    [
        ("zero_shot", ["answer", "names", "nodes", "edges"]),
        ("zero_cot", ["thoughts", "answer", "names", "nodes", "edges"]),
        ("cot_bag", ["thoughts", "answer", "names", "nodes", "edges"]),
        ("question_only", ["answer", "names"]),
    ],
)
def test_each_variant_asks_for_its_own_form(prompt: str, keys: list[str], films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(said(thoughts="..."))], gretriever={"prompt": prompt}) as (context, server):
        ask(context)
    (request,) = server.requests
    assert request.body
    assert list(request.body["response_format"]["json_schema"]["schema"]["properties"]) == keys


def test_the_question_alone_shows_no_graph(films_index: Context, memo: Path) -> None:
    replies = [Rule(json.dumps({"answer": "Otto", "names": ["Otto"]}), "from what you know")]
    with served(films_index, memo, replies, gretriever={"prompt": "question_only"}) as (context, server):
        answer = ask(context)
    assert "Drama" not in prompts(server)[0]
    assert (answer.text, answer.names, answer.triples) == (f"Otto {UNVERIFIED}", ("Otto",), ())


@pytest.mark.parametrize(
    ("reply", "why"),
    [("", "cannot be used"), ('{"answer": "Unknown."}', "does not know")],
)
def test_bad_replies_are_no_answer(reply: str, why: str, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(reply, READ)]) as (context, server):
        answer = ask(context)
    assert len(server.requests) == (2 if why == "cannot be used" else 1)
    assert answer.text == NO_ANSWER
    assert why in answer.trace[-1].detail
    assert not answer.known
