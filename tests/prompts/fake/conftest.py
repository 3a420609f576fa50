"""Clients of a fake server: the real openai package, and bare sockets."""

import socket
from collections.abc import Callable, Iterator

import openai
import pytest
from conspectus.prompts.fake import FakeServer

Connect = Callable[..., openai.OpenAI]
Ask = Callable[..., str]


@pytest.fixture(scope="session")
def _client() -> Iterator[openai.OpenAI]:
    """One client for all tests: what takes time to make is the same for all."""
    with openai.OpenAI(base_url="http://127.0.0.1:9/v1", api_key="sk-test", max_retries=0, timeout=10) as client:
        yield client


@pytest.fixture
def connect(_client: openai.OpenAI) -> Connect:
    """Makes a client of a server, without retries unless they are asked for."""

    def make(server: FakeServer, **options: object) -> openai.OpenAI:
        return _client.with_options(base_url=server.url, **options)  # type: ignore[arg-type]

    return make


@pytest.fixture
def ask(connect: Connect) -> Ask:
    """Sends one user message and returns the text of the reply."""

    def send(server: FakeServer, prompt: str, **options: object) -> str:
        messages = [{"role": "user", "content": prompt}]
        reply = connect(server).chat.completions.create(model="m", messages=messages, **options)  # type: ignore
        return reply.choices[0].message.content or ""

    return send


class Wire:
    """A bare connection to a server."""

    def __init__(self, server: FakeServer) -> None:
        host, port = server.origin.removeprefix("http://").split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=5)

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def post(self, body: bytes, path: str = "/v1/chat/completions", extra: str = "") -> None:
        head = f"POST {path} HTTP/1.1\r\nHost: fake\r\nContent-Length: {len(body)}\r\n{extra}\r\n"
        self.send(head.encode() + body)

    def read(self, until: bytes = b"") -> bytes:
        """Return what comes until it ends in the given bytes, or until the server hangs up."""
        got = b""
        while not (until and got.endswith(until)):
            data = self.socket.recv(1 << 16)
            if not data:
                return got
            got += data
        return got

    def close(self) -> None:
        self.socket.close()


@pytest.fixture
def wire() -> Iterator[Callable[[FakeServer], Wire]]:
    """Opens bare connections to a server."""
    opened: list[Wire] = []

    def open_(server: FakeServer) -> Wire:
        opened.append(Wire(server))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()
