"""A model-made index from documents to answers, with a real HTTP server in place of the model."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conspectus.api import open_index
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import BuildReport
from conspectus.prompts.embedding.embedder import open_embedder
from conspectus.query.filter.view import view_of
from conspectus.query.methods.graphrag.local import selection_trace
from conspectus.query.methods.graphrag.local_selection import LocalSelection
from conspectus.storage.errors import BudgetReached, NeedsModel
from conspectus.storage.index import DESCRIPTIONS, StoredIndex
from conspectus.storage.records import Document, Entity, Relation, Report
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.embedded import description_text
from conspectus.storage.verify import verify

from benchmarks.fake_server import FakeServer
from tests.conftest import ISLES
from tests.graph_model import reply

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
    index = StoredIndex.open(tmp_path / "index")
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


@pytest.fixture
def plausible() -> Iterator[FakeServer]:
    with FakeServer() as running:
        yield running


def embedded(index: StoredIndex, settings: Settings) -> None:
    """Check that each entity's description vectors are of its name and its description as they are stored."""
    stored, entities = index.vectors(DESCRIPTIONS), index.rows(Entity)
    embedder = open_embedder(settings.embedding, settings.embedding_server)
    for row, entity in enumerate(entities):
        (first, *_), _ = stored.vectors_of(np.array([row]))
        assert np.allclose(first, embedder.embed(embedder.windows(description_text(entity))[:1])[0], atol=1e-6)
    assert any(entity.description for entity in entities)


def test_local_search_links_by_descriptions_that_a_model_wrote(
    corpus: Path, tmp_path: Path, plausible: FakeServer
) -> None:
    settings = chosen(plausible)
    build(corpus, tmp_path / "index", settings)
    embedded(StoredIndex.open(tmp_path / "index"), settings)
    extra = {
        "id": "new",
        "title": "Mary Quill",
        "text": "Mary Quill directed Cold Harbour with Nadia Frey.",
    }
    with corpus.open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(extra) + "\n")
    build(corpus, tmp_path / "index", settings)
    index = StoredIndex.open(tmp_path / "index")
    embedded(index, settings)

    opened = open_index(tmp_path / "index", settings)
    entity = max(index.rows(Entity), key=lambda each: len(each.description))
    selection = LocalSelection(opened.context, entity.description.replace(entity.name, "it"))
    assert selection.by_description
    assert "by name and description" in selection_trace(selection)[0].detail
    kept = [document.id for document in index.rows(Document)][::2]
    embedded(view_of(index, frozenset(kept), opened.context.embedder, graph=True), settings)

    # An index made before, or without a model, has no such vectors: names are compared.
    manifest = replace(index.manifest, files={k: v for k, v in index.manifest.files.items() if DESCRIPTIONS not in k})
    before = StoredIndex(index.root, manifest)
    selection = LocalSelection(replace(opened.context, index=before), "Who directed it?")
    assert len(selection.entities.rows) == settings.local_search.entities
    assert selection_trace(selection)[0].detail.endswith("near in meaning, by name")


def test_a_model_reports_on_a_graph_that_the_pipeline_made(corpus: Path, tmp_path: Path, plausible: FakeServer) -> None:
    given = {"extraction": {"method": "nlp", "pipeline": "regex"}, "reports": {"method": "model"}}
    llm = {"model": "m", "base_url": plausible.url}
    settings = load_settings(overrides={"llm": llm, **given})
    built = build(corpus, tmp_path / "index", settings)
    assert {each.step for each in built.spending} == {"report"}
    reports = StoredIndex.open(tmp_path / "index").rows(Report)
    assert reports
    assert all(each.rating_explanation for each in reports)
    assert all(finding.citations for each in reports for finding in each.findings)
    answer = open_index(tmp_path / "index", settings).ask("Who directed Cold Harbour?", "global")
    assert answer.citations
