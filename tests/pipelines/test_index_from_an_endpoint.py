"""An index whose vectors come from a server, from the first build to the question."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.query.context import Context
from conspectus.query.menu import find_retriever
from conspectus.storage.errors import ModelUnavailable
from conspectus.storage.index import StoredIndex
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeServer, Faults
from tests import samples
from tests.conftest import ISLES, write_rows

ROWS = [
    *map(json.loads, (ISLES / "corpus.jsonl").read_text("utf-8").splitlines()[:30]),
    *({"id": title, "title": title, "text": text} for title, text in samples.PASSAGES.items()),
]
SECRET = "sk-" + "5ec7e7" * 6


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(dimensions=64) as server:
        yield server


def chosen(url: str, attempts: int = 8, **embedding: object) -> Settings:
    return load_settings(
        overrides={
            "extraction": {"pipeline": "regex"},
            "embedding": {"provider": "endpoint", "model": "m", **embedding},
            "embedding_server": {"base_url": url, "batch_size": 16, "concurrency": 4, "attempts": attempts},
        }
    )


def build(folder: Path, rows: list[dict[str, str]], settings: Settings) -> Context:
    write_rows(folder / "input.jsonl", rows)
    build_index([folder / "input.jsonl"], folder / "index", settings)
    return Context(StoredIndex.open(folder / "index"), settings)


def sent(server: FakeServer, start: int = 0) -> list[str]:
    return [text for each in server.requests[start:] if each.body for text in each.body["input"]]


def files(context: Context) -> dict[str, str]:
    return {path: each["sha256"] for path, each in context.index.manifest.files.items()}


def test_built_asked_and_built_again(tmp_path: Path, server: FakeServer) -> None:
    settings = chosen(server.url)
    context = build(tmp_path, ROWS[:-1], settings)
    first = sent(server)
    assert len(first) == len(set(first)) > 50
    assert max(len(each.body["input"]) for each in server.requests if each.body) == 16
    assert server.measures.in_flight_peak <= 4
    assert context.index.manifest.models["embedding"] == "endpoint:m"
    assert context.index.manifest.models["dimension"] == "64"

    asked = len(server.requests)
    found = asyncio.run(find_retriever("dense", context).retrieve("Who wrote the novel The Oak House?", 3)).passages
    assert "The Oak House" in found[0].text
    assert sent(server, asked) == ["Who wrote the novel The Oak House?"]
    assert asyncio.run(find_retriever("hybrid", context).retrieve("Who wrote the novel The Oak House?", 3)).passages
    assert len(server.requests) == asked + 1  # the question's vector is kept
    for _ in range(2):
        assert asyncio.run(find_retriever("ppr", context).retrieve("Who wrote the novel The Oak House?", 3)).passages
        assert len(server.requests) == asked + 2  # and those of its second hop, asked for together

    asked = len(server.requests)
    assert build_index([tmp_path / "input.jsonl"], tmp_path / "index", settings).unchanged
    assert len(server.requests) == asked  # nothing is asked for what did not change

    context = build(tmp_path, ROWS, settings)
    more = sent(server, asked)
    assert more
    assert not set(more) & set(first)
    assert len(more) < len(first) / 3


def test_the_memo_keeps_vectors_to_the_bit(tmp_path: Path, server: FakeServer) -> None:
    settings = chosen(server.url)
    before = build(tmp_path, ROWS, settings)
    asked = len(server.requests)
    # Another setting of the index: everything is made again, from remembered vectors.
    after = build(tmp_path, ROWS, load_settings(overrides={**settings.model_dump(), "synonyms": {"threshold": 0.81}}))
    assert after.index.manifest.version != before.index.manifest.version
    assert len(server.requests) == asked
    vectors = [path for path in files(before) if path.startswith("vectors/")]
    assert len(vectors) > 3
    assert all(files(after)[path] == files(before)[path] for path in vectors)


def test_where_the_server_is_does_not_matter_to_an_index(tmp_path: Path, server: FakeServer) -> None:
    one = build(tmp_path, ROWS[:5], chosen(server.url))
    with FakeServer(dimensions=64) as moved:
        report = build_index([tmp_path / "input.jsonl"], tmp_path / "index", chosen(moved.url))
        assert report.unchanged
        assert not moved.requests
        today = Context(one.index, chosen(moved.url, model="another model of today"))
        found = asyncio.run(find_retriever("dense", today).retrieve("Oxford", 2)).passages
        assert len(found) == 2
        (request,) = moved.requests
        assert request.body
        assert request.body["model"] == "m"  # the one that made the index


def test_faults_change_nothing(tmp_path: Path, server: FakeServer) -> None:
    (tmp_path / "calm").mkdir()
    (tmp_path / "rough").mkdir()
    calm = build(tmp_path / "calm", ROWS, chosen(server.url))
    faults = Faults({"429": 0.15, "500": 0.1, "drop": 0.05}, retry_after=0.05, by="prompt")
    with FakeServer(dimensions=64, faults=faults, seed=2) as broken:
        rough = build(tmp_path / "rough", ROWS, chosen(broken.url))
        assert sum(broken.measures.faults.values()) >= 3
        assert broken.measures.in_flight_peak <= 4
    assert files(rough) == files(calm)


def test_a_build_that_fails_keeps_the_steps_that_were_done(tmp_path: Path, server: FakeServer) -> None:
    (tmp_path / "whole").mkdir()
    (tmp_path / "torn").mkdir()
    build(tmp_path / "whole", ROWS, chosen(server.url))
    last = len(server.requests) - 1
    with FakeServer(dimensions=64, faults=Faults(script={last: "500"})) as failing:
        with pytest.raises(ModelUnavailable, match="gave up after 1 tries"):
            build(tmp_path / "torn", ROWS, chosen(failing.url, attempts=1))
        paid = [text for each in failing.requests[: last // 2] if each.body for text in each.body["input"]]
    with FakeServer(dimensions=64) as healed:
        build(tmp_path / "torn", ROWS, chosen(healed.url))
        assert len(healed.requests) < last / 2
        assert not set(paid) & set(sent(healed))


def test_no_key_is_written_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with FakeServer(dimensions=16, api_key=SECRET) as server:
        context = build(tmp_path, ROWS[:3], chosen(server.url))
        assert server.requests[0].bearer == SECRET
    written = [path for path in (tmp_path / "index").rglob("*") if path.is_file()]
    assert len(written) > 10
    assert not [path for path in written if SECRET.encode() in path.read_bytes()]
    shown = json.dumps([dict(context.index.manifest.settings), dict(context.index.manifest.models)])
    assert "127.0.0.1" not in shown  # nor where the server was
