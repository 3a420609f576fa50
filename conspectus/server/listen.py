"""Run the server: listen, announce the URL, and answer until stopped.

Connections are bounded in number, and in the time that a client may take to send a request's header: otherwise clients
that begin requests and never end them use up the descriptors of the process, before any token is looked at. If there
are too many, the one that has waited longest without a request is closed for the new one.
"""

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Collection, Mapping, Sequence

import uvicorn
from conspectus.server.admin.jobs import Jobs
from conspectus.server.app import create_app, watch
from conspectus.server.mcp_tools import serve_stdio
from conspectus.server.metrics import Metrics
from conspectus.server.open_indexes import Served
from conspectus.server.request_checks import Log, log_line
from conspectus.server.request_threads import RequestThreads
from conspectus.server.service import READS_AT_ONCE, Service
from conspectus.server.tokens import Caller, Callers, is_loopback
from conspectus.storage.errors import MissingPart, UsageError
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
MOST_CONNECTIONS = 4_096
_OTHER_FILES = 256
"""Descriptors that are left for the files of indexes, calls to models and the rest of the process."""
_FILES_OF_A_REQUEST = 3
"""Descriptors of the event loop that a request has in its thread."""
_FEWEST = 16
_FEW = 256
"""With fewer connections than this, the operator should know."""


def limited_http(most: int, seconds: float = HEADER_SECONDS) -> type[H11Protocol]:
    """Return uvicorn's HTTP protocol, limited to so many connections of one server, and to so many seconds a header.

    Args:
        most: Maximum number of open connections.
        seconds: Time for a whole header, from the opening of the connection or the end of the response before.
    """
    idle: dict[H11Protocol, asyncio.TimerHandle] = {}  # those without a request in progress, longest waiting first

    class LimitedHttp(H11Protocol):
        """A connection."""

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as uvicorn has it
            super().connection_made(transport)
            self._await_request()
            if len(self.connections) > most:
                next(iter(idle))._drop()  # type: ignore[attr-defined]  # at last this one itself

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()

        def on_response_complete(self) -> None:
            super().on_response_complete()  # the next request may have come already
            if self.cycle.response_complete and not self.transport.is_closing():
                self._await_request()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            super().connection_lost(exc)

        def _await_request(self) -> None:
            self._stop_waiting()
            idle[self] = self.loop.call_later(seconds, self._drop)

        def _stop_waiting(self) -> None:
            if timer := idle.pop(self, None):
                timer.cancel()

        def _drop(self) -> None:
            self._stop_waiting()
            self.connections.discard(self)
            self.transport.abort()

    return LimitedHttp


def most_connections(requests: int, say: Callable[[str], None]) -> int:
    """Return how many connections the limit of open files permits, after raising it as far as it goes.

    Args:
        requests: The maximum number of concurrent requests.
        say: Called with a warning if there are few.
    """
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return MOST_CONNECTIONS
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    reserve = _OTHER_FILES + _FILES_OF_A_REQUEST * requests
    files = MOST_CONNECTIONS + reserve
    if hard != resource.RLIM_INFINITY:
        files = min(files, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    most = max(_FEWEST, min(MOST_CONNECTIONS, files - reserve))
    if most < _FEW:
        say(f"conspectus: the limit of {files} open files (ulimit -n) leaves {most} connections; raise it to 4096")
    return most


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
