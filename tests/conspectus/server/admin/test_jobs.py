"""Jobs outlive their server: it is killed in a build and started again; what was done is not done twice."""

import re
import signal
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest
from conspectus.storage.settings import as_yaml

from benchmarks.fake_server import FakeServer
from tests.command_line import start
from tests.conspectus.server.admin.test_admin_routes import ADMIN, slow_server
from tests.waiting import HELD, LIMIT, wait_until

FILES = {f"{name}.txt": f"{name} Quill wrote to Otto Brand from Port Alma." for name in ("Ada", "Bela", "Cleo", "Dov")}


@contextmanager
def served(root: Path, settings: Path) -> Iterator[tuple["subprocess.Popen[bytes]", httpx.Client]]:
    """Start the command in a process of its own."""
    words = ("serve", f"notes={root}", "--port", "0", "--settings", settings)
    process = start(*words, CONSPECTUS_ADMIN_TOKEN=ADMIN)
    try:
        assert process.stderr is not None
        found = None
        while found is None and (line := process.stderr.readline()):  # what it says of interrupted jobs comes first
            found = re.search(rb"http://127\.0\.0\.1:\d+", line)
        assert found
        threading.Thread(target=process.stderr.read, daemon=True).start()  # its log
        headers = {"authorization": f"Bearer {ADMIN}"}
        with httpx.Client(base_url=found[0].decode(), headers=headers, timeout=LIMIT) as client:
            wait_until(lambda: client.get("/readyz").status_code == 200)
            yield process, client
    finally:
        process.kill()
        process.wait()


def children(process: int) -> list[Path]:
    """Return the folders in /proc of the processes that a process has started."""
    found = []
    for each in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((each / "stat").read_text().rpartition(")")[2].split()[1]) == process:
                found.append(each)
    return found


def runs(process: Path) -> bool:
    """Tell whether a process runs; of one that has ended a name may stay, without its words."""
    try:
        return bool((process / "cmdline").read_bytes())
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="it looks for processes in /proc")
def test_a_server_that_is_killed_leaves_an_interrupted_job_whose_changes_wait_again(tmp_path: Path) -> None:
    with FakeServer() as fake:
        root, settings = slow_server(tmp_path, fake)
        file = tmp_path / "settings.yaml"
        file.write_text(
            as_yaml(settings.model_copy(update={"llm": settings.llm.model_copy(update={"concurrency": 1})}))
        )
        before = (root / "CURRENT").read_text()
        with served(root, file) as (process, client):
            for name, text in FILES.items():
                assert client.put(f"/v1/indexes/notes/uploads/{name}", content=text.encode()).status_code == 201
            asked = len(fake.requests)
            fake.change(latency=lambda request: 0.0 if request.number < asked + 3 else HELD)
            job = client.post("/v1/indexes/notes/jobs", json={"kind": "build"}).json()["id"]
            wait_until(lambda: len([r for r in fake.requests if r.status == 200]) >= asked + 3)
            wait_until(lambda: len(fake.requests) > asked + 3)  # the next call: what came before is remembered
            building = children(process.pid)
            assert [runs(each) for each in building] == [True]
            process.send_signal(signal.SIGKILL)
            wait_until(lambda: not runs(building[0]))
        assert (root / "CURRENT").read_text() == before, "the old version is whole"
        paid = {prompt(request) for request in fake.requests[asked:] if request.status == 200}
        assert paid

        known = len(fake.requests)
        fake.change(latency=0.0)
        with served(root, file) as (_, client):
            found = client.get(f"/v1/indexes/notes/jobs/{job}").json()
            assert (found["state"], found["uploads"]) == ("interrupted", sorted(FILES))
            waiting = client.get("/v1/indexes/notes/changes").json()["uploads"]
            assert [each["name"] for each in waiting] == sorted(FILES)
            job = client.post("/v1/indexes/notes/jobs", json={"kind": "build"}).json()["id"]
            wait_until(lambda: client.get(f"/v1/indexes/notes/jobs/{job}").json()["state"] == "done")
            again = {prompt(request) for request in fake.requests[known:]}
            assert len(paid & again) <= 1, "what was paid for is not asked for again, but what was under way"
            wait_until(lambda: client.get("/v1/indexes/notes/documents").json()["total"] == len(FILES) + 1)


def prompt(request: object) -> str:
    """Return what a recorded request asked."""
    return str(request.body)  # type: ignore[attr-defined]


def test_a_server_that_is_told_to_stop_does_not_wait_for_those_who_watch_a_job(tmp_path: Path) -> None:
    with FakeServer() as fake:
        root, settings = slow_server(tmp_path, fake)
        (tmp_path / "settings.yaml").write_text(as_yaml(settings))
        with served(root, tmp_path / "settings.yaml") as (process, client):
            client.put("/v1/indexes/notes/uploads/a.txt", content=b"Ada Quill wrote to Otto Brand.")
            fake.change(latency=HELD)
            job = client.post("/v1/indexes/notes/jobs", json={"kind": "build"}).json()["id"]
            with client.stream("GET", f"/v1/indexes/notes/jobs/{job}/events") as stream:
                lines = stream.iter_lines()
                next(lines)
                process.send_signal(signal.SIGTERM)
                for _ in lines:
                    pass
                process.wait(LIMIT)
            assert '"running"' in (root / "admin" / "jobs" / job / "job.json").read_text()
