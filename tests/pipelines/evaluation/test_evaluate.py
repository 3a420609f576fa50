import json
from dataclasses import replace

import pytest
from conspectus.pipelines.evaluation.evaluate import MethodScores, as_json, evaluate, measured
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion, read_suite
from conspectus.pipelines.runner import no_progress
from conspectus.query.context import Context
from conspectus.storage.errors import InputError, UnknownMethod
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from tests.conftest import ISLES


@pytest.fixture(scope="module")
def suite() -> Suite:
    return read_suite(ISLES)


@pytest.fixture(scope="module")
def scores(suite: Suite, context: Context) -> dict[str, MethodScores]:
    return evaluate(suite, context, ["bm25", "dense", "ppr"], [2, 5], no_progress)


def test_walking_finds_more_than_words_or_meaning_alone(scores: dict[str, MethodScores]) -> None:
    recall = {name: each.metrics["recall@5"].mean for name, each in scores.items()}
    assert recall["ppr"] >= max(recall["bm25"], recall["dense"])
    assert recall["ppr"] > 0.9


def test_the_documented_json(scores: dict[str, MethodScores], suite: Suite, context: Context) -> None:
    settings = context.settings.model_dump(mode="json")
    written = json.loads(json.dumps(as_json(suite, settings, scores, 12.3456)))
    assert written["suite"] == "isles"
    assert written["questions"] == 12
    assert written["measured"] == {"retrieval": 12}
    assert written["settings"] == settings
    assert written["build_seconds"] == 12.35
    assert list(written["methods"]) == ["bm25", "dense", "ppr"]
    for name, values in written["methods"].items():
        assert set(values) == {
            "recall@2", "all@2", "recall@5", "all@5",
            "seconds_per_question", "median_seconds", "calls_per_question", "tokens_per_question",
            "remembered_per_question", "failures",
        }  # fmt: skip
        for metric, interval in scores[name].metrics.items():
            assert values[metric] == {"mean": interval.mean, "low": interval.low, "high": interval.high}
        assert values["calls_per_question"] == values["tokens_per_question"] == 0


def test_what_cannot_be_measured_is_refused(suite: Suite, context: Context) -> None:
    without = replace(suite, questions=(SuiteQuestion("q", "Who?", ("me",), ()),))
    with pytest.raises(InputError, match="no question names supporting documents"):
        evaluate(without, context, ["ppr"], [5], no_progress)
    with pytest.raises(UnknownMethod, match="did you mean 'ppr'"):
        evaluate(suite, context, ["bm25", "pprr"], [5], no_progress)
    unanswered = replace(suite, questions=(SuiteQuestion("q", "Who?", (), ("d0",)),))
    for methods, answers in ((["global"], False), (["bm25"], True)):
        with pytest.raises(InputError, match="no question has accepted answers"):
            evaluate(unanswered, context, methods, [5], no_progress, answers)


def test_answers_are_measured_where_asked_and_where_a_method_finds_no_passages(suite: Suite, context: Context) -> None:
    said = [each for each in suite.questions if each.answers[0].lower() not in ("yes", "no")][:3]
    some = replace(suite, questions=(*said, SuiteQuestion("a", "Who?", ("me",), ()), SuiteQuestion("b", "?", (), ())))
    scores = evaluate(some, context, ["bm25", "global:c0"], [5], no_progress)
    of_answers = {"rougeL", "coverage", "coverage_words", "exact_match", "f1"}
    assert set(scores["bm25"].metrics) == {"recall@5", "all@5"}
    assert set(scores["global:c0"].metrics) == of_answers | {"units", "context_tokens"}
    for metric in of_answers:
        interval = scores["global:c0"].metrics[metric]
        assert 0 <= interval.low <= interval.mean <= interval.high <= 1
    assert scores["global:c0"].metrics["units"].mean > 0
    assert measured(some, scores) == {"retrieval": 3, "answers": 4}

    both = evaluate(some, context, ["bm25"], [5], no_progress, answers=True)
    assert set(both["bm25"].metrics) == {"recall@5", "all@5"} | of_answers
    assert both["bm25"].metrics["coverage_words"].mean > 0
    assert both["bm25"].metrics["recall@5"] == scores["bm25"].metrics["recall@5"]


def test_a_model_s_calls_are_counted_and_its_failures_harm_nothing_else(suite: Suite, sample_context: Context) -> None:
    first, second = (replace(each, answers=("Eva Brandt wrote it.",)) for each in suite.questions[:2])

    def reply(request: FakeRequest) -> FakeReply:
        if first.question in request.prompt:
            return FakeReply("no", status=400)
        return FakeReply("Eva Brandt wrote it [1].")

    with FakeServer(reply) as server:
        llm = LlmSettings(model="m", base_url=server.url, attempts=1)
        served = replace(sample_context, settings=sample_context.settings.model_copy(update={"llm": llm}))
        asked = replace(suite, questions=(first, second))
        found = evaluate(asked, served, ["dense"], [5], no_progress, answers=True)["dense"]
    assert found.failures == 1
    assert found.metrics["exact_match"].mean == 0.5
    assert found.calls_per_question + found.remembered_per_question == 0.5
    assert found.tokens_per_question > 10


@pytest.mark.parametrize("method", ["bm25", "ppr", "ircot"])
def test_a_model_that_is_right_and_says_why_matches_exactly(method: str, suite: Suite, context: Context) -> None:
    """A reader that thinks before it answers scored 0: its thoughts were compared with the accepted answers too."""

    def reply(request: FakeRequest) -> str:
        gold = next(each for each in suite.questions if each.question in request.prompt).answers[0]
        if "Answer:" not in request.prompt:
            return f"So the answer is: {gold}."  # a thought of ircot
        return f"One passage names it [1], and another says what is asked [2].\nAnswer: {gold}"

    with FakeServer(reply) as server:
        llm = LlmSettings(model="m", base_url=server.url, attempts=1)
        served = replace(context, settings=context.settings.model_copy(update={"llm": llm}))
        found = evaluate(suite, served, [method], [5], no_progress, answers=True)[method]
    assert found.metrics["exact_match"].mean == found.metrics["f1"].mean == 1
    assert all(each.span and each.answer and "[" in each.answer for each in found.answers)
