"""SPARQL endpoints for tests: Oxigraph's own server over some Turtle, and servers that reply as a test says."""

import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.metadata import files
from pathlib import Path
from urllib.parse import parse_qs

from tests.waiting import free_port, wait_until

Handle = Callable[[BaseHTTPRequestHandler, str], None]


@contextmanager
def oxigraph_server(folder: Path, turtle: str) -> Iterator[str]:
    """Start the server of the package `oxigraph` over some Turtle; yield the address for queries."""
    [program] = [str(file.locate()) for file in files("oxigraph") or () if file.name in ("oxigraph", "oxigraph.exe")]
    data = folder / "data.ttl"
    data.write_text(turtle, "utf-8")
    store = str(folder / "store")
    subprocess.run([program, "load", "--location", store, "--file", str(data)], check=True, capture_output=True)
    address = f"127.0.0.1:{free_port()}"
    server = subprocess.Popen(
        [program, "serve-read-only", "--location", store, "--bind", address],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(address, server)
        yield f"http://{address}/query"
    finally:
        server.kill()
        server.wait()


def _wait_for(address: str, server: "subprocess.Popen[bytes]") -> None:
    host, _, port = address.partition(":")

    def answers() -> bool:
        assert server.poll() is None, "the server ended"
        with socket.socket() as asking:
            return asking.connect_ex((host, int(port))) == 0

    wait_until(answers)


@contextmanager
def serving(handle: Handle) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            handle(self, parse_qs(body)["query"][0])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/sparql"
    finally:
        server.shutdown()
        server.server_close()


def send(request: BaseHTTPRequestHandler, status: int, body: bytes, **headers: str) -> None:
    request.send_response(status)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)
