"""Prompts are cut to what a model reads: as its server tells, as it refuses, or as the settings say."""

import asyncio
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from time import sleep

import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.window import Window, is_cut, window_of
from conspectus.prompts.language_model import Message, Request
from conspectus.storage.errors import ModelRefused
from conspectus.storage.settings import LlmSettings

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer
from benchmarks.fake_server.protocol import fake_token_count

FACTS = "\n".join(f"{number}. Fact {number} says that the harbour has {number} boats." for number in range(2000))


def ask(text: str = FACTS, step: str = "local") -> Request:
    return Request((Message("system", "You answer."), Message("user", f"How many?\n<facts>\n{text}\n</facts>")), step)


def tokens(request: FakeRequest) -> int:
    return sum(fake_token_count(text) for _, text in request.messages)


@pytest.mark.parametrize("window", [2048, 4096, 8192])
def test_a_prompt_is_cut_to_the_context_of_the_settings_which_is_said_once(
    window: int, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[FakeRequest] = []
    with FakeServer(lambda request: seen.append(request) or "Nine.") as server, caplog.at_level(logging.WARNING):
        model = ModelClient(LlmSettings(model="m", base_url=server.url, context=window))
        for _ in range(3):
            assert asyncio.run(model.complete(ask())).text == "Nine."
    for request in seen:
        limit = request.body["max_tokens"]
        assert tokens(request) + limit <= window
        assert limit == window // 4
        assert tokens(request) > window / 3, "no more is cut than needed"
        assert "0. Fact 0 says" in request.last
        assert request.last.endswith("boats.\n</facts>"), "whole lines are left"
    assert len([record for record in caplog.records if "are cut to the context" in record.message]) == 1


@pytest.mark.parametrize(
    "refusal",
    [
        "request ({sent} tokens) exceeds the available context size ({window} tokens), try increasing it",
        "This model's maximum context length is {window} tokens. However, your messages resulted in {sent} tokens.",
        "This model's maximum context length is {window} tokens. However, you requested {sent} tokens",
    ],
)
@pytest.mark.parametrize("window", [2048, 4096, 8192])
def test_a_refusal_tells_the_context(window: int, refusal: str) -> None:
    def say(request: FakeRequest) -> str | FakeReply:
        sent = tokens(request)
        if sent + request.body["max_tokens"] <= window:
            return "Nine."
        return FakeReply(refusal.format(sent=sent, window=window), status=400)

    with FakeServer(say) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url))
        assert asyncio.run(model.complete(ask())).text == "Nine."
        assert 2 <= len(server.requests) <= 4
        assert model.window("local").tokens == window


def test_a_prompt_that_cannot_be_cut_is_refused_with_the_setting() -> None:
    with FakeServer("Nine.") as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url, context=1024))
        request = Request((Message("user", "word " * 5000),), "local")
        with pytest.raises(ModelRefused, match=r"about \d+ tokens, and m reads 1024 \(llm.context\)"):
            asyncio.run(model.complete(request))
        assert not server.requests


@pytest.mark.parametrize(
    ("paths", "window"),
    [
        (
            {
                "/v1/models": {"data": [{"id": "a.gguf", "owned_by": "llamacpp"}]},
                "/props": {"default_generation_settings": {"n_ctx": 8192}, "total_slots": 2},
            },
            Window(8192, 2),
        ),
        ({"/v1/models": {"data": [{"id": "m", "owned_by": "vllm", "max_model_len": 4096}]}}, Window(4096)),
        (
            {
                "/v1/models": {"data": [{"id": "m", "owned_by": "library"}]},
                "/api/show": {"parameters": 'stop "x"\nnum_ctx                        2048'},
            },
            Window(2048),
        ),
        ({"/v1/models": {"data": [{"id": "m", "owned_by": "openai"}]}}, Window()),
        ({"/v1/models": {"data": []}}, Window()),
        ({}, Window()),
    ],
    ids=["llama.cpp", "vLLM", "Ollama", "silent", "empty", "no list"],
)
def test_what_servers_tell_of_themselves(paths: dict[str, object], window: Window) -> None:
    with telling(paths) as url:
        assert window_of(LlmSettings(model="m", base_url=url)) == window
        assert window_of(LlmSettings(model="m", base_url=url, context=1500)).tokens == 1500


@pytest.mark.parametrize("context", [2048, 4096, 8192])
def test_a_prompt_that_the_server_has_cut_is_an_error_that_names_the_setting(context: int) -> None:
    with FakeServer("Nine.", context=context) as server:
        model = ModelClient(LlmSettings(model="m", base_url=server.url))
        short = FACTS[: context * 2]
        assert asyncio.run(model.complete(ask(short))).text == "Nine."
        with pytest.raises(ModelRefused, match=rf"read {context:,} of about [0-9,]+ tokens of local.*num_ctx"):
            asyncio.run(model.complete(ask()))
        fitted = ModelClient(LlmSettings(model="m", base_url=server.url, context=context))
        assert asyncio.run(fitted.complete(ask())).text == "Nine."


@pytest.mark.parametrize("language", ["en", "de", "es", "fr", "zh"])
def test_a_whole_prompt_is_never_taken_for_a_cut_one(language: str) -> None:
    """As o200k, the vocabulary with the fewest tokens, counts: characters for each token in texts of a language."""
    folder = Path(__file__).parents[3] / "examples"
    folder = folder / "world" / "pages" if language == "en" else folder / "languages" / language
    text = "\n".join(path.read_text("utf-8") for path in sorted(folder.iterdir())) * 10
    a_token = {"en": 4.9, "de": 4.8, "es": 4.9, "fr": 4.8, "zh": 1.6}[language]
    assert is_cut([text], int(len(text) / a_token)) == 0
    assert is_cut([text], int(len(text) / a_token / 4)) > 0, "cut to a quarter"


def test_calls_that_share_a_context_go_one_by_one_when_it_is_full(caplog: pytest.LogCaptureFixture) -> None:
    working, failed = Lock(), []

    class Handler(BaseHTTPRequestHandler):
        server_version, sys_version = "llama.cpp", ""

        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            assert self.headers["connection"] == "close", "llama.cpp closes connections after streams"
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.end_headers()
            if not working.acquire(blocking=False):
                failed.append(self.path)
                told: object = {"error": {"code": 500, "message": "Context size has been exceeded."}}
            else:
                sleep(0.2)
                working.release()
                told = {"choices": [{"delta": {"content": "Nine."}, "finish_reason": "stop"}]}
            self.wfile.write(f"data: {json.dumps(told)}\n\ndata: [DONE]\n\n".encode())

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    async def all_of(model: ModelClient) -> list[str]:
        return [reply.text for reply in await asyncio.gather(*(model.complete(ask(str(n))) for n in range(6)))]

    with served(Handler) as url, caplog.at_level(logging.WARNING):
        model = ModelClient(LlmSettings(model="m", base_url=url, concurrency=4))
        assert asyncio.run(all_of(model)) == ["Nine."] * 6
    assert 0 < len(failed) < 12


@contextmanager
def telling(paths: dict[str, object]) -> Iterator[str]:
    """A server that tells of itself at some paths."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(paths.get(self.path, {"error": "no such path"})).encode()
            self.send_response(200 if self.path in paths else 404)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"]))
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with served(Handler) as url:
        yield url


@contextmanager
def served(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
