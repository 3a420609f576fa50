"""Run the server: listen, announce the URL, and answer until stopped."""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

import uvicorn
from conspectus.server.admin.jobs import Jobs
from conspectus.server.app import create_app, watch
from conspectus.server.connections import MOST_CONNECTIONS, limited_http, most_connections
from conspectus.server.mcp_tools import serve_stdio
from conspectus.server.metrics import Metrics
from conspectus.server.open_indexes import Served
from conspectus.server.request_checks import Log, log_line
from conspectus.server.request_threads import RequestThreads
from conspectus.server.service import READS_AT_ONCE, Service
from conspectus.server.tokens import Caller, Callers, is_loopback
from conspectus.storage.errors import MissingPart, UsageError
from starlette.types import ASGIApp

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
STOP_SECONDS = 5
"""Seconds that responses may take to be sent, and uploads to come, after the server was told to stop and has cancelled
the questions."""
SWITCH_SECONDS = 0.001
"""How long the thread of a question goes on while the server's loop waits for the interpreter (Python: 5 ms)."""
_EVERY_ADDRESS = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  (they are never taken as names)


def run(
    indexes: Sequence[Served],
    callers: Callers,
    host: str,
    port: int,
    allowed: Collection[str],
    *,
    at_once: int,
    seconds: float,
    say: Callable[[str], None],
    log: Log = log_line,
    admin: dict[str, Jobs] | None = None,
) -> None:
    """Answer requests until the process is stopped.

    Args:
        indexes: The indexes to serve.
        callers: The permitted callers.
        host: The address to listen at.
        port: The port; 0 for a free one.
        allowed: Host names that requests may use in addition to those of this machine and `host`.
        at_once: Maximum number of concurrent questions.
        seconds: Timeout of a question.
        say: Called with the URL of the server, and with hints.
        log: Called with each line of the log.
        admin: The jobs of each index, where it can be administered.

    Raises:
        UsageError: The address or port cannot be used.
    """
    send_traces(os.environ)
    sys.setswitchinterval(SWITCH_SECONDS)
    hosts = {*LOOPBACK_NAMES, *allowed, *({host} - _EVERY_ADDRESS)}
    questions = RequestThreads(at_once, seconds)
    service = Service(
        {one.name: one for one in indexes}, questions, Metrics(), callers.needed, admin, shares=callers.several
    )
    app = create_app(service, callers, hosts, log=log)
    most = most_connections(at_once + READS_AT_ONCE, say)
    with listening(host, port) as opened:
        bound = opened.getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        say(f"conspectus: http://{shown}:{bound} answers for {', '.join(one.name for one in indexes)}")
        if admin is not None:
            say("conspectus: whoever has the administrator's token can add and remove documents")
        if not is_loopback(host) and not allowed and host in _EVERY_ADDRESS:
            say("conspectus: requests with host names other than localhost are refused; see --allow-host")
        StoppingServer(configuration(app, most), service).run(sockets=[opened])


class StoppingServer(uvicorn.Server):
    """Cancels questions, and ends the streams of jobs, when it is told to stop: both could last for minutes."""

    def __init__(self, config: uvicorn.Config, service: Service) -> None:
        super().__init__(config)
        self._service = service

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop, as a signal asks."""
        self._service.stop()
        await super().shutdown(sockets)


def send_traces(environment: Mapping[str, str]) -> None:
    """Send spans to the endpoint in OTEL_EXPORTER_OTLP_ENDPOINT; do nothing if it is not set.

    Raises:
        MissingPart: The variable is set, and the exporter of spans is not installed.
    """
    if not environment.get("OTEL_EXPORTER_OTLP_ENDPOINT"):
        return
    try:
        from opentelemetry import trace
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        raise MissingPart(
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, and traces need: pip install 'conspectus[otel]'"
        ) from None
    provider = TracerProvider()
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    trace.set_tracer_provider(provider)


def run_stdio(index: Served, access: tuple[str, ...] | None) -> None:
    """Serve tools to an agent over standard input and output until the input ends.

    Args:
        index: The index that the tools read.
        access: The access tags of the agent; None for all documents.
    """
    service = Service({index.name: index}, RequestThreads(20, 120.0), Metrics(), tokens=False)
    asyncio.run(serve_stdio(service, Caller("stdio", access), lambda: watch(service, log_line)))


def configuration(app: ASGIApp, most: int = MOST_CONNECTIONS) -> uvicorn.Config:
    """Return the configuration of uvicorn: no separate log, no trust in proxy headers, at most so many connections."""
    return uvicorn.Config(
        app,
        http=limited_http(most),
        ws="none",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_graceful_shutdown=STOP_SECONDS,
    )


def listening(host: str, port: int) -> socket.socket:
    """Return a listening socket. Raises UsageError if the address cannot be used."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        opened = socket.socket(family, kind, protocol)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(256)
    except OSError as error:
        raise UsageError(f"cannot listen at {host}, port {port}: {error.strerror}") from error
    return opened
