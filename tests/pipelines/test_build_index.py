"""Builds: their report, the versions of their steps, and what they hand to Prefect."""

import asyncio
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_plan import STEPS, STEPS_OF_A_MODEL, plan_build, source_of
from conspectus.pipelines.build_report import LostShare, can_be_retried, lost_shares
from conspectus.query.context import Context
from conspectus.query.methods.baselines import DenseRetriever
from conspectus.storage.errors import UsageError
from conspectus.storage.index import StoredIndex
from conspectus.storage.manifest import Manifest, current_version, read_manifest
from conspectus.storage.records import Failure
from conspectus.storage.settings import Settings, load_settings
from conspectus.storage.text.language import ENGLISH_ENCODER, MULTILINGUAL_ENCODER

from benchmarks.fake_server import FakeServer
from tests.conftest import EXAMPLES, ISLES
from tests.pipelines.estimation.test_estimate import USUAL, local, some
from tests.pipelines.record_results import recorded, results


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


ROWS = {"documents": 9, "chunks": 40, "entities": 300, "relations": 100, "reports": 10}


def test_each_stage_is_measured_by_its_own_items() -> None:
    failures = [
        Failure("read", "a.pdf", "empty"),
        Failure("extract", "c1", "lost record"),
        Failure("summarise", "e1", "the descriptions could not be summed up"),
        Failure("report", "g1", "the model gave no report"),
        Failure("report", "g2", "the model gave no report"),
    ]
    found = lost_shares(ROWS, failures)
    assert found == (
        LostShare("report", 10, 2),
        LostShare("read", 10, 1),
        LostShare("extract", 40, 1),
        LostShare("summarise", 400, 1),
    )
    assert found[0].share == 0.2


def test_an_item_counts_once() -> None:
    failures = [Failure("extract", "c1", "lost record", str(number)) for number in range(30)]
    assert lost_shares(ROWS, failures) == (LostShare("extract", 40, 1),)


def test_no_share_is_above_one_and_nothing_lost_is_no_share() -> None:
    none_written = [Failure("report", f"g{number}", "the model gave no report") for number in range(3)]
    (found,) = lost_shares({**ROWS, "reports": 0}, none_written)
    assert found.share == 1
    assert lost_shares(ROWS, []) == ()


def test_what_could_not_be_read_is_no_matter_of_retrying() -> None:
    assert not can_be_retried([])
    assert not can_be_retried([Failure("read", "a.pdf", "empty")])
    assert can_be_retried([Failure("read", "a.pdf", "empty"), Failure("extract", "c1", "lost record")])


def test_a_password_in_a_url_is_not_given_to_prefect() -> None:
    from conspectus.pipelines.prefect_flow import run_flow  # only here: Prefect takes seconds to import

    with pytest.raises(UsageError, match="contains a password") as refused:
        run_flow(["docs", "https://me:hunter2@host/report.pdf"], Path("index"), load_settings())
    assert "hunter2" not in str(refused.value)


RECORD = "run `python -m tests.pipelines.record_results`"


def test_whoever_changes_the_results_of_a_step_raises_its_version(tmp_path: Path) -> None:
    before, now = recorded(), results(tmp_path)
    assert list(before) == list(now), f"there are other steps now: {RECORD}"
    for step, result in now.items():
        if result.version != before[step].version:
            break  # what follows is made of its results
        assert result == before[step], (
            f"The step `{step}` has other results than before under the same version, {result.version}. If that is "
            f"intended, raise its version in pipelines/build_plan.py and {RECORD}. If only a new version of a library "
            f"changed the results, {RECORD}: the fingerprint holds it."
        )
    assert before == now, f"the recorded results are those of earlier versions: {RECORD}"


def test_a_raised_version_is_a_reason_to_build_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load_settings(overrides={"extraction": {"pipeline": "regex"}})
    pages, index = [EXAMPLES / "films" / "pages"], tmp_path / "index"

    def is_unchanged() -> bool:
        return plan_build(source_of(pages, settings), index, settings).is_unchanged

    build_index(pages, index, settings)
    assert is_unchanged()
    monkeypatch.setitem(STEPS_OF_A_MODEL, "report-by-model", 0)
    assert is_unchanged(), "no model made this index"
    monkeypatch.setitem(STEPS, "report", 0)
    assert not is_unchanged()
    assert not build_index(pages, index, settings).unchanged
    assert is_unchanged()
