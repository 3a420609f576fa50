"""Ten questions to the tools for agents, answered by a program that knows only what the server says of them."""

import asyncio
import json
from pathlib import Path

import pytest
from mcp.types import Tool

from benchmarks.agent_questions import CALLS, TASKS, Run, ask_all, build_examples, ranked, table


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    return asyncio.run(ask_all(build_examples(tmp_path_factory.mktemp("agent") / "index")))


def test_each_question_is_answered_within_the_calls(runs: list[Run]) -> None:
    assert len(runs) == len({run.kind for run in runs}) == 10
    assert [(run.kind, run.tools) for run in runs if not run.found] == []
    assert all(0 < len(run.tools) <= CALLS for run in runs)
    assert all(0 < run.bytes <= 20_000 for run in runs)


def test_descriptions_results_and_errors_lead_on(runs: list[Run]) -> None:
    tools = {run.kind: run.tools for run in runs}
    assert tools["neighbours"] == ["neighbours", "entities", "neighbours"]  # an error names `entities`
    assert tools["passages by id"] == ["entity", "passages"]  # a result has ids that `passages` takes
    assert tools["filter"] == ["filters", "retrieve"]  # the description of a condition names `filters`


def test_no_question_has_its_answer() -> None:
    assert [(task.kind, word) for task in TASKS for word in task.expected if word in task.question] == []


def test_an_answer_that_is_nowhere_is_not_found(runs: list[Run], tmp_path: Path) -> None:
    line = table([*runs, Run("fact", "Who?", ["ask"], 1_234)]).splitlines()[-1]
    assert line == "| fact | Who? | ask | 1,234 | no |"


def test_a_tool_is_chosen_by_its_description_alone() -> None:
    def tool(name: str, about: str) -> Tool:
        return Tool.model_validate(json.loads(json.dumps({"name": name, "description": about, "inputSchema": EMPTY})))

    assert ranked([tool("a", "List the ships."), tool("b", "List the towns.")], "List the towns of Vey.") == ["b", "a"]
    assert ranked([tool("a", "List the towns."), tool("b", "List the ships.")], "List the towns of Vey.") == ["a", "b"]


EMPTY = {"type": "object", "properties": {}}
