"""G-Retriever over a small graph: what is found, what answers without a model, and what a model may cite."""

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import conspectus
import pytest
from conspectus import Index as Conspectus
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.conversation.history import Conversation
from conspectus.query.conversation.session import append_turn, read_session
from conspectus.query.menu import METHODS, find_retriever
from conspectus.query.methods.gretriever.retrieval import retrieve_subgraph
from conspectus.query.methods.gretriever.triples import nearest_triples, triple_line
from conspectus.query.types import Answer
from conspectus.query.types.subgraph import MOST, NO_PRIZES, CarriedPrizes, decayed
from conspectus.query.walk.graph import open_graph
from conspectus.storage.errors import InputError
from conspectus.storage.records import Relation
from conspectus.storage.settings import load_settings
from conspectus.storage.text.tokens import count_tokens

from benchmarks.fake_server import Rule
from tests.query import films
from tests.query.graph_serving import asked_of, prompts, served

QUESTION = "What genre is the film Grey Heron?"
READ = "a part of a knowledge graph"


def ask(context: Context, question: str = QUESTION, topics: Sequence[str] = ()) -> Answer:
    return asked_of(context, "gretriever", question, topics)


def with_settings(context: Context, **keys: object) -> Context:
    return Context(context.index, load_settings(overrides={"gretriever": keys}))


def said(answer: str = "It is a drama.", **more: object) -> str:
    return json.dumps({"answer": answer, "names": ["drama"], "nodes": [0], "edges": [0]} | more)


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


def test_the_budget_bounds_them(films_index: Context) -> None:
    some = nearest_triples(with_settings(films_index, context_tokens=64), "What genre is Grey Heron?")
    lines = [triple_line(open_graph(films_index), row) for row in some.relations]
    assert 0 < len(lines) < len(films.TRIPLES)
    assert sum(map(count_tokens, lines)) <= 64


def test_prizes_fall_with_every_turn() -> None:
    old, new = CarriedPrizes((("a", 4.0), ("b", 1.0))), CarriedPrizes((("b", 3.0),), (("r", 0.02),))
    assert decayed([old, new], 0.5) == CarriedPrizes((("b", 1.5), ("a", 1.0)), (("r", 0.01),))
    assert decayed([old, new], 0.0) == NO_PRIZES
    assert decayed([], 0.5) == NO_PRIZES
    many = CarriedPrizes(tuple((f"n{number:03}", 1.0) for number in range(3 * MOST)))
    assert len(decayed([many], 0.5).nodes) == MOST


def test_a_conversation_keeps_the_subgraph_and_grows_it(films_index: Context) -> None:
    talk = conspectus.Index(films_index).chat("gretriever")
    first = talk.ask("Who directed Grey Heron?")
    second = talk.ask("Where was she born?")
    assert first.evidence.subgraph
    assert second.evidence.subgraph
    assert {"Grey Heron", "Ada Mirren", "Pelluci"} <= set(second.evidence.subgraph.text.nodes)


def test_it_is_kept_in_a_file_too(films_index: Context, tmp_path: Path) -> None:
    talk = conspectus.Index(films_index).chat("gretriever")
    talk.ask("Who directed Grey Heron?")
    path = tmp_path / "talk.jsonl"
    append_turn(path, talk.history.turns[0])
    assert read_session(path) == Conversation(talk.history.turns)
    assert talk.history.turns[0].kept.nodes
    path.write_text(path.read_text("utf-8").replace('"kept": {"nodes": [["', '"kept": {"nodes": [[7, "'), "utf-8")
    with pytest.raises(InputError, match="kept"):
        read_session(path)


Build = Callable[[Iterable[tuple[str, str]]], Context]
BOTH = pytest.mark.parametrize("method", ["gretriever", "triples"])


def ask_by(context: Context, method: str, question: str) -> Answer:
    answerer = METHODS[method].answerer(context)
    return asyncio.run(answerer.answer(question))


@BOTH
@pytest.mark.parametrize(
    "passages",
    [
        [("", "nothing here bears a name, and nothing is said of anything.")],
        [("", "Ottokar."), ("", "ottokar again, and no more.")],
    ],
)
def test_without_relations_nothing_is_known_but_passages_are_found(
    build: Build, method: str, passages: list[tuple[str, str]]
) -> None:
    context = build(passages)
    answer = ask_by(context, method, "Who is Ottokar?")
    assert answer.text.startswith(NO_ANSWER)
    assert answer.names == ()
    found = asyncio.run(find_retriever(method, context).retrieve("Who is Ottokar?", 5))
    assert {each.text for each in found.passages} == {text for _, text in passages}


@BOTH
def test_names_of_any_script_with_marks_of_csv(tmp_path: Path, method: str) -> None:
    triples = [("法国", "首都", "巴黎"), ("مصر", "عاصمة", "القاهرة"), ('O"Neil, Ltd.', "seat", "Rome, Italy")]
    context = films.build(tmp_path, triples)
    assert "巴黎" in ask_by(context, method, "法国的首都是什么").names
    assert "القاهرة" in ask_by(context, method, "ما هي عاصمة مصر").names
    assert ask_by(context, method, 'Where is the seat of O"Neil, Ltd.?').triples


@BOTH
def test_a_filter_narrows_what_is_found(sample_context: Context, method: str) -> None:
    index = Conspectus(sample_context)
    whole = index.ask("Where does Oxford lie?", method)
    assert whole.evidence.subgraph is not None
    assert whole.evidence.subgraph.relations
    narrowed = index.filter('title = "Oxford"').ask("Where does Oxford lie?", method)
    assert narrowed.evidence.subgraph is not None
    assert narrowed.evidence.subgraph.searched[1] < len(sample_context.index.arrow(Relation, "id"))
    assert {each.title for each in narrowed.evidence.passages} == {"Oxford"}
    nothing = index.filter('title = "Nowhere"').ask("Where does Oxford lie?", method)
    assert nothing.text.startswith(NO_ANSWER)
    assert nothing.evidence.passages == ()
