"""Plans with a scripted model and without one: what is looked up, backtracking, exact bounds, paths of two things."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.query.abstention import is_no_answer
from conspectus.query.citations.marks import BEST_EFFORT
from conspectus.query.context import Context
from conspectus.query.types import Answer

from benchmarks.fake_server import FakeReply, Rule
from tests.query.films import build
from tests.query.graph_serving import asked_of, prompts, served

PLAN, REASON, OWN = "You plan how to find the answer", "evidence found in a knowledge graph", "from what you know"
QUESTION = "Where was the director of Grey Heron born?"
PELLUCI = ("Grey Heron", "directed_by", "born_in")


def planned(*paths: Sequence[str]) -> str:
    return json.dumps({"reasoning": "So.", "paths": [{"start": one[0], "relations": one[1:]} for one in paths]})


def ask(context: Context, question: str = QUESTION, topics: Sequence[str] = (), method: str = "plan") -> Answer:
    return asked_of(context, method, question, topics)


def cited(answer: Answer) -> list[tuple[str, str, str]]:
    return [(each.source, each.predicate, each.target) for each in answer.triples]


def test_a_plan_is_looked_up_and_reasoned_over(films_index: Context, memo: Path) -> None:
    replies = [Rule(planned(PELLUCI), PLAN), Rule("{Yes} {Pelluci} [1][2]", REASON)]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context)
        plan, reason = prompts(server)
    assert (answer.method, answer.names, answer.usage.calls) == ("plan", ("Pelluci",), 2)
    assert cited(answer) == [("Grey Heron", "directed_by", "Ada Mirren"), ("Ada Mirren", "born_in", "Pelluci")]
    assert "directed_by (4): Salt Pans | Ada Mirren" in plan
    assert "[2] (Ada Mirren) -[born in]-> (Pelluci)" in reason
    assert answer.evidence.walk
    assert [each.stage for each in answer.evidence.walk.decisions] == ["plans", "entities", "reasoning"]
    assert sum(each.calls for each in answer.evidence.walk.decisions) == answer.usage.calls


def test_what_leads_nowhere_is_planned_again_with_what_was_tried(films_index: Context, memo: Path) -> None:
    nowhere = planned(("Grey Heron", "lies_in"), ("Atlantis", "born_in"), ("Grey Heron", "quarrelled with"))
    replies = [
        Rule([nowhere, planned(("Grey Heron", "directed_by", "born_in"))], PLAN),
        Rule("{Yes} {Pelluci} [1][2]", REASON),
    ]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context)
        asked = prompts(server)
    assert (answer.names, answer.usage.calls) == (("Pelluci",), 3)
    assert "Grey Heron -[lies in]->: leads nowhere after 0 of 1 steps" in asked[1]
    assert answer.evidence.walk
    reasons = [each.why for each in answer.evidence.walk.decisions[0].considered]
    assert reasons[1:] == [
        "the graph has nothing called 'Atlantis'", "the graph has no relation like 'quarrelled with'",
    ]  # fmt: skip


def test_an_insufficient_path_is_kept_and_told_to_the_next_plan(films_index: Context, memo: Path) -> None:
    replies = [
        Rule([planned(("Grey Heron", "directed_by")), planned(("Ada Mirren", "born_in"))], PLAN),
        Rule(["{No} {Ada Mirren directed it.} [1]", "{Yes} {Pelluci} [1][2]"], REASON),
    ]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context)
        asked = prompts(server)
    assert "Ada Mirren directed it." in asked[2]
    assert "Grey Heron -[directed by]->: leads to Ada Mirren" in asked[2]
    assert {each[1] for each in cited(answer)} == {"directed_by", "born_in"}
    assert answer.usage.calls == 4


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_calls_reach_their_bound_where_no_answer_comes(rounds: int, films_index: Context, memo: Path) -> None:
    relations = ["directed_by", "starred_actors", "release_year"][:rounds]
    replies = [
        Rule([planned(("Grey Heron", each)) for each in relations], PLAN),
        Rule("{No} {nothing}", REASON),
        Rule("{Atlantis}", OWN),
    ]
    with served(films_index, memo, replies, plan={"rounds": rounds}) as (context, server):
        answer = ask(context)
    assert len(server.requests) == answer.usage.calls == 2 * rounds + 1
    assert (answer.text, answer.known) == (f"Atlantis {BEST_EFFORT}", False)


@pytest.mark.parametrize("reply", ["none", FakeReply(status=400)])
def test_a_bad_reply_ends_with_a_reason(reply: str | FakeReply, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(reply, PLAN), Rule("{unknown}", OWN)]) as (context, _):
        answer = ask(context)
    assert not answer.known
    assert answer.evidence.walk
    assert "(" in answer.evidence.walk.decisions[0].outcome


@pytest.mark.parametrize(
    ("question", "names"),
    [
        (QUESTION, {"Pelluci"}),
        ("How many films did Ada Mirren direct?", {"3"}),
        ("Did Hugo Wren direct Grey Heron?", {"no"}),
        ("Who is the mayor of Vienna?", set()),
    ],
)
def test_without_a_model_the_best_reading_answers(question: str, names: set[str], films_index: Context) -> None:
    answer = ask(films_index, question)
    assert (answer.method, set(answer.names), answer.known) == ("plan:offline", names, bool(names))
    assert answer.evidence.walk
    assert answer.evidence.walk.decisions[0].stage == "candidates"


# Between two things

BETWEEN = "How are Ada Mirren and Tarn connected?"


def test_two_things_are_connected_by_the_shortest_paths(films_index: Context) -> None:
    answer = ask(films_index, BETWEEN)
    assert answer.text.splitlines()[:2] == [
        "Ada Mirren -[born in]-> Pelluci [1] -[lies in]-> Ostrava [2] <-[lies in]- Tarn [3]",
        "Ada Mirren <-[directed by]- Salt Pans [4] -[written by]-> Mary Quill [5] -[born in]-> Tarn [6]",
    ]
    assert cited(answer)[3:6] == [
        ("Salt Pans", "directed_by", "Ada Mirren"), ("Salt Pans", "written_by", "Mary Quill"),
        ("Mary Quill", "born_in", "Tarn"),
    ]  # fmt: skip
    assert answer.names[:4] == ("Pelluci", "Ostrava", "Salt Pans", "Mary Quill")
    walk = answer.evidence.walk
    assert walk
    assert len(walk.chains) == len(answer.text.splitlines()) <= 5


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("How is Ada Mirren connected to Atlantis?", "nothing called 'Atlantis'"),
        ("What links the Isle of Grey Heron and Pelluci?", "nothing called"),
        ("What links Ada Mirren and Ada Mirren?", "No path"),
    ],
)
def test_what_is_not_connected_is_said(question: str, said: str, films_index: Context) -> None:
    answer = ask(films_index, question)
    assert is_no_answer(answer.text)
    assert said in answer.text


def test_with_a_model_paths_take_no_call_and_given_things_count(films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule("{Yes} {wrong}")]) as (context, server):
        answer = ask(context, "What connects them and the others?", ["Grey Heron", "Night Ferry"])
    assert (server.requests, answer.usage.calls, answer.method) == ([], 0, "plan")
    assert answer.names == ("Lena Fisk",)


def test_auto_asks_for_paths_where_the_index_has_a_graph(films_index: Context, tmp_path: Path) -> None:
    answer = ask(films_index, BETWEEN, method="auto")
    assert (answer.method, answer.trace[0].name) == ("plan:offline", "auto")
    assert "what connects two things" in answer.trace[0].detail
    apart = build(tmp_path, [("Ada", "born in", "Tarn"), ("Bo", "born in", "Pelluci")])
    answer = ask(apart, "How are Ada and Bo connected?", method="auto")
    assert not answer.known
    assert "No path of at most 4 steps joins Ada and Bo." in answer.text


def test_a_question_with_two_names_is_shown_what_joins_them(films_index: Context, memo: Path) -> None:
    replies = [Rule(planned(("Ada Mirren", "^directed_by")), PLAN), Rule("{Yes} {Salt Pans} [1][2]", REASON)]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context, "Which film of Ada Mirren did Mary Quill write?", ["Ada Mirren", "Mary Quill"])
        reason = prompts(server)[1]
    assert "(Salt Pans) -[written by]-> (Mary Quill)" in reason
    assert answer.names == ("Salt Pans",)
