"""Sweeps of a setting, and what of the subgraphs that answers cite is real."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from conspectus.pipelines.evaluation.evaluate import as_json, evaluate
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion
from conspectus.pipelines.evaluation.sweep import Values, evaluate_each, swept_settings, values_of
from conspectus.pipelines.runner import no_progress
from conspectus.query.context import Context
from conspectus.storage.errors import UsageError
from conspectus.storage.settings import load_settings

from benchmarks.fake_server import Rule
from tests.query.graph_serving import served


def test_of_several_sections_those_of_the_methods_are_meant() -> None:
    swept = values_of("max_community_size=1,2", ["fasttog", "ppr"])
    assert swept.sections == ("fasttog",)
    assert values_of("context_tokens=300,400", ["local", "gretriever"]).sections == ("local_search", "gretriever")
    made = swept_settings(load_settings(), swept)
    assert [each.fasttog.max_community_size for each in made.values()] == [1, 2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("kaping.hops", "takes"),
        ("kaping.nothing=1", "not a setting that answers depend on"),
        ("chunks.chunk_size=300", "not a setting that answers depend on"),
        ("level=c0,c1", "several sections: global_search.level, local_search.level"),
    ],
)
def test_what_cannot_be_swept(text: str, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        values_of(text)


def test_each_value_makes_settings_and_a_wrong_one_is_named() -> None:
    made = swept_settings(load_settings(), Values(("kaping",), "hops", ("1", "3")))
    assert [each.kaping.hops for each in made.values()] == [1, 3]
    with pytest.raises(UsageError, match=r"kaping\.hops: .* 0"):
        swept_settings(load_settings(), Values(("kaping",), "hops", ("0",)))


@pytest.fixture(scope="module")
def suite(films: Context) -> Suite:
    asked: Sequence[SuiteQuestion] = (
        SuiteQuestion("a", "Grey Heron was directed by which director?", ("ada_mirren",), (), ("Grey Heron",), hops=1),
        SuiteQuestion("b", "where was the director of Grey Heron born", ("Pelluci",), (), ("Grey Heron",), hops=2),
        SuiteQuestion("c", "Grey Heron was directed by Ada Mirren", (), (), ("Grey Heron",), label="true"),
    )
    return Suite("films", None, tuple(asked), films.index.root)


def test_walks_are_measured_from_given_and_from_linked_topics(suite: Suite, films: Context) -> None:
    runs = {"": films.settings}
    topics = ("given", "linked")
    found = evaluate_each(suite, films, runs, ["kaping"], [5], no_progress, topics=topics)[""]
    assert list(found) == ["kaping (given)", "kaping (linked)"]
    for each in found.values():
        declined = {"declined@answerable", "best_effort@answerable"}
        assert set(each.metrics) == {"hits@1", "exact_match", "f1", "accuracy", "depth", *declined}
        assert each.metrics["depth"].mean == 1.0
        assert each.metrics["accuracy"].mean == 0.0, "it gives no verdicts"
        assert each.by_hops[1]["hits@1"].mean == 1.0
        assert set(each.by_hops) == {1, 2}
        assert each.median_seconds > 0
    written = as_json(suite, {}, found, 1.0)
    assert written["measured"] == {"answers": 2, "claims": 1}
    assert written["methods"]["kaping (given)"]["by_hops"]["1"]["hits@1"]["mean"] == 1.0


def test_questions_that_the_graph_cannot_answer_are_measured_by_declining(films: Context) -> None:
    asked = (
        SuiteQuestion("a", "Who directed Grey Heron?", ("Ada Mirren",), (), ("Grey Heron",), kind="single"),
        SuiteQuestion("b", "Qzxv?", (), (), kind="unanswerable"),
        SuiteQuestion("c", "Qzxv wvut?", ("Otto Brand",), (), kind="single"),
    )
    scores = evaluate_each(Suite("films", None, asked, films.index.root), films, {"": films.settings}, ["fasttog"], [1],
                           no_progress, answers=False, topics=["linked"])[""]  # fmt: skip
    each = next(iter(scores.values()))
    means = {name: interval.mean for name, interval in each.metrics.items()}
    assert (means["hits@1"], means["declined@answerable"], means["declined@unanswerable"]) == (0.5, 0.5, 1.0)
    assert set(each.by_kind) == {"single", "unanswerable"}
    assert "hits@1" not in each.by_kind["unanswerable"]
    assert [answer.kind for answer in each.answers] == ["single", "unanswerable", "single"]


ASKED = (
    SuiteQuestion("a", "Who directed Grey Heron?", ("Ada Mirren",), (), ("Grey Heron",)),
    SuiteQuestion("b", "Who directed Night Ferry?", ("Hugo Wren",), (), ("Night Ferry",)),
    SuiteQuestion("c", "Who directed Salt Pans?", ("Ada Mirren",), (), ("Salt Pans",)),
)


def cites(nodes: list[int], edges: list[int]) -> str:
    return json.dumps({"answer": "Ada Mirren", "names": ["Ada Mirren"], "nodes": nodes, "edges": edges})


def test_made_up_nodes_and_edges_are_counted(films: Context, tmp_path: Path) -> None:
    suite = Suite("films", None, ASKED, films.index.root)
    rules = [Rule([cites([0, 999], [0]), cites([], [998, 999]), cites([0], [0])])]
    with served(films, tmp_path / "memo", rules) as (context, _):
        scores = evaluate(suite, context, ["gretriever", "kaping"], [5], no_progress)
    found = {name: value.mean for name, value in scores["gretriever"].metrics.items() if name.startswith("valid_")}
    assert found == {"valid_nodes": 0.75, "valid_edges": (1 + 0 + 1) / 3, "valid_graphs": 1 / 3}
    assert not any(name.startswith("valid_") for name in scores["kaping"].metrics)
    written = as_json(suite, {}, scores, 0.0)["methods"]["gretriever"]
    assert written["valid_graphs"]["mean"] == 1 / 3
    assert written["answers"][1]["metrics"]["valid_edges"] == 0.0
