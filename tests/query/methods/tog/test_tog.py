"""ToG with a scripted model and without one."""

import json
import re
from pathlib import Path

import pytest
from conspectus.query.citations.marks import BEST_EFFORT
from conspectus.query.context import Context

from benchmarks.fake_server import FakeRequest, Rule
from tests.query import films
from tests.query.graph_serving import prompts, served
from tests.query.methods.tog.test_tog2 import CLUE, RELATIONS, TOPICS, ask, every, naming
from tests.tags import inside

ENTITIES, REASON, OWN = "you choose the entities from", "evidence found in a knowledge graph", "from what you know"


def all_of_them(request: FakeRequest) -> str:
    numbers = [int(each) for each in re.findall(r"^(\d+)\. ", request.last, re.MULTILINE)]
    return json.dumps({"entities": [{"number": each, "score": 9} for each in numbers]})


def test_from_the_question_to_the_answer(films_index: Context, memo: Path) -> None:
    replies = [
        naming("directed by", "born in"),
        Rule(all_of_them, ENTITIES),
        Rule(["{No} {Ada Mirren directed it.}", "{Yes} {Pelluci} [1][2]"], REASON),
    ]
    with served(films_index, memo, replies) as (context, server):
        answer = ask(context, method="tog")
    assert answer.method == "tog"
    assert answer.names == ("Pelluci",)
    assert answer.usage.depth == 2
    assert [each.target for each in answer.triples] == ["Ada Mirren", "Pelluci"]
    assert any("(Grey Heron) -[directed by]-> (?)" in each for each in prompts(server))


@pytest.mark.parametrize(("width", "depth"), [(2, 3), (3, 2)])
def test_calls_reach_their_bound_where_no_answer_comes(width: int, depth: int, grid_index: Context, memo: Path) -> None:
    topics = ["Place GG", "Place HH", "Place CC"][:width]
    replies = [
        Rule(every, RELATIONS),
        Rule(all_of_them, ENTITIES),
        Rule("{No} {nothing}", REASON),
        Rule("{Atlantis}", OWN),
    ]
    with served(grid_index, memo, replies, tog={"width": width, "depth": depth}) as (context, server):
        answer = ask(context, topics, "What lies farthest?", method="tog")
    walk = answer.evidence.walk
    chosen = [each for each in walk.decisions if each.stage == "entities"] if walk else []
    skipped = sum(len(each.considered) == 1 for each in chosen)  # a single candidate needs no call
    assert len(server.requests) == answer.usage.calls == 2 * width * depth + depth + 1 - skipped
    assert answer.text == f"Atlantis {BEST_EFFORT}"
    assert answer.names == ("Atlantis",)


@pytest.mark.parametrize("method", ["tog", "tog2"])
@pytest.mark.parametrize("own", [True, False])
def test_own_knowledge_is_asked_for_only_where_it_is_allowed(
    method: str, own: bool, films_index: Context, memo: Path
) -> None:
    replies = [
        Rule('{"1": "Grey Heron"}', TOPICS),
        Rule(every, RELATIONS),
        Rule(all_of_them, ENTITIES),
        Rule("Where was Ada Mirren born?", CLUE),
        Rule("{No} {nothing}", REASON),
        Rule("{Atlantis}", OWN),
    ]
    with served(films_index, memo, replies, walk={"own_knowledge": own}) as (context, server):
        answer = ask(context, method=method)
        asked = "\n".join(prompts(server))
    allowed, forbidden = "you may use what you know yourself", "your guess included"
    if method == "tog":
        assert (OWN in asked) == own, "one more call, from what the model knows"
    else:
        assert (allowed in asked) == own
    assert (forbidden in asked) == (not own)
    if method == "tog" and own:
        assert answer.text == f"Atlantis {BEST_EFFORT}", "it is marked"
    else:
        assert "Atlantis" not in answer.text


def test_unnamed_nodes_are_walked_through_without_a_call(tmp_path: Path, memo: Path) -> None:
    triples = [("Ada Mirren", "education", f"m.0{number}x7k") for number in range(2)]
    triples += [("m.00x7k", "institution", "Tarn School"), ("m.01x7k", "institution", "Vey College")]
    replies = [
        Rule(every, RELATIONS),
        Rule(all_of_them, ENTITIES),
        Rule(["{No} {nothing}", "{Yes} {Tarn School} [1][2]"], REASON),
    ]
    with served(films.build(tmp_path, triples), memo, replies) as (context, server):
        answer = ask(context, ["Ada Mirren"], "Which schools did Ada Mirren attend?", method="tog")
    assert answer.names == ("Tarn School",)
    assert answer.usage.depth == 2
    assert not any("m.0" in inside(each, "entities") for each in prompts(server) if ENTITIES in each)
