"""The flow against a real Prefect server: deployed by prefect.yaml, run by a worker, as docs/operations.md says."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any

import httpx
import pytest
from conspectus.storage.index import StoredIndex
from conspectus.storage.records import Document
from conspectus.storage.verify import verify

from tests.command_line import PROGRAM, conspectus
from tests.end_to_end.dask_cluster import checksums, cluster
from tests.tracing import CANNOT_TRACE, contacts, tracer
from tests.waiting import LIMIT, free_port, wait_until

ROOT = Path(__file__).parent.parent.parent
PREFECT = [sys.executable, "-m", "prefect"]
WARNING = 30


@pytest.fixture(scope="module")
def prefect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Start a Prefect server of our own and give the environment in which clients find it."""
    home = tmp_path_factory.mktemp("prefect")
    (home / "traces").mkdir()
    port = free_port()
    environment = {
        **{key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")},
        "PREFECT_HOME": str(home),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
        "PREFECT_RUNNER_POLL_FREQUENCY": "1",
        "PREFECT_CLI_COLORS": "false",
        "HF_HUB_OFFLINE": "1",
    }
    with in_background(environment, *PREFECT, "server", "start", "--host", "127.0.0.1", "--port", str(port)) as log:
        wait_until_healthy(environment["PREFECT_API_URL"], log)
        yield environment


def traced(environment: dict[str, str], words: tuple[str, ...]) -> list[str]:
    """Return a command that is run under its own trace, from the second word on in the name of the file."""
    name = f"{time.monotonic_ns()} {' '.join(words[2:5])}".replace("/", "_")[:100]
    return [*tracer(Path(environment["PREFECT_HOME"]) / "traces" / name), *words]


@contextmanager
def in_background(environment: dict[str, str], *words: str, folder: Path = ROOT) -> Iterator[Path]:
    """Run a command meanwhile; give the file that it writes to."""
    log = Path(environment["PREFECT_HOME"]) / f"{time.monotonic_ns()}.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            traced(environment, words),
            env=environment,
            cwd=folder,
            stdout=stream,
            stderr=stream,
            start_new_session=True,
        )
        try:
            yield log
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:  # a worker may wait for what it has begun; its end is not tested here
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(LIMIT)


@contextmanager
def worker(environment: dict[str, str], pool: str, folder: Path = ROOT) -> Iterator[None]:
    """Run a worker meanwhile; it has made its pool. `prefect work-pool create` would have the server ask GitHub."""
    words = (*PREFECT, "worker", "start", "--pool", pool, "--type", "process")
    with in_background(environment, *words, folder=folder):
        wait_until(lambda: pool in {each["name"] for each in ask_api(environment, "work_pools/filter")})
        yield


def wait_until_healthy(url: str, log: Path) -> None:
    deadline = time.monotonic() + 2 * LIMIT
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=LIMIT) as reply:  # noqa: S310  (our own server)
                if reply.status == 200:
                    return
        except OSError:
            time.sleep(0.3)
    pytest.fail(f"the Prefect server did not start: {log.read_text()}")


def run(
    environment: dict[str, str], *words: str, status: int = 0, folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    command = traced(environment, words)
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=3 * LIMIT)
    assert done.returncode == status, f"{words}\n{done.stdout}\n{done.stderr}"
    return done


def ask_api(environment: dict[str, str], path: str, body: dict[str, Any] | None = None) -> Any:  # noqa: ANN401  (JSON)
    request = urllib.request.Request(  # noqa: S310  (our own server)
        f"{environment['PREFECT_API_URL']}/{path}",
        json.dumps(body or {}).encode(),
        {"Content-Type": "application/json"},
    )
    deadline = time.monotonic() + LIMIT
    while True:
        try:
            with urllib.request.urlopen(request, timeout=LIMIT) as reply:  # noqa: S310  (our own server)
                return json.load(reply)
        except urllib.error.HTTPError as error:  # 503: its database is locked; Prefect's own client asks again too
            if error.code != HTTPStatus.SERVICE_UNAVAILABLE or time.monotonic() > deadline:
                raise
            time.sleep(0.5)


def flow_runs(environment: dict[str, str]) -> list[dict[str, Any]]:
    """Return the runs of our flow, oldest first."""
    found: list[dict[str, Any]] = ask_api(environment, "flow_runs/filter", {"flows": {"name": {"any_": ["index"]}}})
    return sorted(found, key=lambda each: str(each["created"]))


def tasks_of(environment: dict[str, str], flow: str, count: int) -> list[dict[str, Any]]:
    """Return the task runs of a flow or flow run, by name or id, once the server has heard of `count` ends."""
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        found: list[dict[str, Any]] = [
            each
            for which in ({"flows": {"name": {"any_": [flow]}}}, {"flow_runs": {"name": {"any_": [flow]}}})
            for each in ask_api(environment, "task_runs/filter", which)
        ]
        if len(found) >= count and all(each["state"]["type"] in {"COMPLETED", "FAILED"} for each in found):
            break
        time.sleep(0.2)
    return sorted(found, key=lambda each: str(each["name"]))


def complaints(environment: dict[str, str], flow_run: dict[str, Any]) -> list[str]:
    """Return the warnings and errors of a run, once its log has come to the server."""
    of_this = {"logs": {"flow_run_id": {"any_": [flow_run["id"]]}}, "sort": "TIMESTAMP_ASC", "limit": 200}
    deadline = time.monotonic() + LIMIT
    while time.monotonic() < deadline:
        lines = ask_api(environment, "logs/filter", of_this)
        if any("Finished in state" in each["message"] for each in lines):
            return [each["message"] for each in lines if each["level"] >= WARNING]
        time.sleep(0.2)
    return ["the log has no end"]


def pickled(environment: dict[str, str]) -> list[Path]:
    """Return what Prefect wrote of results and exceptions."""
    return list((Path(environment["PREFECT_HOME"]) / "storage").glob("**/*"))


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


def parameters(corpus: Path, index: Path) -> dict[str, Any]:
    return {"inputs": [str(corpus)], "index": str(index), "settings": {"build": {"shard_size": 1}}}


OWN = """
  - name: own
    entrypoint: conspectus.pipelines.prefect_flow:index
    work_pool:
      name: conspectus
"""
BY_MODULE = """
from conspectus.pipelines.prefect_flow import index
from prefect.deployments.runner import EntrypointType

index.deploy(
    name="module", work_pool_name="conspectus", entrypoint_type=EntrypointType.MODULE_PATH, ignore_warnings=True
)
"""


def test_a_worker_runs_what_is_deployed(prefect: dict[str, str], corpus: Path, tmp_path: Path) -> None:
    """In an empty folder a prefect.yaml or one call in Python suffices: the flow is found by its module."""
    folder = tmp_path / "empty"
    folder.mkdir()
    (folder / "prefect.yaml").write_text((ROOT / "prefect.yaml").read_text("utf-8") + OWN, "utf-8")
    with worker(prefect, "conspectus", folder):
        run(prefect, *PREFECT, "--no-prompt", "deploy", "--all", folder=folder)
        run(prefect, sys.executable, "-c", BY_MODULE, folder=folder)
        deployed = {each["name"]: each for each in ask_api(prefect, "deployments/filter")}
        assert deployed["own"]["entrypoint"] == "conspectus.pipelines.prefect_flow:index"
        assert deployed["module"]["entrypoint"] == "conspectus.pipelines.prefect_flow.index"
        missing = tmp_path / "missing"
        for name, source, index in (("module", corpus, "module"), ("own", missing, "none")):
            given = {"parameters": parameters(source, tmp_path / index), "state": {"type": "SCHEDULED"}}
            ask_api(prefect, f"deployments/{deployed[name]['id']}/create_flow_run", given)
        said = [f"{key}={json.dumps(value)}" for key, value in parameters(corpus, tmp_path / "index").items()]
        words = ["index/index", "--watch", *(word for each in said for word in ("--param", each))]
        run(prefect, *PREFECT, "deployment", "run", *words)
        wait_until(lambda: {each["state"]["type"] for each in flow_runs(prefect)} <= {"COMPLETED", "FAILED"})
    for name in ("index", "module"):
        opened = StoredIndex.open(tmp_path / name)
        assert {each.title for each in opened.rows(Document)} == {"Marie Curie", "Warsaw", "Vistula"}
        assert verify(opened) == []
    runs = {Path(each["parameters"]["index"]).name: each for each in flow_runs(prefect)}
    states = {name: each["state"]["type"] for name, each in runs.items()}
    assert states == {"index": "COMPLETED", "module": "COMPLETED", "none": "FAILED"}
    assert runs["none"]["state"]["message"] == f"no such file or folder: {missing}"
    tasks = tasks_of(prefect, runs["index"]["name"], 8)
    assert [each["name"] for each in tasks] == [
        "embed chunks 1/1", "embed entities 1/1", "embed predicates 1/1", "embed relations 1/1", "embed reports 1/1",
        "extract 1/3", "extract 2/3", "extract 3/3",
    ]  # fmt: skip
    assert {each["state"]["type"] for each in tasks} == {"COMPLETED"}
    assert complaints(prefect, runs["index"]) == []
    assert pickled(prefect) == []


def test_the_command_line_runs_as_a_flow_where_an_api_is_configured(
    prefect: dict[str, str], corpus: Path, tmp_path: Path
) -> None:
    """Over Dask, where each step is one task; a worker has run the flow without Dask."""
    here, flow = tmp_path / "here", tmp_path / "flow"
    assert conspectus("index", corpus, "--quiet", "--index", here).status == 0
    before = flow_runs(prefect)
    words = (str(corpus), "--json", "--quiet", "--retry-failed", "--index", str(flow), "--set", "build.shard_size=1")
    with cluster(tmp_path, 1) as dask:
        done = run(prefect, *PROGRAM, "index", *words, "--runner", dask.runner)
    told = json.loads(done.stdout)
    assert told["version"] == StoredIndex.open(flow).manifest.version
    assert told["retried"] == {"asked": 0, "healed": 0, "unanswered": 0}
    # On a busy machine Prefect may say that it is still sending events.
    assert [line for line in done.stderr.splitlines() if "Still processing items" not in line] == []
    assert len(flow_runs(prefect)) == len(before) + 1
    assert checksums(flow) == checksums(here), "tasks change nothing in the result"

    again = run(prefect, *PROGRAM, "index", str(tmp_path / "missing"), "--index", str(flow), status=3)
    assert again.stdout == ""
    assert "Traceback" not in again.stderr
    assert f"conspectus: no such file or folder: {tmp_path / 'missing'}" in again.stderr.splitlines()
    assert pickled(prefect) == []


ADMIN = "an-administrator-of-16-bytes"


def test_a_build_through_the_server_is_the_same_flow(prefect: dict[str, str], corpus: Path, tmp_path: Path) -> None:
    index = tmp_path / "index"
    assert conspectus("index", corpus, "--quiet", "--index", index).status == 0
    before = flow_runs(prefect)
    port = free_port()
    environment = {**prefect, "CONSPECTUS_ADMIN_TOKEN": ADMIN}
    headers = {"authorization": f"Bearer {ADMIN}"}
    with (
        in_background(environment, *PROGRAM, "serve", f"notes={index}", "--port", str(port)),
        httpx.Client(base_url=f"http://127.0.0.1:{port}/v1/indexes/notes", headers=headers, timeout=LIMIT) as client,
    ):
        deadline = time.monotonic() + LIMIT
        while time.monotonic() < deadline:
            try:
                client.get("/changes").raise_for_status()
                break
            except httpx.TransportError:
                time.sleep(0.3)
        client.put("/uploads/radium.txt", content=b"Marie Curie discovered radium in 1898.").raise_for_status()
        client.put("/removals/Vistula.txt").raise_for_status()
        job = client.post("/jobs", json={"kind": "build"}).json()["id"]
        wait_until(lambda: client.get(f"/jobs/{job}").json()["state"] != "running", 2 * LIMIT)
        found = client.get(f"/jobs/{job}").json()
    assert found["state"] == "done", found
    assert {"extract", "embed chunks", "purge"} <= {step["name"] for step in found["steps"]}, (
        "tasks tell their progress"
    )
    (run_of_it,) = flow_runs(prefect)[len(before) :]
    assert run_of_it["state"]["type"] == "COMPLETED"
    assert (run_of_it["parameters"]["keep"], len(run_of_it["parameters"]["remove"])) == (True, 1)
    assert {each.uri for each in StoredIndex.open(index).rows(Document)} == {
        "Marie Curie.txt",
        "Warsaw.txt",
        "radium.txt",
    }


RETRIED = """
import sys
from functools import partial
from pathlib import Path
from prefect import flow
from conspectus.pipelines.prefect_flow import RunAsTasks
from conspectus.storage.errors import IndexUnusable

def work(part, folder):
    for item in part:
        marker = folder / item
        if not marker.exists():
            marker.touch()
            raise IndexUnusable(f"{item} fails the first time")
    return [item.upper() for item in part]

@flow(name="retried", persist_result=False)
def retried(retries):
    try:
        return RunAsTasks(retries)("step", partial(work, folder=Path(sys.argv[1])), [["a"], ["b"], ["c"]])
    except IndexUnusable as error:
        return str(error)

(Path(sys.argv[1]) / "b").touch()
print(retried(1))
(Path(sys.argv[1]) / "b").unlink()
print(retried(0))
"""


def test_a_shard_that_fails_once_is_run_again(prefect: dict[str, str], tmp_path: Path) -> None:
    done = run(prefect, sys.executable, "-c", RETRIED, str(tmp_path))
    assert done.stdout.splitlines() == ["[['A'], ['B'], ['C']]", "b fails the first time"]
    tasks = tasks_of(prefect, "retried", 6)
    assert [(each["name"], each["run_count"], each["state"]["type"]) for each in tasks if each["run_count"] == 2] == [
        ("step 1/3", 2, "COMPLETED"),
        ("step 3/3", 2, "COMPLETED"),
    ]
    assert sorted(each["state"]["type"] for each in tasks) == [*["COMPLETED"] * 5, "FAILED"]
    assert pickled(prefect) == []


@pytest.mark.skipif(bool(CANNOT_TRACE), reason=CANNOT_TRACE)
def test_nothing_but_this_machine_was_contacted(prefect: dict[str, str]) -> None:
    """Comes last: by the server, the workers, the deployments and the builds of the tests before."""
    traces = sorted((Path(prefect["PREFECT_HOME"]) / "traces").iterdir())
    assert "server start" in traces[0].name
    assert traces[0].stat().st_size > 0
    assert {each.name: found for each in traces if (found := contacts(each))} == {}
