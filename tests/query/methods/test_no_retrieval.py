"""What a model answers by itself: once, step by step, and by most of several samples."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.query.abstention import NO_ANSWER
from conspectus.query.context import Context
from conspectus.query.menu import METHODS
from conspectus.query.methods import no_retrieval
from conspectus.query.methods.no_retrieval import most_frequent
from conspectus.query.types import Answer
from conspectus.query.walk.verdicts import final_answer

from benchmarks.fake_server import FakeReply, Rule
from tests.query.graph_serving import prompts, served


def ask(context: Context, method: str, question: str = "Where is Bern?") -> Answer:
    return asyncio.run(METHODS[method].answerer(context).answer(question))


@pytest.mark.parametrize(
    ("method", "reply", "want"),
    [("io", "Switzerland.", "Switzerland"), ("cot", "Bern is a city.\nSo the answer is: Switzerland.", "Switzerland")],
)
def test_one_call(method: str, reply: str, want: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, [Rule(reply)]) as (opened, server):
        answer = ask(opened, method)
    assert (answer.text, answer.names, answer.method, answer.usage.calls) == (want, (want,), method, 1)
    assert "Where is Bern?" in prompts(server)[0]
    assert not answer.known


def test_most_of_several_samples(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: Sequence[str | FakeReply] = [f"So the answer is: {each}." for each in ("Bern", "Basel", "bern", "unknown")]
    monkeypatch.setattr(no_retrieval, "_SAMPLES", 5)
    with served(context, tmp_path, [Rule([*said, FakeReply(status=400)])]) as (opened, server):
        answer = ask(opened, "cot_sc")
    assert answer.text.casefold() == "bern"
    assert len(server.requests) == 5
    assert "4 of 5" in answer.trace[0].detail


@pytest.mark.parametrize("method", ["io", "cot"])
def test_a_model_that_does_not_know(method: str, context: Context, tmp_path: Path) -> None:
    with served(context, tmp_path, [Rule("unknown")]) as (opened, _):
        assert ask(opened, method).text == NO_ANSWER


def test_the_end_of_a_reply() -> None:
    assert final_answer("<think>Hm.</think>Bern") == "Bern"
    assert final_answer("") == ""
    assert most_frequent(["", ""]) == ("", 0.0)
