"""FastToG with a scripted model and without one: transcripts, bounds, and what is done with bad replies."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.query.context import Context
from conspectus.query.methods.fasttog.text import linearised, open_graph2text
from conspectus.query.types import Answer
from conspectus.query.walk.graph import open_graph

from benchmarks.fake_server import FakeReply, FakeRequest, Rule
from tests.query.films import TRIPLES
from tests.query.graph_serving import asked_of, prompts, served
from tests.tags import inside
from tests.tiny_t5 import save_t5

SUBJECTS, START = "You name the subjects", "Choose the groups of facts from which"
STEP, REASON = "Choose the group to go to next", "You answer a question from facts"
QUESTION = "Where was the director of Grey Heron born?"
UNANSWERED = json.dumps({"answer": "Unknown", "names": [], "facts": []})

Said = str | FakeReply | Sequence[str | FakeReply]


def rules(
    subjects: Said = '{"subjects": ["Grey Heron"]}', start: Said = "", step: Said = "", reason: Said = UNANSWERED
) -> list[Rule]:
    return [Rule(subjects, SUBJECTS), Rule(start, START), Rule(step, STEP), Rule(reason, REASON), Rule("Atlantis")]


def ask(context: Context, topics: Sequence[str] = (), question: str = QUESTION) -> Answer:
    return asked_of(context, "fasttog", question, topics)


def letter(prompt: str, of: str) -> str:
    """The letter of the selection that says something."""
    selections = inside(prompt, "selections").splitlines()
    return next(line.split(".")[0] for line in selections if of in line)


def picking(said: str, *, start: bool = False) -> Rule:
    def reply(request: FakeRequest) -> str:
        found = letter(request.prompt, said)
        return json.dumps({"picks": [found]} if start else {"answer": found})

    return Rule(reply, START if start else STEP)


def test_from_the_question_to_the_answer(films_index: Context, memo: Path) -> None:
    def reason(request: FakeRequest) -> str:
        if "born in Pelluci" not in request.prompt:
            return UNANSWERED
        facts = inside(request.prompt, "chains")
        numbers = [
            int(each.split("]")[0]) for each in facts.split("[")[1:]
            if "Heron directed by Ada Mirren" in each or "Ada Mirren born in Pelluci" in each
        ]  # fmt: skip
        return json.dumps({"answer": "She was born in Pelluci.", "names": ["pelluci"], "facts": [*numbers, 99]})

    script = [
        Rule('{"subjects": ["Grey Heron"]}', SUBJECTS),
        picking("Grey Heron directed by Ada Mirren", start=True),
        picking("Ada Mirren born in Pelluci"),
        Rule(reason, REASON),
    ]
    chosen = {"max_community_size": 2, "width": 1}
    with served(films_index, memo, script, fasttog=chosen) as (context, server):
        answer = ask(context)
        asked = prompts(server)
        bodies = [each.body for each in server.requests if each.body]
    kinds = [next(each for each in (SUBJECTS, START, STEP, REASON) if each in prompt) for prompt in asked]
    assert kinds == [SUBJECTS, START, REASON, STEP, REASON]
    assert [each["temperature"] for each in bodies] == [0.1, 0.4, 0.1, 0.4, 0.1]
    assert all(each.get("max_completion_tokens", each.get("max_tokens")) == 1024 for each in bodies)
    assert all(QUESTION in each for each in asked)

    assert inside(asked[1], "premise") == "Grey Heron", "at the start the premise is what the question is about"
    assert "Choose up to 1 selections" in asked[1]
    assert inside(asked[2], "subjects") == "Grey Heron", "the subject stands once, before the chains"
    assert inside(asked[3], "premise").startswith("1. Grey Heron directed by Ada Mirren"), (
        "the premise is the chain so far"
    )
    assert '"chosen": []' in asked[3]
    assert "[1] Grey Heron directed by Ada Mirren" in asked[4]

    assert answer.method == "fasttog"
    assert answer.text == "She was born in Pelluci. [1][2]"
    assert answer.names == ("Pelluci",), "names are written as the graph writes them"
    assert [(each.source, each.predicate, each.target) for each in answer.triples] == [
        ("Grey Heron", "directed_by", "Ada Mirren"), ("Ada Mirren", "born_in", "Pelluci"),
    ]  # fmt: skip
    assert answer.known
    assert (answer.usage.calls, answer.usage.depth) == (5, 2)

    walk = answer.evidence.walk
    assert walk
    assert [each.stage for each in walk.decisions] == ["communities", "reasoning", "communities", "reasoning"]
    assert [each.calls for each in walk.decisions] == [1, 1, 1, 1]
    first = walk.decisions[0]
    assert sum(each.kept for each in first.considered) == 1
    assert all(each.why for each in first.considered)
    assert len(walk.chains) == 1
    assert len(walk.chains[0].communities) == 3, "the subject, the start pick, one step"
    assert [each.name for each in answer.trace] == ["subjects", "communities", "reasoning", "communities", "reasoning"]


@pytest.mark.parametrize(("width", "depth"), [(1, 1), (2, 3), (3, 5)])
def test_the_calls_reach_the_bound_where_no_answer_comes_and_never_pass_it(
    width: int, depth: int, grid_index: Context, memo: Path
) -> None:
    def start(request: FakeRequest) -> str:
        return json.dumps({"picks": [1, 2, 3, 4, 5]})

    script = [Rule('{"subjects": ["Place HH"]}', SUBJECTS), Rule(start, START), *rules(step='{"answer": 1}')[2:]]
    chosen = {"width": width, "max_depth": depth, "max_community_size": 2}
    with served(grid_index, memo, script, fasttog=chosen) as (context, server):
        answer = ask(context, question="What lies far from Place HH?")
        asked = prompts(server)
    count = {kind: sum(kind in each for each in asked) for kind in (SUBJECTS, START, STEP, REASON)}
    assert count == {SUBJECTS: 1, START: 1, STEP: width * depth, REASON: 1 + depth}
    assert len(asked) == width * depth + depth + 3 + 1 == answer.usage.calls, "WD + D + 3 + f, with f 1 for io"
    assert answer.usage.depth == depth + 1
    assert answer.text.startswith("Atlantis")
    assert not answer.triples
    assert "fallback" in [each.name for each in answer.trace]
    walk = answer.evidence.walk
    assert walk
    visited = [each for chain in walk.chains for each in chain.communities[1:]]
    assert len(visited) == len(set(visited)), "no community is visited twice"
    assert all(len(each) <= 2 for each in visited)


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ('{"answer": "none"}', "the model finds none that helps"),
        ("I would rather not say which of them helps, or Z.", "the reply cannot be used"),
        (FakeReply("no", status=400), "no reply"),
    ],
)
def test_what_leads_no_further_ends_a_chain_with_a_reason(
    reply: str | FakeReply, reason: str, films_index: Context, memo: Path
) -> None:
    with served(films_index, memo, rules(start='{"picks": [1, 2]}', step=reply)) as (context, server):
        answer = ask(context)
        asked = prompts(server)
    walk = answer.evidence.walk
    assert walk
    assert [reason in each.ended for each in walk.chains] == [True, True], [each.ended for each in walk.chains]
    assert sum(STEP in each for each in asked) == (4 if reason == "the reply cannot be used" else 2), "asked once more"
    assert sum(REASON in each for each in asked) == 1, "nothing new is not reasoned over again"
    assert answer.text.startswith("Atlantis")
    assert answer.usage.depth == 1


def test_without_own_knowledge_there_is_no_fallback(films_index: Context, memo: Path) -> None:
    with served(films_index, memo, rules(start='{"picks": []}'), walk={"own_knowledge": False}) as (context, server):
        answer = ask(context, ["Grey Heron"])
        asked = prompts(server)
    assert "Atlantis" not in answer.text
    assert not answer.known
    assert not answer.names
    assert all(START in each for each in asked), "the model is not asked what it knows"


@pytest.mark.parametrize("subjects", ["", "[", '{"subjects": []}', '{"subjects": ["Nobody"]}'])
def test_subjects_that_no_model_names_are_found_by_name(subjects: str, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, rules(subjects=subjects, start='{"picks": []}')) as (context, server):
        answer = ask(context)
        assert any("<premise>\nGrey Heron" in prompt for prompt in prompts(server))
    assert [each.name for each in answer.trace][:2] == ["subjects", "subjects"]


def test_without_a_model_closeness_decides(films_index: Context) -> None:
    answer = ask(films_index)
    assert answer.method == "fasttog:offline"
    assert answer.names == ("Pelluci",)
    assert answer.text == "Pelluci [1][2]"
    assert [each.predicate for each in answer.triples] == ["directed_by", "born_in"]
    assert answer.usage.calls == 0
    assert answer.usage.depth <= 2
    starred = ask(films_index, ["Grey Heron"], "Who starred in Grey Heron?")
    assert set(starred.names) == {"Otto Brand", "Lena Fisk"}, "all that are as good"


def test_prompts_hold_what_the_model_wrote_and_its_facts_can_be_cited(
    films_index: Context, memo: Path, tmp_path: Path
) -> None:
    save_t5(tmp_path, [linearised([each]) for each in TRIPLES])
    chosen = {"graph2text": str(tmp_path)}
    reason = json.dumps({"answer": "In Pelluci.", "names": ["Pelluci"], "facts": [1]})
    with served(films_index, memo, rules(start='{"picks": [1]}', reason=reason), fasttog=chosen) as (context, server):
        answer = ask(context, ["Grey Heron"])
        (asked,) = [each for each in prompts(server) if REASON in each]
    walk = answer.evidence.walk
    assert walk
    written = open_graph2text(str(tmp_path)).write([[("a", "b", "c")]])
    assert len(written) == 1
    assert "Grey Heron directed by" not in asked, "no triple is told by rule"
    if answer.triples:  # a model that has learned nothing may write nothing
        assert {each.relation_id for each in answer.triples} <= set(open_graph(context).relation_ids[:])
