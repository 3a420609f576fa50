"""Bound the connections of the server: their number, and the time that a client may take to send a request's header.

Without a bound, clients that begin requests and never end them use up the descriptors of the process, before any token
is looked at. A connection without a request in progress must send a whole header within `HEADER_SECONDS`. If there are
too many connections, the one that has waited longest without a request is closed for the new one.
"""

import asyncio
from collections.abc import Callable

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
