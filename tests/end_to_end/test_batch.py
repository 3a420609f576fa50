"""An index made by batches of requests, through the batch endpoints of a fake server."""

import json
from pathlib import Path

import openai
import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.storage.errors import BatchWritten, InputError
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Entity, Relation, Report
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeReply, FakeServer, Rule
from tests.conftest import ISLES


def some_passages(folder: Path) -> list[Path]:
    passages = (ISLES / "corpus.jsonl").read_text("utf-8").splitlines(keepends=True)[:12]
    (folder / "corpus.jsonl").write_text("".join(passages), "utf-8")
    return [folder / "corpus.jsonl"]


def chosen(server: FakeServer, batch: Path | None = None) -> Settings:
    given: dict[str, object] = {"llm": {"model": "m", "base_url": server.url}}
    given["embedding"] = {"provider": "endpoint", "model": "e"}
    given["embedding_server"] = {"base_url": server.url}
    given["reports"] = {"max_input_tokens": 600}  # so that reports wait for those on their parts
    return load_settings(overrides={**given, "build": {"batch": str(batch) if batch else ""}})


def run_batch(server: FakeServer, folder: Path) -> None:
    """Do what a user does: upload each file of requests, run it, and put its output into the folder."""
    client = openai.OpenAI(base_url=server.url, api_key="any")
    for file in sorted((folder / "requests").glob("*.jsonl")):
        uploaded = client.files.create(file=file, purpose="batch")
        made = client.batches.create(
            input_file_id=uploaded.id, endpoint="/v1/chat/completions", completion_window="24h"
        )
        batch = client.batches.retrieve(made.id)
        assert batch.status == "completed"
        for id_ in filter(None, (batch.output_file_id, batch.error_file_id)):
            (folder / f"{file.stem}.{id_}.jsonl").write_bytes(client.files.content(id_).content)
        file.unlink()


def contents(index: Path) -> list[list[str]]:
    return [sorted(map(str, StoredIndex.open(index).rows(kind))) for kind in (Entity, Relation, Report)]


def test_batches_make_the_index_that_calls_make(tmp_path: Path) -> None:
    corpus = some_passages(tmp_path)
    with FakeServer() as server:
        build_index(corpus, tmp_path / "called", chosen(server))
        asked = sum("chat" in each.path for each in server.requests)
        settings, folder, stages, written = chosen(server, tmp_path / "batch"), tmp_path / "batch", [], 0
        for _ in range(12):
            try:
                built = build_index(corpus, tmp_path / "index", settings)
                break
            except BatchWritten:
                files = sorted((folder / "requests").glob("*.jsonl"))
                stages.append({file.name.split("-")[0] for file in files})
                written += sum(len(file.read_text().splitlines()) for file in files)
                run_batch(server, folder)
        assert sum("chat" in each.path for each in server.requests) == asked, "no call was made beside the batches"
    assert stages[:2] == [{"extract"}, {"glean_check"}]
    assert stages[-1] == {"report"}
    assert written == asked, "no request was written twice or in vain"
    assert built.failures == ()
    assert contents(tmp_path / "index") == contents(tmp_path / "called")


def test_a_failed_request_is_written_again_and_an_unreadable_file_is_told(tmp_path: Path) -> None:
    corpus, folder = some_passages(tmp_path), tmp_path / "batch"
    with FakeServer([Rule(FakeReply("no", status=500), "Title: Cold Harbour", times=1)]) as server:
        settings = chosen(server, folder)
        with pytest.raises(BatchWritten, match=r"12 requests .* put the output files into .*batch"):
            build_index(corpus, tmp_path / "index", settings)
        (file,) = (folder / "requests").glob("*.jsonl")
        line = json.loads(file.read_text().splitlines()[0])
        assert (line["method"], line["url"], line["body"]["model"]) == ("POST", "/v1/chat/completions", "m")
        run_batch(server, folder)
        with pytest.raises(BatchWritten, match="12 requests"):  # one again, and the gleaning of the others
            build_index(corpus, tmp_path / "index", settings)
        assert {each.name.split("-")[0] for each in (folder / "requests").glob("*.jsonl")} == {"extract", "glean_check"}
        run_batch(server, folder)
        (folder / "broken.jsonl").write_text('{"custom_id": ')
        with pytest.raises(InputError, match=r"broken\.jsonl"):
            build_index(corpus, tmp_path / "index", settings)


def test_a_request_that_the_batch_s_server_refuses_becomes_a_failure_as_a_call_does(tmp_path: Path) -> None:
    corpus, folder = some_passages(tmp_path), tmp_path / "batch"
    refused = Rule(FakeReply("The content was filtered.", status=400), "Title: Cold Harbour")
    with FakeServer([refused]) as server:
        settings = chosen(server, folder)
        for _ in range(12):
            try:
                built = build_index(corpus, tmp_path / "index", settings)
                break
            except BatchWritten:
                run_batch(server, folder)
        called = build_index(corpus, tmp_path / "called", chosen(server))
    assert [(each.stage, each.item_id, each.reason) for each in built.failures] == [
        (each.stage, each.item_id, each.reason) for each in called.failures
    ]
    assert "400 The content was filtered." in built.failures[0].detail
    assert contents(tmp_path / "index") == contents(tmp_path / "called")
