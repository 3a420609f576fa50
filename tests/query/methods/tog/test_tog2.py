"""ToG-2 with a scripted model and without one: transcripts, exact bounds, and what is done with bad replies."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.query.citations.marks import BEST_EFFORT
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.query.types import Answer

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, Rule
from tests.query.graph_serving import asked_of, prompts, served
from tests.tags import inside

TOPICS, RELATIONS = "You choose the entities of a knowledge graph", "you choose the relations to follow"
REASON, CLUE, SCORE = (
    "evidence found in a knowledge graph",
    "Write the question to look up next",
    "You score numbered pieces",
)
QUESTION = "Where was the director of Grey Heron born?"
NO = "{No} {Ada Mirren directed Grey Heron.} [1]"

Said = str | FakeReply | Sequence[str | FakeReply]


def every(request: FakeRequest) -> str:
    """Score all relations or pieces as helpful."""
    numbers = [int(each) for each in re.findall(r"^(\d+)\. ", request.last, re.MULTILINE)]
    return json.dumps({"relations": [{"number": each, "score": 9} for each in numbers]})


def naming(*said: str) -> Rule:
    def reply(request: FakeRequest) -> str:
        lines = request.last.splitlines()
        numbers = [
            line.split(".")[0] for line in lines if re.match(r"\d+\. ", line) and any(each in line for each in said)
        ]
        return json.dumps({"relations": [{"number": int(each), "score": 8} for each in numbers]})

    return Rule(reply, RELATIONS)


def rules(
    reason: Said = NO, topics: Said = '{"1": "Grey Heron"}', clue: Said = "Where was Ada Mirren born?"
) -> list[Rule]:
    return [Rule(topics, TOPICS), Rule(clue, CLUE), Rule(reason, REASON)]


def ask(context: Context, topics: Sequence[str] = (), question: str = QUESTION, method: str = "tog2") -> Answer:
    return asked_of(context, method, question, topics)


def asked(server: FakeServer, about: str) -> list[str]:
    return [each for each in prompts(server) if about in each]


def test_from_the_question_to_the_answer(films_index: Context, memo: Path) -> None:
    said = [NO, "{Yes} {Pelluci} [1][2]"]
    with served(films_index, memo, [*rules(said), naming("directed by", "born in")]) as (context, server):
        answer = ask(context)
    assert answer.method == "tog2"
    assert answer.names == ("Pelluci",)
    assert answer.text == "Pelluci [1][2]"
    assert [(each.source, each.predicate, each.target) for each in answer.triples] == [
        ("Grey Heron", "directed_by", "Ada Mirren"),
        ("Ada Mirren", "born_in", "Pelluci"),
    ]
    assert answer.usage.calls == 5  # neither a single topic nor a judgement of nothing needs a call
    assert answer.usage.depth == 2
    steps = [each.stage for each in answer.evidence.walk.decisions] if answer.evidence.walk else []
    assert steps == [
        "topics",
        "reasoning",
        "relations",
        "entities",
        "reasoning",
        "clue",
        "relations",
        "entities",
        "reasoning",
    ]
    first, second = asked(server, RELATIONS)
    assert inside(first, "still_to_be_found") == "(this is the first step)"
    assert "(Grey Heron) -[directed by]-> (?)" in first
    assert inside(second, "still_to_be_found") == "Where was Ada Mirren born?"
    assert "(Ada Mirren) -[born in]-> (?)" in second
    last = asked(server, REASON)[-1]
    assert "Ada Mirren directed Grey Heron." in last
    assert "[2] (Ada Mirren) -[born in]-> (Pelluci)" in last
    assert last.count("</evidence>") == 2 + 1, "two demonstrations"
    assert answer.evidence.walk
    assert [len(each.hops) for each in answer.evidence.walk.chains] == [2] * len(answer.evidence.walk.chains)


@pytest.mark.parametrize(
    ("settings", "most"),
    [({}, 3 * 3 + 2), ({"clue": False}, 2 * 3 + 2), ({"depth": 1, "clue": False}, 2 + 2)],
)
def test_calls_reach_their_bound_where_no_answer_comes(
    settings: dict[str, object], most: int, grid_index: Context, memo: Path
) -> None:
    unasked = 2 + bool(settings.get("clue", True))  # given topics, and a judgement of nothing with its clue
    question = "What lies farthest from Place GG and Place HH?"
    topics = '{"1": "Place GG", "2": "Place HH"}'
    replies = [*rules("{No} {nothing} ", topics), Rule(every, RELATIONS)]
    with served(grid_index, memo, replies, tog=settings) as (context, server):
        answer = ask(context, ["Place GG", "Place HH"], question)
    assert len(server.requests) == answer.usage.calls == most - unasked - answer.usage.remembered
    assert answer.usage.depth == settings.get("depth", 3)
    assert answer.text.endswith(BEST_EFFORT)


@pytest.mark.parametrize("reply", ["", "{Yes}", FakeReply(status=400)])
def test_a_reasoning_that_cannot_be_used_is_told_and_the_walk_goes_on(
    reply: str | FakeReply, films_index: Context, memo: Path
) -> None:
    with served(
        films_index,
        memo,
        [
            *rules(["{No} {Nothing.}", *[reply] * (1 + isinstance(reply, str)), "{Yes} {Pelluci} [1]"]),
            Rule(every, RELATIONS),
        ],
    ) as (
        context,
        _,
    ):
        answer = ask(context)
    assert answer.names == ("Pelluci",)
    why = (
        [each.outcome for each in answer.evidence.walk.decisions if each.stage == "reasoning"]
        if answer.evidence.walk
        else []
    )
    assert any(part in why[2] for part in ("empty", "no verdict", "no reply")), why


@pytest.mark.parametrize(
    ("reply", "calls"),
    [("", 2), ('{"relations": 3}', 2), ('{"relations": []}', 1)],
)
def test_relations_that_cannot_be_read_end_the_branch_with_a_reason(
    reply: str, calls: int, films_index: Context, memo: Path
) -> None:
    with served(films_index, memo, [*rules(), Rule(reply, RELATIONS)]) as (context, server):
        answer = ask(context)
    assert answer.evidence.walk
    ruled = [each for each in answer.evidence.walk.decisions if each.stage == "relations"]
    assert len(ruled) == 1
    assert "(" in ruled[0].outcome
    assert answer.usage.depth == 0
    assert len(asked(server, RELATIONS)) == calls, "what cannot be used is asked for once more"


def test_without_a_model_it_finds_what_the_question_asks_for(films_index: Context) -> None:
    for question, want in (
        ("Where was the director of Grey Heron born?", {"Pelluci"}),
        ("Who directed Night Ferry?", {"Hugo Wren"}),
        ("When were the films directed by Ada Mirren released?", {"1971", "1974", "1979"}),
        ("Who starred in films directed by Ada Mirren?", {"Otto Brand", "Lena Fisk", "Hugo Wren"}),
    ):
        answer = ask(films_index, question=question)
        assert answer.method == "tog2:offline"
        assert set(answer.names) == want, question
        assert answer.triples
        assert answer.known
        assert answer.usage.calls == 0
        assert answer.names[0] in answer.text


@pytest.mark.parametrize("scorer", ["embedding", "bm25", "rerank"])
def test_every_scorer_ranks_passages(scorer: str, context: Context) -> None:
    tog = context.settings.tog.model_copy(update={"scorer": scorer})
    opened = Context(context.index, context.settings.model_copy(update={"tog": tog}))
    found = asyncio.run(find_retriever("tog2", opened).retrieve("Who was Ada Lovelace?", 2))
    assert found.passages
    assert found.trace
    assert not found.reports


@pytest.mark.parametrize("reply", ["", '{"pieces": 3}', FakeReply(status=400)])
def test_a_scorer_that_fails_is_a_step_and_the_ranking_by_embedding_stands(
    reply: str | FakeReply, films_index: Context, memo: Path
) -> None:
    settings = {"scorer": "model", "depth": 1}
    replies = [Rule(reply, SCORE), *rules(), Rule(every, RELATIONS)]
    with served(films_index, memo, replies, tog=settings) as (context, _):
        answer = ask(context)
    with served(films_index, memo, replies, tog={**settings, "scorer": "embedding"}) as (context, _):
        by_embedding = ask(context)
    assert answer.evidence.walk
    assert by_embedding.evidence.walk
    (chunks,) = [decision for decision in answer.evidence.walk.decisions if decision.stage == "chunks"]
    assert "ranked by embedding" in chunks.outcome
    assert "cannot be used" in chunks.outcome or "no reply" in chunks.outcome
    assert chunks.calls == (1 if isinstance(reply, FakeReply) else 2)
    entities, wanted = (
        next(decision for decision in walk.decisions if decision.stage == "entities")
        for walk in (answer.evidence.walk, by_embedding.evidence.walk)
    )
    kept = [(entity.label, entity.kept) for entity in entities.considered]
    assert kept == [(entity.label, entity.kept) for entity in wanted.considered]
    assert all(entity.score for entity in entities.considered if entity.kept), "no score is a number from nowhere"


def found(answer: Answer) -> tuple[str, tuple[str, ...], list[str]]:
    return answer.text, answer.names, [each.predicate for each in answer.triples]


@pytest.mark.parametrize(
    "reply",
    [
        "{Yes} {Pelluci}",
        "<think>Is it {No}?</think>{Yes}. The director of {Grey Heron} was born in {Pelluci} 【1】【2】",
        '```json\n{"answer": "Pelluci", "sufficient": "Yes", "facts": [1, 2]}\n```',
    ],
)
def test_a_right_answer_is_heard_however_it_is_written(reply: str, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [*rules([NO, reply]), naming("directed by", "born in")]) as (context, _):
        answer = ask(context)
    assert found(answer) == ("Pelluci [1][2]", ("Pelluci",), ["directed_by", "born_in"])


def test_topics_that_cannot_be_read_twice_are_all_kept(films_index: Context, memo: Path) -> None:
    question = "Where was the director of Grey Heron, not of Night Ferry, born?"
    with served(films_index, memo, [*rules(NO, "I like films."), naming("directed by")]) as (context, server):
        answer = ask(context, question=question)
    assert answer.evidence.walk
    (topics,) = [each for each in answer.evidence.walk.decisions if each.stage == "topics"]
    assert {each.label for each in topics.considered if each.kept} == {"Grey Heron", "Night Ferry"}
    assert "are taken" in topics.outcome or "are taken" in topics.considered[0].why
    assert len(asked(server, TOPICS)) == topics.calls == 2


def test_a_walk_that_ends_early_gives_its_best_effort(films_index: Context, memo: Path) -> None:
    replies = [*rules([NO, "{No} {Pelluci} [1]"]), replace(naming("directed by"), times=1)]
    replies += [Rule('{"relations": []}', RELATIONS)]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context)
    assert answer.text.startswith("Pelluci")
    assert answer.text.endswith(BEST_EFFORT)
    assert answer.usage.depth == 1
    assert "This is the last step" in asked(server, REASON)[-1]


def test_each_passage_is_read_once_and_stays_until_the_end(films_and_pages: Context, memo: Path) -> None:
    replies = [*rules("{No} {nothing}"), Rule(every, RELATIONS)]
    with served(films_and_pages, memo, replies, tog={"clue": False}) as (context, server):
        ask(context)
        passages = [chunk.text for chunk in context.chunks]
    judged = [inside(each.rpartition("[user]")[2] or each, "evidence") for each in asked(server, REASON)]
    assert len(judged) == 1 + 3
    shown: set[str] = set()
    for evidence in judged:
        counts = {text: evidence.count(text) for text in passages if text in evidence}
        assert set(counts.values()) == {1}
        shown |= counts.keys()
    assert shown == {text for text in passages if text in judged[-1]}
