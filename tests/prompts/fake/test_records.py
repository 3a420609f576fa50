import asyncio
import json
import time
from pathlib import Path

import httpx
import openai
import pytest
from conspectus.prompts.fake import FakeRequest, FakeServer, Faults, Limits
from conspectus.prompts.fake.manner import Manner

from tests.prompts.fake.conftest import Ask, Connect


@pytest.mark.clock
def test_requests_in_flight_are_measured_over_time() -> None:
    async def run(server: FakeServer) -> None:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="any", max_retries=0) as client:

            async def one(i: int) -> None:
                await client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(i)}])

            await asyncio.gather(*(one(i) for i in range(8)))

    with FakeServer("x", latency=0.5) as server:
        asyncio.run(run(server))
        told = server.measures
        rows = server.requests
    assert (told.requests, told.in_flight_peak, told.in_flight) == (8, 8, 0)
    assert all(row.replied is not None for row in rows)
    times = [(row.arrived, row.replied or 0.0) for row in rows]
    stretch = max(end for _, end in times) - min(begin for begin, _ in times)
    assert told.seconds == pytest.approx(stretch, abs=1e-3)
    assert told.in_flight_mean == pytest.approx(sum(end - begin for begin, end in times) / stretch, rel=1e-2)


def test_unanswered_requests_are_seen() -> None:
    with FakeServer(faults=Faults({"timeout": 1.0})) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/embeddings", json={"model": "m", "input": "x"}, timeout=0.05)
        assert [each.status for each in server.requests] == [None]
    assert server.measures.statuses == {"none": 1}


def test_a_client_that_is_gone_ends_its_request() -> None:
    with FakeServer("x", latency=30) as server:
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/embeddings", json={"model": "m", "input": "x"}, timeout=0.05)
        deadline = time.monotonic() + 2
        while server.measures.in_flight and time.monotonic() < deadline:
            time.sleep(0.005)
        assert server.measures.in_flight == 0
    assert server.requests[0].replied is not None


def test_stopping_ends_what_is_under_way(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    with FakeServer(latency=30, log=log) as server, httpx.Client() as client, pytest.raises(httpx.ReadTimeout):
        client.post(f"{server.url}/embeddings", json={"model": "m", "input": "x"}, timeout=0.05)
    assert [json.loads(line)["status"] for line in log.read_text("utf-8").splitlines()] == [None]


def test_the_log_holds_every_request_before_its_reply_is_read(tmp_path: Path, ask: Ask) -> None:
    log = tmp_path / "log.jsonl"
    with FakeServer("naïve", log=log, limits=Limits(2)) as server:
        for number in range(2):
            ask(server, f"request\n{number}")
            assert len(log.read_text("utf-8").splitlines()) == number + 1
        with pytest.raises(openai.RateLimitError):
            ask(server, "x")
        requests = server.requests
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [row["status"] for row in rows] == [200, 200, 429]
    assert rows[0] == {
        "number": 0,
        "path": "/v1/chat/completions",
        "body": {"messages": [{"role": "user", "content": "request\n0"}], "model": "m"},
        "headers": dict(requests[0].headers),
        "bearer": "***",
        "arrived": requests[0].arrived,
        "replied": requests[0].replied,
        "status": 200,
        "fault": None,
        "refused": None,
        "attempt": 0,
        "prompt_tokens": 2,
        "completion_tokens": 1,
    }
    assert abs(requests[0].arrived - time.time()) < 30


def test_latency_can_be_a_range_or_a_function(ask: Ask) -> None:
    def spent(server: FakeServer) -> list[float]:
        return [(each.replied or 0.0) - each.arrived for each in server.requests]

    drawn = [Manner(latency=(0.02, 0.06), seed=3).wait(FakeRequest("", {}, number=i)) for i in range(200)]
    assert 0.02 <= min(drawn) < 0.022
    assert 0.058 < max(drawn) < 0.06
    with FakeServer("x", latency=(0.05, 0.06)) as server:
        ask(server, "x")
    assert spent(server)[0] >= 0.049
    with FakeServer("x", latency=lambda asked: 0.3 if "slow" in asked.prompt else 0.0) as server:
        ask(server, "slow")
        ask(server, "fast")
    assert spent(server)[0] >= 0.299 > spent(server)[1]


def test_everything_can_change_while_it_runs(ask: Ask) -> None:
    with FakeServer("one") as server:
        assert ask(server, "x") == "one"
        server.change(replies="two")
        assert ask(server, "x") == "two"
        server.change(faults=Faults({"500": 1.0}))
        with pytest.raises(openai.InternalServerError):
            ask(server, "x")
        server.change(faults=Faults(), latency=0.05)
        ask(server, "x")
    last = server.requests[-1]
    assert (last.replied or 0.0) - last.arrived >= 0.049


def test_another_process_can_ask_and_change(connect: Connect, ask: Ask) -> None:
    with FakeServer("x") as server:
        ask(server, "one")
        ask(server, "two")
        told = httpx.get(f"{server.url}/fake/requests").json()
        assert [row["number"] for row in told["records"]] == [0, 1]
        assert (told["requests"], told["statuses"], told["in_flight_peak"]) == (2, {"200": 2}, 1)
        assert [row["number"] for row in httpx.get(f"{server.url}/fake/requests?from=1").json()["records"]] == [1]
        assert httpx.get(f"{server.url}/fake/requests?from=x").status_code == 400
        change = {"latency": [0.0, 0.01], "faults": {"rates": {"429": 1.0}, "retry_style": "ms"}}
        settings = httpx.post(f"{server.url}/fake/settings", json=change).json()
        assert settings["latency"] == [0.0, 0.01]
        assert settings["faults"]["rates"] == {"429": 1.0}
        with pytest.raises(openai.RateLimitError) as caught:
            ask(server, "x")
        assert caught.value.response.headers["retry-after-ms"] == "1000"
        limits = {"requests_per_minute": 5, "window": 1}
        settings = httpx.post(f"{server.url}/fake/settings", json={"limits": limits, "faults": {}}).json()
        assert settings["limits"]["requests_per_minute"] == 5
        assert settings["latency"] == [0.0, 0.01]
        ask(server, "x")


@pytest.mark.parametrize(
    "wrong",
    [
        {"latencies": 1},
        {"latency": "x"},
        {"faults": {"rates": {"419": 1}}},
        {"faults": {"rate": {}}},
        {"faults": {"rates": {"429": 2}}},
        {"limits": {"rpm": 1}},
        {"limits": {"window": 0}},
    ],
)
def test_wrong_settings_are_refused(wrong: dict[str, object]) -> None:
    with FakeServer() as server:
        reply = httpx.post(f"{server.url}/fake/settings", json=wrong)
        assert reply.status_code == 400
        assert "not understood" in reply.json()["error"]["message"]


def test_script_of_faults_over_http_knows_numbers() -> None:
    with FakeServer("x") as server:
        change = {"faults": {"script": {"1": "500", "poison": ["503", None]}}}
        assert httpx.post(f"{server.url}/fake/settings", json=change).status_code == 200
        body = {"model": "m", "input": "x"}
        statuses = [httpx.post(f"{server.url}/embeddings", json=body).status_code for _ in range(3)]
        body["input"] = "poison"
        statuses += [httpx.post(f"{server.url}/embeddings", json=body).status_code for _ in range(2)]
    assert statuses == [200, 500, 200, 503, 200]


def test_a_server_can_be_started_inside_a_running_loop() -> None:
    async def run() -> int:
        with FakeServer("x") as server:
            async with httpx.AsyncClient() as client:
                return (await client.get(f"{server.url}/models")).status_code

    assert asyncio.run(run()) == 200


def test_a_stopped_server_starts_again_on_the_same_port() -> None:
    server = FakeServer("x")
    with server:
        url = server.url
        assert httpx.get(f"{url}/models").status_code == 200
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{url}/models")
    with server:
        assert server.url == url
        assert httpx.get(f"{url}/models").status_code == 200
        assert server.requests == []


def test_a_rule_that_fails_is_told_when_the_server_stops(ask: Ask, caplog: pytest.LogCaptureFixture) -> None:
    def broken(asked: FakeRequest) -> str:
        return str(asked.body["no such key"])

    server = FakeServer(broken)
    server.start()
    with pytest.raises(openai.APIConnectionError):
        ask(server, "x")
    assert (server.measures.in_flight, server.requests[0].status) == (0, None)
    with pytest.raises(RuntimeError, match="no such key"):
        server.stop()
    assert "no such key" in caplog.text


def test_a_port_that_is_taken_is_told() -> None:
    with FakeServer() as server:
        port = int(server.origin.rsplit(":", 1)[1])
        with pytest.raises(OSError, match="in use"), FakeServer(port=port):
            pass
