"""What of the subgraphs that answers cite is real (G-Retriever, table 5), summed over a suite."""

import json
from pathlib import Path

from conspectus.pipelines.evaluation.evaluate import as_json, evaluate
from conspectus.pipelines.evaluation.suites import Suite, SuiteQuestion
from conspectus.pipelines.runner import no_progress
from conspectus.query.context import Context

from benchmarks.fake_server import Rule
from tests.query.graph_serving import served

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
