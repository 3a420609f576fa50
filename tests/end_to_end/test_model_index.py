"""A model-made index from documents to answers, with a real HTTP server in place of the model."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conspectus.pipelines.build_report import BuildReport
from conspectus.pipelines.index import build_index
from conspectus.prompts.fake import FakeServer, Faults
from conspectus.storage.errors import BudgetReached, NeedsModel
from conspectus.storage.index import Index
from conspectus.storage.records import Entity, Merge, Relation, Report
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.verify import verify

from conspectus.api import open_index
from tests.conftest import ISLES
from tests.graph_model import reply
from tests.malformed_json import MALFORMED

N_DOCUMENTS = 24


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    lines = (ISLES / "corpus.jsonl").read_text("utf-8").splitlines()[:N_DOCUMENTS]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(reply) as running:
        yield running


def chosen(server: FakeServer, **llm: Any) -> Settings:  # noqa: ANN401  (values of settings)
    return load_settings(
        overrides={
            "llm": {"model": "m", "base_url": server.url, "attempts": 2, **llm},
            "embedding": {"provider": "endpoint", "model": "e"},
            "embedding_server": {"base_url": server.url, "attempts": 5},
            "reports": {"min_size": 2},
            "communities": {"update": "exact"},
        }
    )


def asked(server: FakeServer) -> int:
    return sum(each.path.endswith("/chat/completions") for each in server.requests)


def build(corpus: Path, index: Path, settings: Settings) -> BuildReport:
    return build_index([corpus], index, settings)


def test_it_is_sound_says_what_it_took_and_answers(corpus: Path, tmp_path: Path, server: FakeServer) -> None:
    built = build(corpus, tmp_path / "index", chosen(server))
    assert built.failures == ()
    index = Index.open(tmp_path / "index")
    assert verify(index) == []
    assert index.manifest.models["extraction"] == "m"
    entities = index.rows(Entity)
    assert "person" in {each.type for each in entities}
    assert any(each.description.endswith("is named in it.") for each in entities)
    relations = index.rows(Relation)
    assert relations
    assert all(each.strength is not None and 3 <= each.strength < 10 for each in relations)
    reports = index.rows(Report)
    assert reports
    assert all(finding.citations for each in reports for finding in each.findings)
    calls = Counter({each.step: each.calls for each in built.spending})
    assert calls["extract"] >= N_DOCUMENTS
    assert calls["report"] >= len(reports)
    assert sum(calls.values()) == asked(server)
    assert server.url not in json.dumps(index.manifest.settings)

    found = open_index(tmp_path / "index", chosen(server)).retrieve("Who is Nadia Frey?", "ppr")
    assert found.passages


def test_nothing_is_asked_twice_and_a_new_document_costs_its_own(
    corpus: Path, tmp_path: Path, server: FakeServer
) -> None:
    settings = chosen(server)
    first = build(corpus, tmp_path / "index", settings)
    before = asked(server)
    assert build(corpus, tmp_path / "index", settings).unchanged
    assert asked(server) == before
    extra = {"id": "new", "title": "Mary Quill", "text": "Mary Quill met Otto Brand in Port Alma."}
    with corpus.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(extra) + "\n")
    second = build(corpus, tmp_path / "index", settings)
    assert second.version != first.version
    steps = {each.step: each.calls for each in second.spending}
    assert steps["extract"] == 1
    from_nothing = build(corpus, tmp_path / "again", settings)
    assert from_nothing.version == second.version, "with a scripted server an update equals a rebuild"


def test_malformed_and_failed_replies_are_rows_and_the_rest_is_right(
    corpus: Path, tmp_path: Path, server: FakeServer
) -> None:
    kinds = ("fence", "prose", "truncated", "html", "empty", "refusal", "null_content", "think", "blank", "two_values")
    server.change(faults=Faults({**dict.fromkeys(kinds, 0.02), "500": 0.02}, by="prompt", spoilers=MALFORMED))
    spoilt = build(corpus, tmp_path / "spoilt", chosen(server))
    assert verify(Index.open(tmp_path / "spoilt")) == []
    assert spoilt.failures
    assert {each.stage for each in spoilt.failures} <= {"extract", "resolve", "summarise", "report", "merge"}
    server.change(faults=Faults())
    whole = build(corpus, tmp_path / "whole", chosen(server))
    assert not whole.failures
    names = {each.name for each in Index.open(tmp_path / "whole").rows(Entity)}
    names |= {each.alias for each in Index.open(tmp_path / "whole").rows(Merge)}
    assert {each.name for each in Index.open(tmp_path / "spoilt").rows(Entity)} <= names, "no record was invented"


def test_a_budget_ends_the_build_and_a_larger_one_goes_on(corpus: Path, tmp_path: Path, server: FakeServer) -> None:
    with pytest.raises(BudgetReached):
        build(corpus, tmp_path / "index", chosen(server, max_tokens=60_000, max_output_tokens=500))
    spent = asked(server)
    assert spent > 5
    built = build(corpus, tmp_path / "index", chosen(server, max_output_tokens=500))
    extract = next(each for each in built.spending if each.step == "extract")
    assert extract.remembered > 0
    assert asked(server) == spent + sum(each.calls for each in built.spending)


def test_without_a_model_the_model_way_is_refused_and_nlp_needs_none(
    corpus: Path, tmp_path: Path, server: FakeServer
) -> None:
    with pytest.raises(NeedsModel, match=r"extraction\.method"):
        build(corpus, tmp_path / "index", load_settings(overrides={"extraction": {"method": "model"}}))
    settings = chosen(server).model_copy(
        update={
            "extraction": load_settings(overrides={"extraction": {"method": "nlp", "pipeline": "regex"}}).extraction
        }
    )
    build(corpus, tmp_path / "index", settings)
    assert asked(server) == 0
