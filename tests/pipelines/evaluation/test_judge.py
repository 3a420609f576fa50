"""The judge, against a server that judges as it is told to."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.judge import (
    JudgedAnswer,
    Judgement,
    Match,
    answer_all,
    judge,
    summed_up,
)
from conspectus.pipelines.evaluation.suites import SuiteQuestion
from conspectus.prompts.client.client import ModelClient
from conspectus.query.context import Context
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from tests.tags import inside

QUESTIONS = tuple(SuiteQuestion(f"q{i}", f"What is theme {i}?", (), ()) for i in range(2))
METHODS = ("good", "bad", "worse")
TEXTS = {(name, each.id): JudgedAnswer(f"{name} on {each.id}", ("s",)) for name in METHODS for each in QUESTIONS}
Reply = Callable[[FakeRequest], str | FakeReply]


def shown(request: FakeRequest) -> tuple[str, str]:
    """Return the answers of a prompt, in order."""
    return inside(request.last, "first_answer"), inside(request.last, "second_answer")


def verdict(better: str) -> str:
    return json.dumps({"reason": "because", "better": better})


def fair(request: FakeRequest) -> str:
    first, second = (METHODS.index(each.split()[0]) for each in shown(request))
    return verdict("1" if first < second else "2")


def judged(reply: Reply | str, repeats: int = 1, memo: Path | None = None) -> tuple[Judgement, FakeServer]:
    with FakeServer(reply) as server:
        settings = LlmSettings(model="m", base_url=server.url, attempts=1)
        model = ModelClient(settings, Memo(memo) if memo else None)
        return asyncio.run(judge(model, QUESTIONS, METHODS, TEXTS, repeats)), server


def rate(found: Judgement, criterion: str, method: str, other: str) -> float:
    result = next(each for each in found.criteria if each.criterion == criterion)
    return next(each.rate.mean for each in result.rates if (each.method, each.other) == (method, other))


def test_a_judge_that_goes_by_the_order_is_shown_as_such() -> None:
    found, _ = judged(verdict("1"))
    for each in found.criteria:
        assert rate(found, each.criterion, "good", "bad") == 0.5
        assert (each.first_shown, each.inconsistent, each.reliable) == (1, 1, False)


def test_equal_answers_tie_and_cost_nothing() -> None:
    same = {key: JudgedAnswer("the same") for key in TEXTS}
    with FakeServer(fair) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url))
        found = asyncio.run(judge(model, QUESTIONS, METHODS, same, 5))
        assert server.requests == []
    assert found.criteria[0].ties == 1


def test_repeats_are_replies_of_their_own_and_are_remembered(tmp_path: Path) -> None:
    turns = iter(range(10_000))

    def changing(request: FakeRequest) -> str:
        return verdict("1" if next(turns) % 3 else "2")

    first, server = judged(changing, 2, tmp_path / "memo.sqlite")
    assert len(server.requests) == 2 * 3 * 4 * 2 * 2
    again, server = judged(changing, 2, tmp_path / "memo.sqlite")
    assert server.requests == []
    assert first == again
    wider, server = judged(changing, 3, tmp_path / "memo.sqlite")
    assert len(server.requests) == 2 * 3 * 4 * 2, "only the new repeat"
    assert wider.repeats == 3


def test_a_verdict_that_fails_takes_its_pair_along_and_nothing_else() -> None:
    def reply(request: FakeRequest) -> str | FakeReply:
        first, second = shown(request)
        if (first, second) == ("bad on q1", "good on q1") and "Diversity:" in request.prompt:
            return FakeReply("no", status=400)
        return fair(request)

    found, _ = judged(reply)
    assert [each.item_id for each in found.failures] == ["q1: good, bad: diversity, 0"]
    assert {each.reason for each in found.failures} == {"no verdict could be had"}
    assert rate(found, "diversity", "good", "bad") == 1


def test_sums_by_hand() -> None:
    matches = [
        Match("q0", "diversity", "a", "b", 0, 1.0, 1.0),
        Match("q0", "diversity", "a", "b", 1, 1.0, 0.0),  # goes by the order
        Match("q1", "diversity", "a", "b", 0, 0.5, 0.0),
        Match("q1", "directness", "a", "b", 0, 0.0, 0.0),
    ]
    found = summed_up("diversity", ("a", "b", "c"), matches)
    assert [(each.method, each.other) for each in found.rates] == [("a", "b"), ("b", "a")]
    assert found.rates[0].rate.mean == pytest.approx((0.75 + 0.25) / 2)
    assert found.rates[0].rate.low == 0.25
    assert found.rates[0].rate.high == 0.75
    assert found.rates[1].rate.mean == pytest.approx(0.5)
    assert found.ties == pytest.approx(1 / 6)
    assert found.first_shown == pytest.approx(4 / 5 - 1 / 5 + 1 / 5)
    assert found.inconsistent == pytest.approx(2 / 3)


def test_the_answers_of_methods_come_without_marks(context: Context) -> None:
    asked = (SuiteQuestion("q", "Who wrote The Oak House?", (), ()),)
    texts, failures = asyncio.run(answer_all(context, ["ppr", "global:c0"], asked))
    assert not failures
    assert set(texts) == {("ppr", "q"), ("global:c0", "q")}
    assert "Paul Marlow" in texts["ppr", "q"].text
    assert "[1]" not in texts["ppr", "q"].text
    assert texts["ppr", "q"].sources


def test_an_answer_that_fails_is_a_failure(sample_context: Context) -> None:
    with FakeServer(lambda request: FakeReply("no", status=400)) as server:
        llm = LlmSettings(model="m", base_url=server.url, attempts=1)
        served = replace(sample_context, settings=sample_context.settings.model_copy(update={"llm": llm}))
        texts, failures = asyncio.run(answer_all(served, ["ppr"], QUESTIONS[:1]))
    assert not texts
    assert [(each.item_id, each.reason) for each in failures] == [("ppr: q0", "no answer could be had")]
