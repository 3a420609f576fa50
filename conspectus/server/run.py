"""Run the server: listen, say where, answer until told to stop."""

import asyncio
import socket
from collections.abc import Callable, Collection, Sequence

import uvicorn
from starlette.types import ASGIApp

from conspectus.server.app import create_app, watch
from conspectus.server.callers import Caller, Callers, is_loopback
from conspectus.server.guard import Log, log_line
from conspectus.server.mcp_tools import serve_stdio
from conspectus.server.metrics import Metrics
from conspectus.server.questions import Questions
from conspectus.server.served import Served
from conspectus.server.service import Service
from conspectus.storage.errors import UsageError

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
STOP_SECONDS = 30
"""How long requests may go on after the server was told to stop."""
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  (they are never taken as names)


def run(
    indexes: Sequence[Served],
    callers: Callers,
    host: str,
    port: int,
    allowed: Collection[str],
    *,
    at_once: int,
    waiting: int,
    seconds: float,
    say: Callable[[str], None],
    log: Log = log_line,
) -> None:
    """Answer requests until the process is told to stop.

    Args:
        indexes: What is served.
        callers: Who may ask.
        host: The address to listen at.
        port: The port; 0 for a free one.
        allowed: Names besides those of this machine and `host` that requests may use.
        at_once: Questions that run at the same time.
        waiting: Questions that may wait.
        seconds: The longest time of a question.
        say: Called with where the server listens.
        log: Called with each line of the log.

    Raises:
        UsageError: Nothing can listen there.
    """
    hosts = {*LOOPBACK_NAMES, *allowed, *({host} - _EVERY_ADDRESS)}
    app = create_app(indexes, callers, hosts, Questions(at_once, waiting, seconds), log=log)
    with listening(host, port) as opened:
        bound = opened.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        say(f"conspectus: http://{shown}:{bound} answers for {', '.join(one.name for one in indexes)}")
        if not is_loopback(host) and not allowed and host in _EVERY_ADDRESS:
            say("conspectus: requests by other names than localhost are refused; see --allow-host")
        uvicorn.Server(configuration(app)).run(sockets=[opened])


def run_stdio(index: Served, access: tuple[str, ...] | None) -> None:
    """Give an agent tools over standard input and output until the input ends.

    Args:
        index: What the tools read.
        access: The access tags that the agent holds; None for all documents.
    """
    service = Service({index.name: index}, Questions(4, 16, 120.0), Metrics(), tokens=False)
    asyncio.run(serve_stdio(service, Caller("stdio", access), lambda: watch(service, log_line)))


def configuration(app: ASGIApp) -> uvicorn.Config:
    """Return how uvicorn runs the application: no log of its own, no trust in headers of proxies."""
    return uvicorn.Config(
        app,
        http="h11",
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens; UsageError where that cannot be."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(256)
    except OSError as error:
        raise UsageError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
    return opened
