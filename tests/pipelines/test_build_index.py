"""The flow: what runs beside what, and the encoder that it chooses."""

import asyncio
from pathlib import Path

from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, current_version, read_manifest
from conspectus.storage.settings import Settings
from conspectus.storage.text.language import ENGLISH_ENCODER, MULTILINGUAL_ENCODER

from benchmarks.fake_server import FakeServer
from tests.conftest import ISLES
from tests.pipelines.estimation.test_estimate import USUAL, local, some


def test_an_endpoint_embeds_while_the_model_extracts_and_reports(tmp_path: Path) -> None:
    corpus = some(tmp_path, ISLES / "corpus.jsonl", 12)
    with FakeServer(USUAL) as server:
        report = build_index([corpus], tmp_path / "index", local(server))
        embeds = [request.path.endswith("/embeddings") for request in server.requests]
    assert report.rows["reports"] > 0
    first, last_of_model = embeds.index(True), len(embeds) - 1 - embeds[::-1].index(False)
    assert first < last_of_model
    assert report.cost is None
    assert report.tokens == sum(spent.prompt_tokens + spent.completion_tokens for spent in report.spending) > 0


def told(folder: Path, *texts: str) -> list[str]:
    """Write each text as a document."""
    for row, text in enumerate(texts):
        (folder / f"{row}.txt").write_text(text, "utf-8")
    return [str(folder)]


def test_the_languages_of_the_documents_choose_the_encoder_at_the_first_build(tmp_path: Path) -> None:
    german = "Der Wärter der Lampe schreibt jeden Abend in das Logbuch."
    english = "The keeper of the lamp writes into the logbook every evening."
    docs, settings = tmp_path / "docs", Settings()
    docs.mkdir()
    build_index(told(docs, english), tmp_path / "english", settings)
    build_index(told(docs, english, german), tmp_path / "both", settings)
    report = build_index(told(docs, english, german), tmp_path / "english", settings)
    encoders = {name: manifest(tmp_path / name).settings["embedding"]["model"] for name in ("english", "both")}
    assert encoders == {"english": ENGLISH_ENCODER, "both": MULTILINGUAL_ENCODER}
    assert f"embedding.model={MULTILINGUAL_ENCODER}" in " ".join(report.notes)
    context = Context(StoredIndex.open(tmp_path / "both"), settings)
    found = asyncio.run(DenseRetriever(context).retrieve("Who writes in the log?", 2))
    assert min(passage.score for passage in found.passages) > 0.3


def manifest(index: Path) -> Manifest:
    return read_manifest(index, current_version(index))
