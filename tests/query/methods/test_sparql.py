import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.sparql import QueryReply, relevant
from conspectus.query.question.topics import rows_of
from conspectus.query.sparql.schema import predicates
from conspectus.query.types import Answer

from benchmarks.fake_server import Rule
from tests.query.graph_serving import asked_of, prompts, served

BEFORE_1975 = """SELECT (COUNT(DISTINCT ?film) AS ?count) WHERE {
  ?film p:directed_by ?person ; v:release_year ?year . ?person rdfs:label "Ada Mirren" FILTER(?year < 1975) }"""


def written(*queries: str) -> list[Rule]:
    """Return the rules of a server whose model writes these queries, one after the other."""
    replies = [json.dumps({"reasoning": "So.", "query": query}) for query in queries]
    return [Rule(reply, times=1) for reply in replies[:-1]] + [Rule(replies[-1])]


def ask(context: Context, question: str, topics: Sequence[str] = ()) -> Answer:
    return asked_of(context, "sparql", question, topics)


def triples(answer: Answer) -> set[tuple[str, str, str]]:
    return {(each.source, each.predicate, each.target) for each in answer.triples}


def test_a_model_writes_the_query_and_the_answer_cites_what_makes_it(films_index: Context, memo: Path) -> None:
    with served(films_index, memo, written(BEFORE_1975)) as (context, server):
        answer = ask(context, "How many films did Ada Mirren make before 1975?")
    assert (answer.names, answer.text) == (("2",), "2 [1][2][3][4]")
    assert triples(answer) == {
        ("Grey Heron", "directed_by", "Ada Mirren"), ("Grey Heron", "release_year", "1971"),
        ("Salt Pans", "directed_by", "Ada Mirren"), ("Salt Pans", "release_year", "1974"),
    }  # fmt: skip
    assert (answer.usage.calls, answer.known, answer.method) == (1, True, "sparql")
    assert BEFORE_1975 in [step.detail for step in answer.trace]
    [prompt] = prompts(server)
    assert "\nAda Mirren\n" in prompt
    assert "p:directed_by  4: Salt Pans | Ada Mirren" in prompt


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ('ASK { ?f rdfs:label "Grey Heron" ; p:directed_by/rdfs:label "Ada Mirren" }', ("yes",)),
        ("SELECT ?f ?y { ?f v:release_year ?y } ORDER BY ?y LIMIT 1", ("Grey Heron",)),
        ('SELECT ?y { ?f rdfs:label "Grey Heron" ; v:release_year ?y }', ("1971",)),
    ],
)
def test_verdicts_things_and_values(query: str, names: tuple[str, ...], films_index: Context, memo: Path) -> None:
    with served(films_index, memo, written(query)) as (context, _):
        answer = ask(context, "What of Grey Heron?")
    assert answer.names == names
    assert answer.known


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        ("SELECT ?x {", "not a SPARQL 1.1 query"),
        ("DELETE WHERE { ?a ?b ?c }", "DELETE would change the graph"),
        ("SELECT * { SERVICE <http://127.0.0.1:1/> { ?a ?b ?c } }", "another server"),
        ('SELECT ?f { ?f p:composed_by/rdfs:label "Ada Mirren" }', "it finds nothing"),
    ],
)
def test_a_query_that_cannot_be_used_is_asked_for_again_with_the_reason(
    wrong: str, why: str, films_index: Context, memo: Path
) -> None:
    with served(films_index, memo, written(wrong, BEFORE_1975)) as (context, server):
        answer = ask(context, "How many films did Ada Mirren make before 1975?")
    assert answer.names == ("2",)
    assert answer.usage.calls == 2
    messages = server.requests[-1].body["messages"]  # type: ignore[index]
    assert [each["role"] for each in messages] == ["system", "user", "assistant", "user"]
    assert why in messages[-1]["content"]


def test_no_more_calls_than_stated(films_index: Context, memo: Path) -> None:
    with served(films_index, memo, written("SELECT ?x {")) as (context, _):
        answer = ask(context, "Which films are there?")
    assert (answer.usage.calls, answer.known, answer.names) == (3, False, ())
    assert [step.name for step in answer.trace].count("failed") == 3


@pytest.mark.parametrize(
    "reply",
    [
        "Here it is:\n```sparql\nSELECT ?x { ?x p:born_in ?y }\n```\nIt lists them.",
        "Query:\nSELECT ?x { ?x p:born_in ?y }",
    ],
)
def test_a_query_in_words_is_read(reply: str) -> None:
    found = QueryReply.in_words(reply)
    assert found
    assert found.query == "SELECT ?x { ?x p:born_in ?y }"
    assert QueryReply.in_words("I cannot say.") is None


def test_the_schema_that_a_model_is_shown_is_bounded_and_about_the_topics(films_index: Context) -> None:
    every = predicates(films_index)
    rows, _ = rows_of(films_index, ["Pelluci"])
    assert relevant(films_index, "Where does it lie?", rows, 2_000) == list(every)
    few = relevant(films_index, "Where does it lie?", rows, 40)
    assert {each.predicate for each in few} == {"born_in", "lies_in"}
    assert replace(few[0]) in every


@pytest.mark.parametrize(
    ("question", "names", "query"),
    [
        ("How many films did Ada Mirren direct?", ("3",), "SELECT (COUNT(DISTINCT ?thing) AS ?count)"),
        ("Did Hugo Wren direct Grey Heron?", ("no",), "ASK {"),
        ("Which films came out in 1974?", ("Night Ferry", "Salt Pans"), "SELECT DISTINCT ?thing"),
    ],
)
def test_without_a_model_the_question_is_read_as_a_query(
    question: str, names: tuple[str, ...], query: str, films_index: Context
) -> None:
    answer = ask(films_index, question)
    assert (sorted(answer.names), answer.method) == (sorted(names), "sparql:offline")
    assert answer.known
    [written_] = [step.detail for step in answer.trace if step.name == "sparql"]
    assert written_.startswith(query)


def test_without_a_model_it_is_said_why_there_is_no_answer(films_index: Context) -> None:
    answer = ask(films_index, "Who is the mayor of Vienna?")
    assert not answer.known
    assert "declined" in [step.name for step in answer.trace]
