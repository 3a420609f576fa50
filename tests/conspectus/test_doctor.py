"""What `conspectus doctor` finds, and that it shows no secret."""

import json
import re
from pathlib import Path

import pytest
from conspectus.doctor import Diagnosis, examine
from conspectus.storage.settings import Settings, load_settings

from benchmarks.fake_server import FakeReply, FakeServer
from tests.command_line import conspectus


def settings(server: FakeServer | None = None, **llm: object) -> Settings:
    found: dict[str, object] = {"model": "m", "base_url": server.url if server else "", "attempts": 1, **llm}
    return load_settings(overrides={"llm": found, "extraction": {"pipeline": "regex"}})


def checks(chosen: Settings, index: Path, *, calls: bool = True) -> dict[str, Diagnosis]:
    return {each.name: each for each in examine(chosen, index, calls=calls)}


def test_without_a_model_nothing_is_wrong(tmp_path: Path) -> None:
    found = checks(load_settings(), tmp_path / "index")
    assert found["language model"].state == "off"
    assert found["embedding"].state == found["extraction"].state == found["disk"].state == "ok"
    assert found["rerank"].state == found["index"].state == "off"
    assert all(each.exit_status == 0 for each in found.values())


def test_a_model_that_knows_everything(tmp_path: Path) -> None:
    with FakeServer() as server:
        found = checks(settings(server, prices={"m": {"input": 1, "output": 2}}), tmp_path)
        assert found["language model"].state == "ok"
        assert "answers in" in found["language model"].detail
        assert found["structured output"].detail == "the server keeps to JSON schemas"
        assert "prices" not in found
        assert "streaming" not in found
        assert found["reading"].state == "ok"
        assert "start, middle and end were read" in found["reading"].detail
        assert len(server.requests) < 10


@pytest.mark.parametrize(
    ("without", "says"),
    [
        (["json_schema"], "the schema is put in words"),
        (["json_schema", "json_object"], "asked for in words"),
    ],
)
def test_how_json_can_be_asked_for(tmp_path: Path, without: list[str], says: str) -> None:
    reply = '{"planet": "Earth"}'
    with FakeServer(reply, without=without) as server:  # type: ignore[arg-type]
        found = checks(settings(server), tmp_path)
        assert says in found["structured output"].detail
        assert found["prices"].state == "off"
    with FakeServer("Earth", without=without, unsupported="ignore") as server:  # type: ignore[arg-type]
        assert "does not keep to it" in checks(settings(server), tmp_path)["structured output"].detail


def test_a_server_that_refuses_or_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-very-secret")
    with FakeServer(FakeReply("key sk-very-secret is wrong", status=401), models=["good"]) as server:
        found = checks(settings(server, api_key_variable="OUR_KEY", model="good"), tmp_path)["language model"]
        assert found.state == "failed"
        assert found.exit_status == 8
        assert "The server lists: good" in found.detail
        assert "secret" not in found.detail
    found = checks(settings(base_url="http://127.0.0.1:9/v1"), tmp_path)["language model"]
    assert found.state == "failed"
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert checks(settings(), tmp_path)["language model"].exit_status == 2


def test_a_server_that_reads_only_the_end_of_a_prompt(tmp_path: Path) -> None:
    with FakeServer(context=1024) as server:
        found = checks(settings(server), tmp_path)["language model"]
        assert (found.state, found.exit_status) == ("failed", 8)
        assert "the server cuts prompts: it has read 1,024 of about" in found.detail
        assert checks(settings(server, context=1024), tmp_path)["reading"].state == "ok", "prompts are fitted to it"
    said = {"code word": lambda request: ", ".join(re.findall(r"code word is (\w+)", request.prompt))}
    with FakeServer(said, context=512, without=["usage"]) as server:
        found = checks(settings(server), tmp_path)["reading"]
        assert found.state == "warning"
        assert "the word at start, middle did not come back" in found.detail


def test_no_calls_asks_nobody(tmp_path: Path) -> None:
    with FakeServer() as server:
        assert "not asked" in checks(settings(server), tmp_path, calls=False)["language model"].detail
        assert server.requests == []


@pytest.mark.parametrize("url", ["http://u:hunter2@127.0.0.1:9/api", "http://u:hunter2@host:port/api"])
def test_prefect_is_asked_and_its_password_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("PREFECT_API_URL", url)
    found = checks(load_settings(), tmp_path)["prefect"]
    assert found.state == "failed"
    assert "hunter2" not in found.detail


def test_the_command(tmp_path: Path) -> None:
    with FakeServer("hello", api_key="right") as server:
        done = conspectus(
            "doctor", "--json", "--index", str(tmp_path), "--set", "llm.model=m", "--set", f"llm.base_url={server.url}",
            "--set", "llm.attempts=1", "--set", "extraction.pipeline=regex",
        )  # fmt: skip
    assert done.status == 8
    states = {each["name"]: each["state"] for each in json.loads(done.out)}
    assert states["language model"] == "failed"
    assert states["extraction"] == "warning"
