"""Clients that begin requests and never end them are closed in time, and keep nobody out."""

import asyncio
import re
import resource
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest
import uvicorn
from conspectus.server.listen import MOST_CONNECTIONS, limited_http, listening, most_connections
from starlette.types import Receive, Scope, Send

from tests.command_line import PROGRAM
from tests.waiting import LIMIT, wait_until

HALF = b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "
MOST = 8
SECONDS = 0.3
ANSWERED: list[str] = []
"""The paths of requests whose answer has begun."""


async def slow(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer after the time that a header may take."""
    if scope["type"] == "http":
        ANSWERED.append(scope["path"])
        await asyncio.sleep(2 * SECONDS)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[uvicorn.Server, int]]:
    """A server with few connections, and its port."""
    config = uvicorn.Config(slow, http=limited_http(MOST, SECONDS), ws="none", lifespan="off", log_config=None)
    with listening("127.0.0.1", 0) as opened:
        found = uvicorn.Server(config)
        thread = threading.Thread(target=found.run, kwargs={"sockets": [opened]}, daemon=True)
        thread.start()
        wait_until(lambda: found.started)
        yield found, opened.getsockname()[1]
        found.should_exit = True
        thread.join(LIMIT)


def begin(port: int, begun: bytes) -> socket.socket:
    """Begin a request."""
    wire = socket.create_connection(("127.0.0.1", port), LIMIT)
    wire.sendall(begun)
    return wire


def is_closed(wire: socket.socket) -> bool:
    """Whether the server closes a connection without an answer."""
    try:
        return wire.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("begun", [b"", HALF])
def test_a_header_must_come_in_time(server: tuple[uvicorn.Server, int], begun: bytes) -> None:
    with begin(server[1], begun) as wire:
        assert is_closed(wire)


def test_the_next_header_of_a_connection_must_come_in_time_too(server: tuple[uvicorn.Server, int]) -> None:
    with begin(server[1], HALF + b"no\r\n\r\n") as wire:
        assert wire.recv(10_000).startswith(b"HTTP/1.1 200"), "the answer may take longer than a header"
        wire.sendall(HALF)
        while (more := wire.recv(10_000)) and more.endswith(b"ok"):
            pass
        assert is_closed(wire)


def test_of_too_many_connections_that_is_closed_which_waits_longest(server: tuple[uvicorn.Server, int]) -> None:
    with ExitStack() as stack:
        answered = len(ANSWERED)
        busy = stack.enter_context(begin(server[1], HALF + b"no\r\n\r\n"))
        wait_until(lambda: len(ANSWERED) > answered)
        first = stack.enter_context(begin(server[1], HALF))
        for _ in range(MOST):
            stack.enter_context(begin(server[1], HALF))
        assert is_closed(first)
        assert httpx.get(f"http://127.0.0.1:{server[1]}/", timeout=LIMIT).text == "ok"
        assert busy.recv(100).startswith(b"HTTP/1.1 200"), "one that is answered is not closed"


def test_the_limit_of_files_is_raised_and_a_low_one_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    limits, told = [1_024, 1_000_000], []
    monkeypatch.setattr(resource, "getrlimit", lambda _: tuple(limits))
    monkeypatch.setattr(resource, "setrlimit", lambda _, new: limits.__setitem__(slice(2), new))
    assert most_connections(100, told.append) == MOST_CONNECTIONS
    assert limits[0] > MOST_CONNECTIONS
    limits[:] = [256, 700]
    assert most_connections(100, told.append) == 700 - 256 - 300
    assert limits == [700, 700]
    assert len(told) == 1
    assert "700 open files (ulimit -n) leaves 144 connections" in told[0]
    limits[:] = [resource.RLIM_INFINITY, resource.RLIM_INFINITY]
    assert most_connections(100, told.append) == MOST_CONNECTIONS


SPIN = """
from conspectus.query.menu import Method

def spin(context):
    while True:
        pass

method = Method("spin", "computes for ever, and never checks whether it should", spin)
"""


@pytest.fixture
def attacked(notes: Path, tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """A server with 1,024 descriptors and a method that never ends, as a process of its own."""
    (tmp_path / "spin.py").write_text(SPIN)
    (tmp_path / "spin-1.dist-info").mkdir()
    (tmp_path / "spin-1.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: spin\nVersion: 1\n")
    (tmp_path / "spin-1.dist-info" / "entry_points.txt").write_text("[conspectus.methods]\nspin = spin:method\n")
    command = ["sh", "-c", f'ulimit -n 1024; PYTHONPATH={tmp_path} exec "$@"', "sh", *PROGRAM]
    with subprocess.Popen(
        [*command, "serve", f"notes={notes}", "--port", "0"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        assert "1024 open files (ulimit -n) leaves 192 connections" in process.stderr.readline()
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        log = threading.Thread(target=process.stderr.read, daemon=True)  # the log must not fill its pipe
        log.start()
        try:
            wait_until(lambda: httpx.get(f"{found[0]}/readyz").status_code == 200)
            yield found[0], process
        finally:
            process.kill()
            log.join(LIMIT)


def test_half_requests_keep_nobody_out(attacked: tuple[str, "subprocess.Popen[str]"]) -> None:
    url, _ = attacked
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(4_096, hard)), hard))
    with ExitStack() as stack:
        for number in range(1_200):
            stack.enter_context(begin(int(url.rpartition(":")[2]), HALF))
            if number % 100 == 99:
                assert httpx.get(f"{url}/livez", timeout=LIMIT).status_code == 200


def test_a_server_stops_whatever_its_questions_do(attacked: tuple[str, "subprocess.Popen[str]"]) -> None:
    url, process = attacked
    answers: list[httpx.Response] = []
    asked = [
        threading.Thread(
            target=lambda: answers.append(
                httpx.post(f"{url}/v1/indexes/notes/ask", json={"question": "Who?", "method": "spin"}, timeout=LIMIT)
            )
        )
        for _ in range(2)
    ]
    for thread in asked:
        thread.start()
    wait_until(lambda: "conspectus_questions_in_flight 2.0" in httpx.get(f"{url}/metrics", timeout=LIMIT).text)
    assert httpx.get(f"{url}/livez", timeout=LIMIT).status_code == 200
    process.send_signal(signal.SIGTERM)
    process.wait(20)
    for thread in asked:
        thread.join()
    assert [(each.status_code, each.json()["error"]["type"]) for each in answers] == [(503, "stopping")] * 2
