"""Reranking by a server: its two forms, and what is wrong with a reply."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest
from conspectus.api import open_index
from conspectus.building import build
from conspectus.prompts.client.usage_and_cost import metered
from conspectus.prompts.embedding.reranker import RerankServer
from conspectus.storage.errors import ModelRefused, ModelUnavailable, SettingsError
from conspectus.storage.settings import RerankSettings, load_settings
from pydantic import ValidationError

TEXTS = ["A mill stands by the river.", "Ada wrote the first program.", "Ada \udcff liked horses."]
Reply = tuple[int, object]


def relevance(question: str, text: str) -> float:
    """The share of the question's words that a text has."""
    words = set(question.lower().strip("?").split())
    return len(words & set(text.lower().strip(".").split())) / len(words)


def shared_form(body: dict[str, Any]) -> Reply:
    """Answer as Cohere, Jina and vLLM do: the best first."""
    rows = [
        {"index": place, "relevance_score": relevance(body["query"], text), "document": {"text": text}}
        for place, text in enumerate(body["documents"])
    ]
    rows.sort(key=lambda row: -row["relevance_score"])
    return 200, {"id": "r1", "results": rows[: body["top_n"]], "usage": {"total_tokens": 9}}


def tei_form(body: dict[str, Any]) -> Reply:
    """Answer as text-embeddings-inference does."""
    if "texts" not in body:
        return 422, "Failed to deserialize the JSON body into the target type: missing field `texts` at line 1"
    return 200, [{"index": place, "score": relevance(body["query"], text)} for place, text in enumerate(body["texts"])]


@contextmanager
def server(answer: Callable[[dict[str, Any]], Reply]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    """A server with POST /v1/rerank: its URL, and the bodies of its requests with their keys."""
    seen: list[dict[str, Any]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            seen.append({**body, "key": self.headers["authorization"]})
            status, said = answer(body) if self.path == "/v1/rerank" else (404, {"error": "no such path"})
            content = (said if isinstance(said, str) else json.dumps(said)).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=listening.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.server_port}/v1", seen
    finally:
        listening.shutdown()
        thread.join()
        listening.server_close()


@pytest.mark.parametrize(("form", "requests"), [(shared_form, 2), (tei_form, 3)])
def test_scores_come_in_the_order_of_the_passages(
    form: Callable[[dict[str, Any]], Reply], requests: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RERANK_API_KEY", "a-key")
    with server(form) as (url, seen), metered() as spent:
        reranker = RerankServer(RerankSettings(base_url=f"{url}/", model="m"))
        for _ in range(2):
            scores = reranker.scores("Who wrote the first program?", TEXTS)
            assert scores.dtype == np.float32
            chances = 1 / (1 + np.exp(-scores))
            wanted = [relevance("Who wrote the first program?", text) for text in TEXTS]
            np.testing.assert_allclose(chances, wanted, atol=1e-5)
        assert reranker.scores("Who?", []).shape == (0,)
        assert len(seen) == requests, "the form is learned once"
        assert {each["key"] for each in seen} == {"Bearer a-key"}
        assert seen[0]["model"] == "m"
        assert seen[0]["top_n"] == len(TEXTS)
    assert spent.total().calls == requests


@pytest.mark.parametrize(
    ("reply", "says"),
    [
        ((401, {"error": {"message": "no key"}}), r"401.*rerank.api_key_variable"),
        ((404, {"error": {"message": "no model"}}), r"404.*rerank.model.*rerank.base_url"),
        ((422, {"error": {"message": "top_n is too large"}}), "422"),
        ((400, {"error": {"message": "the query is too long"}}), "too long"),
        ((200, {"choices": []}), "0 scores for 3 passages"),
        ((200, {"results": [{"index": 0, "relevance_score": 0.5}]}), "1 scores for 3 passages"),
        ((200, {"results": [{"index": place, "relevance_score": "high"} for place in range(3)]}), "0 scores"),
        ((200, {"results": [{"index": 0, "relevance_score": 0.5}] * 3}), "1 scores"),
    ],
)
def test_what_is_no_reranking_is_refused_with_a_reason(reply: Reply, says: str) -> None:
    with server(lambda _: reply) as (url, seen):
        with pytest.raises(ModelRefused, match=says):
            RerankServer(RerankSettings(base_url=url)).scores("Who?", TEXTS)
        assert len(seen) == (2 if reply[0] == 422 else 1)


def test_a_server_that_is_not_there_and_a_key_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match=r"rerank\.base_url"):
        RerankServer(RerankSettings(base_url="http://127.0.0.1:9/v1")).scores("Who?", TEXTS)
    monkeypatch.setenv("RERANK_API_KEY", "ä key")
    with pytest.raises(SettingsError, match="RERANK_API_KEY"):
        RerankServer(RerankSettings(base_url="http://127.0.0.1:9/v1")).scores("Who?", TEXTS)
    with pytest.raises(ValidationError, match="password"):
        RerankSettings(base_url="http://u:secret@host/v1")


def test_the_method_rerank_takes_the_order_of_the_server(tmp_path: Path) -> None:
    for name, text in enumerate(["Ada Mirren wrote the first program.", "The mill of Bern wrote nothing at all."]):
        tmp_path.joinpath(f"{name}.txt").write_text(text, "utf-8")
    with server(shared_form) as (url, seen):
        rerank = {"base_url": url, "candidates": "bm25"}
        settings = load_settings(overrides={"rerank": rerank, "extraction": {"pipeline": "regex"}})
        build([tmp_path], tmp_path / "index", settings)
        found = open_index(tmp_path / "index", settings).retrieve("Who wrote the first program?", "rerank")
        assert [passage.text[:3] for passage in found.passages] == ["Ada", "The"]
        assert seen[0]["query"] == "Who wrote the first program?"
        assert f"by {url}" in found.trace[-1].detail
