"""How tests wait for others: for a condition, with a limit that only bounds a hang, and never for a time to pass."""

import json
import random
import socket
import time
from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from benchmarks.fake_server import FakeRequest, FakeServer

LIMIT = 120.0
"""Seconds after which something is taken never to happen, on a slow machine under load."""


HELD = 600.0
"""Seconds that a fake server keeps a call waiting whose caller is ended, or which is released, before."""


def wait_until(true: Callable[[], object], seconds: float = LIMIT, between: float = 0.02) -> None:
    """Wait until something is true; AssertionError where it does not become so.

    `between` are the seconds until it is asked again: more where asking starts a program.
    """
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not become true in time"
        time.sleep(between)


def free_port() -> int:
    """Return a port that nothing listens on, and that the system gives to nobody who asks for any."""
    while True:
        port = random.SystemRandom().randrange(10_000, 16_000)  # below the range of such ports
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port


class Together:
    """The latency of a fake server whose replies wait until so many requests are in flight at the same time.

    Only requests with some words wait: one that is sent alone would wait for the limit.
    """

    def __init__(self, server: FakeServer, number: int, words: str = "") -> None:
        self._server, self._number, self._words = server, number, words

    def __call__(self, request: FakeRequest) -> float:
        """Return the seconds that a reply waits: none once so many have come together."""
        if self._words not in request.prompt:
            return 0.0
        if self._server.measures.in_flight_peak < self._number:
            return LIMIT
        self._server.release()
        return 0.0


def post_and_leave(url: str, body: Mapping[str, object], come: Callable[[], object]) -> None:
    """Send a request, and hang up before its reply, once something is true: say, that the request has come."""
    parts, content = urlsplit(url), json.dumps(body).encode()
    head = f"POST {parts.path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\n"
    with socket.create_connection((parts.hostname, parts.port), LIMIT) as wire:
        wire.sendall(f"{head}Content-Length: {len(content)}\r\n\r\n".encode() + content)
        wait_until(come)
