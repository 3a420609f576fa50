import json
from dataclasses import replace

import pytest

from pipelines.evaluation.evaluate import MethodScores, as_json, evaluate
from pipelines.evaluation.suites import Question, Suite, read_suite
from pipelines.runner import no_progress
from query.context import Context
from storage.errors import InputError, UnknownMethod
from tests.conftest import ENCYCLOPEDIA


@pytest.fixture(scope="module")
def suite() -> Suite:
    return read_suite(ENCYCLOPEDIA)


@pytest.fixture(scope="module")
def scores(suite: Suite, context: Context) -> dict[str, MethodScores]:
    return evaluate(suite, context, ["bm25", "dense", "ppr"], [2, 5], no_progress)


def test_walking_finds_more_than_words_or_meaning_alone(scores: dict[str, MethodScores]) -> None:
    recall = {name: each.metrics["recall@5"].mean for name, each in scores.items()}
    assert recall["ppr"] >= max(recall["bm25"], recall["dense"])
    assert recall["ppr"] > 0.9


def test_metrics_agree_with_each_other(scores: dict[str, MethodScores]) -> None:
    for each in scores.values():
        assert set(each.metrics) == {"recall@2", "all@2", "recall@5", "all@5"}
        for interval in each.metrics.values():
            assert 0 <= interval.low <= interval.mean <= interval.high <= 1
        assert each.metrics["all@5"].mean <= each.metrics["recall@5"].mean
        assert each.metrics["recall@2"].mean <= each.metrics["recall@5"].mean
        assert each.seconds_per_question > 0


def test_the_same_again(scores: dict[str, MethodScores], suite: Suite, context: Context) -> None:
    told: list[tuple[str, int, int]] = []
    again = evaluate(suite, context, ["ppr"], [5], lambda *done: told.append(done))
    assert again["ppr"].metrics["recall@5"] == scores["ppr"].metrics["recall@5"]
    assert told == [("ppr", done, 20) for done in range(21)]


def test_the_documented_json(scores: dict[str, MethodScores], suite: Suite, context: Context) -> None:
    settings = context.settings.model_dump(mode="json")
    written = json.loads(json.dumps(as_json(suite, settings, scores, 12.3456)))
    assert written["suite"] == "encyclopedia"
    assert written["questions"] == 20
    assert written["settings"] == settings
    assert written["build_seconds"] == 12.35
    assert list(written["methods"]) == ["bm25", "dense", "ppr"]
    for name, values in written["methods"].items():
        assert set(values) == {
            "recall@2", "all@2", "recall@5", "all@5",
            "seconds_per_question", "calls_per_question", "tokens_per_question",
        }  # fmt: skip
        for metric, interval in scores[name].metrics.items():
            assert values[metric] == {"mean": interval.mean, "low": interval.low, "high": interval.high}
        assert values["calls_per_question"] == values["tokens_per_question"] == 0


def test_what_cannot_be_measured_is_refused(suite: Suite, context: Context) -> None:
    without = replace(suite, questions=(Question("q", "Who?", ("me",), ()),))
    with pytest.raises(InputError, match="no question names supporting documents"):
        evaluate(without, context, ["ppr"], [5], no_progress)
    with pytest.raises(UnknownMethod, match="did you mean 'ppr'"):
        evaluate(suite, context, ["bm25", "pprr"], [5], no_progress)
    with pytest.raises(UnknownMethod, match="reads reports"):
        evaluate(suite, context, ["global"], [5], no_progress)


def test_questions_without_supporting_documents_do_not_count(suite: Suite, context: Context) -> None:
    asked = suite.questions[:3]
    more = replace(suite, questions=(*asked, Question("q", "Who?", (), ())))
    one, other = (
        evaluate(each, context, ["bm25"], [5], no_progress)["bm25"].metrics
        for each in (replace(suite, questions=asked), more)
    )
    assert one == other


def test_documents_that_are_not_in_the_index_are_not_found(context: Context, suite: Suite) -> None:
    gone = replace(suite, questions=(Question("q", "Who wrote The Red House?", (), ("d0", "gone")),))
    assert evaluate(gone, context, ["ppr"], [5], no_progress)["ppr"].metrics["recall@5"].mean == 0.5
