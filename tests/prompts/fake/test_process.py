import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest
from conspectus.prompts.fake import Measures, fake_process
from conspectus.prompts.fake.__main__ import server as from_arguments

from tests.prompts.fake.conftest import Ask

BODY = {"model": "m", "messages": [{"role": "user", "content": "capital of France"}]}


def test_a_killed_server_leaves_a_readable_log(tmp_path: Path) -> None:
    log, script = tmp_path / "log.jsonl", tmp_path / "script.jsonl"
    script.write_text('{"match": "France", "reply": "Paris"}\n{"status": 500}\n', "utf-8")
    with fake_process("--script", str(script), "--log", str(log), "--rpm", "100", "--seed", "3") as server:
        replies = [httpx.post(f"{server.url}/chat/completions", json=BODY) for _ in range(3)]
        other = httpx.post(
            f"{server.url}/chat/completions", json=BODY | {"messages": [{"role": "user", "content": ""}]}
        )
        assert [row.status for row in server.requests(start=2)] == [200, 500]
        measures = server.measures()
        server.change(latency=30)
        with pytest.raises(httpx.ReadTimeout):
            httpx.post(f"{server.url}/chat/completions", json=BODY, timeout=0.05)
        with pytest.raises(ValueError, match="not understood"):
            server.change(colour="red")
        server.kill()
    assert [reply.json()["choices"][0]["message"]["content"] for reply in replies] == ["Paris"] * 3
    assert replies[0].headers["x-ratelimit-limit-requests"] == "100"
    assert other.status_code == 500
    assert isinstance(measures, Measures)
    assert (measures.requests, measures.statuses) == (4, {"200": 3, "500": 1})
    rows = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    assert [row["status"] for row in rows][:4] == [200, 200, 200, 500]


def test_arguments_become_settings(ask: Ask) -> None:
    made = from_arguments(
        "--latency 0.01-0.02 --fault 429=0.5 --fault fence=0.25 --retry-style ms --in-flight 3 --window 2 "
        "--shape bucket --count asked --without seed --without n --model a --model b --ignore-unsupported".split()
    )
    manner = made._manner
    assert manner.latency == (0.01, 0.02)
    assert manner.faults.rates == {"429": 0.5, "fence": 0.25}
    assert manner.faults.retry_style == "ms"
    limits = manner.limits
    assert (limits.in_flight, limits.window, limits.shape, limits.tokens) == (3, 2.0, "bucket", "asked")
    assert (manner.without, manner.models, manner.unsupported) == ({"seed", "n"}, ("a", "b"), "ignore")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--fault", "419=1"], "no fault is called '419'"),
        (["--fault", "429"], "give its probability"),
        (["--fault", "429=2"], "probabilities"),
        (["--rpm", "0"], "at least 1"),
        (["--script", "nowhere.jsonl"], "nowhere.jsonl cannot be read"),
        (["--without", "wings"], "invalid choice"),
        (["--latency", "x"], "--latency"),
    ],
)
def test_wrong_arguments_are_told(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        from_arguments(arguments)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        from_arguments(["--help"])
    told = capsys.readouterr().out
    assert all(word in told for word in ("--script", "cut_stream", "fake/settings", "--retry-style"))


def test_a_port_that_is_taken_ends_it_with_a_message() -> None:
    with fake_process() as server:
        port = server.url.split(":")[2].split("/")[0]
        done = subprocess.run(
            [sys.executable, "-m", "conspectus.prompts.fake", "--port", port],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert done.returncode == 1
        assert "cannot start" in done.stderr
        assert "Traceback" not in done.stderr
