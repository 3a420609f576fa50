"""Whatever the manner of a family of models, an index and its answers are those of the well-behaved server."""

import re
from pathlib import Path
from typing import Any

import pytest
from conspectus.api import open_index
from conspectus.pipelines.build_index import build_index
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Claim, Entity, Relation, Report
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from benchmarks.fake_server import HABITS, FakeServer
from tests.end_to_end.test_batch import some_passages

METHODS = ("global", "local", "drift", "ircot", "ppr", "tog2", "tog", "fasttog", "gretriever", "lazy")
KINDS: tuple[type, ...] = (Entity, Relation, Claim, Report)
QUESTION = "Which composer wrote an opera based on a poem by Anselm Roke?"


def chosen(server: FakeServer) -> Settings:
    embedding = {"provider": "endpoint", "model": "e"}
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": server.url, "attempts": 2},
            "extraction": {"claims": True},
            "embedding": embedding,
            "embedding_server": {"base_url": server.url},
        }
    )


def said(text: str) -> str:
    """Return an answer with its marks together before the full stop and without a lead-in: matters of manner."""
    joined = re.sub(r"\]\s+\[", "][", text)
    moved = re.sub(r"((?:\[\d+\])*)\s*([.!?])\s*((?:\[\d+\])+)", r"\1 \3\2", joined)
    return re.sub(r"\]\s+\[", "][", moved).replace("Based on the material, ", "")


def run(habits: Any, folder: Path) -> dict[object, object]:  # noqa: ANN401  (a name of habits)
    """Return what is indexed and answered against a server with these habits."""
    with FakeServer(habits=habits) as server:
        settings = chosen(server)
        built = build_index(some_passages(folder.parent), folder, settings)
        assert built.failures == ()
        index = StoredIndex.open(folder)
        assert verify(index) == []
        found: dict[object, object] = {kind: sorted(map(str, index.rows(kind))) for kind in KINDS}
        opened = open_index(folder, settings)
        for method in METHODS:
            answer = opened.ask(QUESTION, method)
            cited = [(each.document_id, each.start, each.end) for each in answer.citations]
            found[method] = (said(answer.text), cited, answer.names)
    return found


@pytest.fixture(scope="module")
def well_behaved(tmp_path_factory: pytest.TempPathFactory) -> dict[object, object]:
    return run("none", tmp_path_factory.mktemp("none") / "index")


def test_a_plausible_model_gives_a_graph_reports_and_cited_answers(well_behaved: dict[object, Any]) -> None:
    assert min(len(well_behaved[kind]) for kind in KINDS) >= 5
    told = [well_behaved[method] for method in METHODS]
    assert sum(bool(cited) for _, cited, _ in told) >= len(METHODS) - 1, "ToG may answer from what it knows"


@pytest.mark.parametrize("habits", [each for each in HABITS if each != "none"])
def test_the_same_index_and_the_same_answers(habits: str, tmp_path: Path, well_behaved: dict[object, object]) -> None:
    found = run(habits, tmp_path / "index")
    assert {key: value for key, value in found.items() if value != well_behaved[key]} == {}
