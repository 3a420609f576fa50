"""The flow against a real Prefect server: deployed by prefect.yaml, run by a worker, as the README says."""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from storage.index import Index
from storage.records import Document
from storage.verify import verify

ROOT = Path(__file__).parent.parent.parent
PREFECT = [sys.executable, "-m", "prefect"]


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Prefect server of our own and give the environment in which clients find it."""
    home = tmp_path_factory.mktemp("prefect")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        **os.environ,
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PREFECT_CLI_COLORS": "false",
        "HF_HUB_OFFLINE": "1",
    }
    log = (home / "server.log").open("wb")
    server = subprocess.Popen(
        [*PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)],
        env=environment, stdout=log, stderr=log,
    )  # fmt: skip
    try:
        _wait_until_healthy(environment["PREFECT_API_URL"], server, home / "server.log")
        yield environment
    finally:
        server.terminate()
        server.wait(30)
        log.close()


def _wait_until_healthy(url: str, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2) as reply:  # noqa: S310  (our own server)
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"the Prefect server did not start: {log.read_text()}")


def run(environment: dict[str, str], *words: str, timeout: int = 240) -> str:
    done = subprocess.run(words, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=timeout)
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def ask_api(environment: dict[str, str], path: str, body: dict[str, Any]) -> Any:  # noqa: ANN401  (any JSON)
    request = urllib.request.Request(  # noqa: S310  (our own server)
        f"{environment['PREFECT_API_URL']}/{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as reply:  # noqa: S310  (our own server)
        return json.load(reply)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    for name, text in (
        ("Marie Curie", "Marie Curie discovered polonium. She was born in Warsaw."),
        ("Warsaw", "Warsaw is the capital of Poland. The Vistula flows through Warsaw."),
        ("Vistula", "The Vistula is the longest river in Poland."),
    ):
        (folder / f"{name}.txt").write_text(text, "utf-8")
    return folder


def test_deployment_run_by_a_worker(prefect: dict[str, str], corpus: Path, tmp_path: Path) -> None:
    run(prefect, *PREFECT, "work-pool", "create", "--type", "process", "conspectus")
    run(prefect, *PREFECT, "--no-prompt", "deploy", "--name", "index")
    index = tmp_path / "index"
    worker = subprocess.Popen(
        [*PREFECT, "worker", "start", "--pool", "conspectus"],
        env=prefect, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        run(
            prefect, *PREFECT, "deployment", "run", "index/index", "--watch",
            "--param", f"inputs={json.dumps([str(corpus)])}", "--param", f"index={json.dumps(str(index))}",
            "--param", 'settings={"build": {"shard_size": 1}}',
        )  # fmt: skip
    finally:
        worker.terminate()
        worker.wait(30)
    opened = Index.open(index)
    assert [each.title for each in opened.rows(Document)]
    assert verify(opened) == []

    tasks = ask_api(prefect, "task_runs/filter", {})
    names = sorted(each["name"] for each in tasks)
    assert [name for name in names if name.startswith("extract")] == [
        "extract 1/3",
        "extract 2/3",
        "extract 3/3",
    ]
    assert {each["state"]["type"] for each in tasks} == {"COMPLETED"}
    logs = ask_api(prefect, "logs/filter", {"sort": "TIMESTAMP_ASC"})
    assert not [each["message"] for each in logs if each["level"] >= 30], "warnings or errors in the log"


def test_the_command_line_runs_as_a_flow_where_an_api_is_configured(
    prefect: dict[str, str], corpus: Path, tmp_path: Path
) -> None:
    here, flow = tmp_path / "here", tmp_path / "flow"
    plain = {key: value for key, value in prefect.items() if key != "PREFECT_API_URL"}
    command = [sys.executable, "-m", "conspectus.cli", "index", str(corpus), "--json", "--quiet", "--index"]
    run(plain, *command, str(here))
    before = ask_api(prefect, "flow_runs/count", {})
    run(prefect, *command, str(flow))
    assert ask_api(prefect, "flow_runs/count", {}) == before + 1
    assert Index.open(flow).manifest.files == Index.open(here).manifest.files, "tasks change nothing in the result"
