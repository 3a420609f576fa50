"""Methods that read facts or nothing: the nearest triples, and what a model knows by itself."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods import no_retrieval
from conspectus.query.types import Answer, TopicAnswerer
from conspectus.storage.errors import NeedsModel

from benchmarks.fake_server import FakeReply, Rule
from tests.query.graph_serving import prompts, served
from tests.tags import inside

QUESTION = "Grey Heron was directed by which director?"


def ask(context: Context, method: str, *topics: str) -> Answer:
    answerer = METHODS[method].answerer(context)
    assert isinstance(answerer, TopicAnswerer)
    return asyncio.run(answerer.answer_about(QUESTION, topics)) if topics else asyncio.run(answerer.answer(QUESTION))


@pytest.mark.parametrize("method", ["kaping", "groups"])
def test_without_a_model_the_nearest_triple_answers(method: str, films_index: Context) -> None:
    for answer in (ask(films_index, method, "grey_heron", "nobody"), ask(films_index, method)):
        assert answer.method == f"{method}:offline"
        assert answer.names == ("Ada Mirren",)
        assert answer.text == "Ada Mirren [1]"
        assert [(each.source, each.predicate, each.target) for each in answer.triples] == [
            ("Grey Heron", "directed_by", "Ada Mirren")
        ]
        assert (answer.usage.depth, answer.usage.calls, answer.known) == (1, 0, True)
        walk = answer.evidence.walk
        assert walk is not None
        assert walk.decisions[-1].stage == "answer"
        assert sum(each.kept for each in walk.decisions[-1].considered) == len(walk.chains) == 1
    assert "the graph lacks nobody" in ask(films_index, method, "Grey Heron", "nobody").trace[0].detail


@pytest.mark.parametrize("method", ["kaping", "groups"])
def test_from_nothing_nothing_is_known(method: str, films_index: Context) -> None:
    answer = ask(films_index, method, "nobody")
    assert (answer.names, answer.known, answer.usage.depth) == ((), False, 0)


REPLY = {"answer": "Ada Mirren did.", "names": ["ada mirren", "Ada Mirren"], "facts": [1, 9, 99, 1]}


@pytest.mark.parametrize("method", ["kaping", "groups"])
def test_a_model_is_asked_once_and_reads_the_facts(method: str, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(json.dumps(REPLY), "<facts>")]) as (context, server):
        answer = ask(context, method, "Grey Heron")
    (prompt,) = prompts(server)
    assert "[1] Grey Heron directed by Ada Mirren" in prompt
    assert inside(prompt, "question") == QUESTION
    assert (answer.method, answer.names, answer.usage.calls) == (method, ("Ada Mirren",), 1)
    assert answer.text.startswith("Ada Mirren did. [1]")
    assert answer.triples[0].target == "Ada Mirren"


@pytest.mark.parametrize(
    ("reply", "why"),
    [("", "cannot be used"), ('{"answer": "Unknown.", "names": [], "facts": []}', "does not know")],
)
def test_a_reply_that_is_none_ends_with_a_reason(reply: str, why: str, films_index: Context, memo: Path) -> None:
    with served(films_index, memo, [Rule(reply, "<facts>")]) as (context, _):
        answer = ask(context, "kaping", "Grey Heron")
    assert (answer.names, answer.triples, answer.known) == ((), (), False)
    assert why in answer.trace[-1].detail


def test_mixed_reads_passages_beside_facts_and_needs_a_model(films_index: Context, memo: Path) -> None:
    with pytest.raises(NeedsModel):
        METHODS["mixed"].answerer(films_index)
    with served(films_index, memo, [Rule(json.dumps(REPLY), "<passages>")]) as (context, server):
        answer = ask(context, "mixed", "Grey Heron")
    assert "(none)" in prompts(server)[0], "the index has no documents"
    assert answer.names == ("Ada Mirren",)


def ask_alone(context: Context, method: str, question: str = "Where is Bern?") -> Answer:
    return asyncio.run(METHODS[method].answerer(context).answer(question))


@pytest.mark.parametrize(
    ("method", "reply", "want"),
    [("io", "Switzerland.", "Switzerland"), ("cot", "Bern is a city.\nSo the answer is: Switzerland.", "Switzerland")],
)
def test_one_call(method: str, reply: str, want: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, [Rule(reply)]) as (opened, server):
        answer = ask_alone(opened, method)
    assert (answer.text, answer.names, answer.method, answer.usage.calls) == (want, (want,), method, 1)
    assert "Where is Bern?" in prompts(server)[0]
    assert not answer.known


def test_most_of_several_samples(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: Sequence[str | FakeReply] = [f"So the answer is: {each}." for each in ("Bern", "Basel", "bern", "unknown")]
    monkeypatch.setattr(no_retrieval, "_SAMPLES", 5)
    with served(context, tmp_path, [Rule([*said, FakeReply(status=400)])]) as (opened, server):
        answer = ask_alone(opened, "cot_sc")
    assert answer.text.casefold() == "bern"
    assert len(server.requests) == 5
    assert "4 of 5" in answer.trace[0].detail


@pytest.mark.parametrize("method", ["io", "cot", "cot_sc"])
def test_a_model_that_does_not_know(method: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, [Rule("unknown")]) as (opened, _):
        assert ask_alone(opened, method).text == NO_ANSWER
