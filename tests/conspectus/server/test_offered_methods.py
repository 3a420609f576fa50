"""A method that a server cannot run is offered nowhere, and a request for it says what the server lacks."""

import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.explain.explain import EXPLAINED
from conspectus.query.menu import METHODS
from conspectus.server.mcp_tools import mcp_server
from conspectus.server.metrics import Metrics
from conspectus.server.request_threads import RequestThreads
from conspectus.server.service import Service
from conspectus.server.tokens import Caller
from conspectus.storage.settings import load_settings
from mcp import Client

from tests.conspectus.server.running import Running, running

FILMS = Path(__file__).parents[3] / "examples" / "films"
KINDS = ("documents", "both", "graph")
LACKING = {"rerank", "ircot", "io", "cot", "cot_sc", "mixed"}
"""What cannot run without a language model and a cross-encoder."""


@pytest.fixture(scope="module")
def served(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server without models of an index of documents, one of documents and a graph, and one of a graph alone."""
    folder = tmp_path_factory.mktemp("kinds")
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}, "kg": {"files": [str(FILMS / "kg.tsv")]}})
    build_index([FILMS / "pages"], folder / "both", settings)
    build_index([], folder / "graph", settings)
    with running(("documents", notes), ("both", folder / "both"), ("graph", folder / "graph")) as found:
        yield found


def post(server: Running, index: str, route: str, method: str, **more: object) -> httpx.Response:
    body = {"question": "Who directed Night Ferry?", "method": method, **more}
    return server.client.post(f"/v1/indexes/{index}/{route}", json=body)


def test_only_what_can_run_is_offered(served: Running) -> None:
    offered = {row["name"] for row in served.client.get("/v1/methods").json()}
    assert offered == METHODS.keys() - LACKING
    models = {row["id"] for row in served.client.get("/v1/models").json()["data"]}
    assert models == {f"{kind}/{name}" for kind in KINDS for name in offered}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", METHODS)
def test_a_method_answers_or_says_what_it_lacks(name: str, kind: str, served: Running) -> None:
    runs = 501 if name in LACKING else 200
    asked = post(served, kind, "ask", name)
    found = post(served, kind, "retrieve", name)
    why = post(served, kind, "explain", name)
    chat = {"model": f"{kind}/{name}", "messages": [{"role": "user", "content": "Who directed Night Ferry?"}]}
    replied = served.client.post("/v1/chat/completions", json=chat)
    assert asked.status_code == replied.status_code == runs, asked.text
    assert found.status_code == (runs if METHODS[name].retrieves else 400), found.text
    assert why.status_code == (200 if name in EXPLAINED else 400), why.text
    for refused in (each for each in (asked, replied, found) if each.status_code == 501):
        error = refused.json()["error"]
        setting = "rerank.model" if name == "rerank" else "llm.model"
        assert error["type"] == "needs_model"
        assert f"'{name}' takes a" in error["message"]
        assert f"set {setting}" in error["message"]


def test_models_that_are_named_let_their_methods_run(notes: Path, cross_encoder: Path) -> None:
    settings = load_settings(
        overrides={
            "rerank": {"model": str(cross_encoder)},
            "ircot": {"retriever": "rerank"},
            "llm": {"model": "any", "base_url": "http://127.0.0.1:9/v1", "attempts": 1},
        }
    )
    with running(("notes", notes), settings=settings) as server:
        assert {row["name"] for row in server.client.get("/v1/methods").json()} == METHODS.keys()
        assert post(server, "notes", "retrieve", "rerank").status_code == 200
        assert post(server, "notes", "ask", "io").status_code == 502


@pytest.mark.parametrize("stream", [False, True])
def test_a_setting_that_cannot_be_used_is_told_to_the_log_only(
    *, stream: bool, notes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = load_settings(overrides={"rerank": {"model": str(tmp_path / "gone")}})
    with running(("notes", notes), settings=settings) as server:
        answer = post(server, "notes", "ask", "rerank", stream=stream)
        assert answer.status_code == 501
        assert answer.json()["error"]["type"] == "misconfigured"
        assert str(tmp_path) not in answer.text
        [line] = [json.loads(line) for line in capsys.readouterr().err.splitlines() if "cannot run" in line]
        assert f"rerank.model is '{tmp_path / 'gone'}'" in line["why"]


async def test_agents_are_told_what_can_run(served: Running) -> None:
    service = Service({one.name: one for one in served.indexes}, RequestThreads(6, 60.0), Metrics(), tokens=False)
    async with Client(mcp_server(service, lambda _: Caller("agent"))) as agent:
        told = agent.instructions or ""
        for name in ("auto", "ppr:hipporag2", "global:dynamic"):
            assert f" {name}," in told
        refused = str(await agent.call_tool("ask", {"question": "x", "method": "none", "index": "both"}))
        lacking = str(await agent.call_tool("ask", {"question": "x", "method": "rerank", "index": "both"}))
    for name in LACKING:
        assert f" {name}," not in told
        assert f" {name}," not in refused
    assert "There are: auto, bm25" in refused
    assert "set rerank.model" in lacking
