"""Stores that indexes are in: a real S3 server in a process of its own, and what is in a store."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import obstore
import pytest
from obstore.store import LocalStore, ObjectStore, S3Store

from tests.waiting import LIMIT, free_port, wait_until

SECRET = "hunter2"


class Server:
    """The S3 server of moto, in a process of its own."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", self.url.rpartition(":")[2]],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_until(self._answers)

    def _answers(self) -> bool:
        assert self.process.poll() is None, "moto ended"
        try:
            return httpx.get(self.url, timeout=LIMIT).is_success
        except httpx.TransportError:
            return False

    def make_bucket(self, name: str) -> None:
        httpx.put(f"{self.url}/{name}", timeout=LIMIT).raise_for_status()


@contextmanager
def seen_requests(server: Server, dropped: str = "") -> Iterator[tuple[str, list[tuple[str, dict[str, str]]]]]:
    """Stand before a server: yield a URL, and the requests there with their headers; one header is not passed on."""
    seen: list[tuple[str, dict[str, str]]] = []

    class Between(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            seen.append((f"{self.command} {self.path}", headers))
            body = self.rfile.read(int(headers.get("content-length", 0)))
            kept = {name: value for name, value in headers.items() if name not in {dropped, "transfer-encoding"}}
            reply = httpx.request(self.command, f"{server.url}{self.path}", headers=kept, content=body, timeout=LIMIT)
            self.send_response(reply.status_code)
            for name, value in reply.headers.items():
                if name.lower() not in {"connection", "transfer-encoding"}:
                    self.send_header(name, value)
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.content)

        do_GET = do_PUT = do_HEAD = do_POST = do_DELETE = _pass_on  # noqa: N815

        def log_message(self, format: str, *args: object) -> None: ...  # noqa: A002

    with ThreadingHTTPServer(("127.0.0.1", 0), Between) as serving:
        threading.Thread(target=serving.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{serving.server_port}", seen
        serving.shutdown()


def on_server(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "AWS_ENDPOINT_URL": url,
        "AWS_ACCESS_KEY_ID": "someone",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


def on_machine(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Go on with another cache, as on another machine."""
    monkeypatch.setenv("CONSPECTUS_CACHE", str(tmp_path / name))


def objects_of(url: str) -> dict[str, bytes]:
    store, root = _opened(url)
    found = [each["path"] for some in obstore.list(store, root) for each in some]
    return {name.removeprefix(f"{root}/"): bytes(obstore.get(store, name).bytes()) for name in found}


def put(url: str, name: str, data: bytes) -> None:
    store, root = _opened(url)
    obstore.put(store, f"{root}/{name}", data)


def delete(url: str, name: str) -> None:
    store, root = _opened(url)
    obstore.delete(store, f"{root}/{name}")


def _opened(url: str) -> tuple[ObjectStore, str]:
    protocol, _, rest = url.partition("://")
    bucket, _, root = rest.partition("/")
    return LocalStore() if protocol == "file" else S3Store(bucket, client_options={"allow_http": True}), root
