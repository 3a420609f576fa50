import subprocess
import sys
import time

import httpx
import pytest

from benchmarks.fake_server import FakeServer, Measures, fake_process
from tests.benchmarks.fake_server.conftest import Connect

HELLO = [{"role": "user", "content": "Hello there, all of you."}]
BODY = {"model": "m", "messages": [{"role": "user", "content": "capital of France"}]}


def test_a_reply_has_its_tokens_counted(connect: Connect) -> None:
    with FakeServer("Paris is it.") as server:
        reply = connect(server).chat.completions.create(model="gpt-4o", messages=HELLO)
        cut = connect(server).chat.completions.create(model="m", messages=HELLO, max_completion_tokens=2)
    assert reply.choices[0].message.content == "Paris is it."
    assert (reply.choices[0].finish_reason, reply.model) == ("stop", "gpt-4o")
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (7, 4)
    request = server.requests[0]
    assert (request.prompt_tokens, request.completion_tokens, request.bearer) == (7, 4, "sk-test")
    assert (request.body or {})["messages"] == HELLO
    assert abs(request.arrived - time.time()) < 60
    assert (cut.choices[0].message.content, cut.choices[0].finish_reason) == ("Paris is", "length")


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"max_tokens": 5}, "max_completion_tokens"),
        ({"temperature": 0.0}, "temperature"),
        ({"response_format": {"type": "json_object"}}, "response_format"),
        ({"model": "unknown"}, "does not exist"),
        ({"messages": []}, "messages"),
    ],
)
def test_what_a_server_does_not_know_is_refused(body: dict[str, object], says: str) -> None:
    without = ("max_tokens", "temperature", "json_object")
    with FakeServer("x", models=["m"], without=without) as server:  # type: ignore[arg-type]
        reply = httpx.post(f"{server.url}/chat/completions", json=BODY | body)
    assert reply.status_code == (404 if "model" in body else 400)
    assert says in reply.json()["error"]["message"]
    with FakeServer("x", without=without, unsupported="ignore") as server:  # type: ignore[arg-type]
        assert httpx.post(f"{server.url}/chat/completions", json=BODY | body).is_success == ("messages" not in body)


def test_keys_and_paths_are_checked() -> None:
    azure = "openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    with FakeServer("x", api_key="right") as server, httpx.Client(base_url=server.origin) as client:
        replies = [
            client.post("v1/chat/completions", json=BODY),
            client.post("v1/chat/completions", json=BODY, headers={"authorization": "Bearer right"}),
            client.post(azure, json={"messages": BODY["messages"]}, headers={"api-key": "right"}),
            client.post("v1/images", json=BODY, headers={"api-key": "right"}),
            client.get("v1/embeddings", headers={"api-key": "right"}),
            client.post("v1/embeddings", content=b"[", headers={"api-key": "right"}),
        ]
    assert [reply.status_code for reply in replies] == [401, 200, 200, 404, 405, 400]
    assert [request.status for request in server.requests] == [401, 200, 200, 404, 405, 400]
    assert replies[2].json()["model"] == "gpt"


def test_a_process_of_its_own() -> None:
    with fake_process("--rpm", "3", "--latency", "0.01") as server:
        statuses = [httpx.post(f"{server.url}/chat/completions", json=BODY).status_code for _ in range(4)]
        assert statuses == [200, 200, 200, 429]
        assert [request.status for request in server.requests(start=2)] == [200, 429]
        measures = server.measures()
        taken = [sys.executable, "-m", "benchmarks.fake_server", "--port", server.url.split(":")[2].split("/")[0]]
        done = subprocess.run(taken, capture_output=True, text=True, timeout=300)
    assert isinstance(measures, Measures)
    assert measures.statuses == {"200": 3, "429": 1}
    assert (done.returncode, "cannot start" in done.stderr, "Traceback" in done.stderr) == (1, True, False)
