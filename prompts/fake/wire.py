"""HTTP/1.1 connections that can be cut off at will."""

import asyncio
from collections.abc import Callable, Mapping, MutableSet
from dataclasses import dataclass
from typing import Literal, cast

import h11

Ending = Literal["whole", "cut", "drop", "never"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A whole request. The names of headers are in lower case."""

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes


def _nothing(_: bool) -> None:
    pass


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A reply, and how it is sent.

    `parts` are sent one by one, `gap` seconds apart, the first `wait` seconds after the request. Where it is
    `streamed` they are chunks, else together a body with a Content-Length. The `ending` is "whole"; "cut" sends half
    and closes; "drop" closes before the headers; "never" sends nothing until the client gives up. `done` is called
    once: just before the last byte is sent, or with False when none will be.
    """

    status: int
    parts: tuple[bytes, ...]
    headers: tuple[tuple[str, str], ...] = ()
    kind: str = "application/json"
    streamed: bool = False
    wait: float = 0.0
    gap: float = 0.0
    ending: Ending = "whole"
    done: Callable[[bool], None] = _nothing


class Connection(asyncio.Protocol):
    """One client's connection: requests come one after another and are answered in order."""

    def __init__(self, answer: Callable[[Incoming], Outgoing], connections: MutableSet["Connection"]) -> None:
        self._answer = answer
        self._connections = connections
        self._wire = h11.Connection(h11.SERVER)
        self._head: h11.Request | None = None
        self._body: list[bytes] = []
        self._reply: Outgoing | None = None
        self._task: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Note a new client."""
        self._transport = cast(asyncio.Transport, transport)
        self._connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop answering a client that is gone."""
        self._connections.discard(self)
        if self._task is not None:
            self._task.cancel()
        self._end(False)

    def close(self) -> None:
        """Hang up."""
        self._transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read what came, and answer if it completes a request."""
        self._wire.receive_data(data)
        if self._reply is None:
            self._advance()

    def _advance(self) -> None:
        try:
            while True:
                event = self._wire.next_event()
                if isinstance(event, h11.Request):
                    self._head, self._body = event, []
                    if self._wire.they_are_waiting_for_100_continue:
                        self._write(h11.InformationalResponse(status_code=100, headers=[]))
                elif isinstance(event, h11.Data):
                    self._body.append(bytes(event.data))
                elif isinstance(event, h11.EndOfMessage):
                    if not self._respond():
                        return
                else:
                    return
        except h11.RemoteProtocolError as error:
            if self._wire.our_state in (h11.IDLE, h11.SEND_RESPONSE):
                self._send_whole(Outgoing(error.error_status_hint, (str(error).encode(),), kind="text/plain"))
            self._transport.close()

    def _respond(self) -> bool:
        """Answer the request that is complete; False where that takes time."""
        assert self._head is not None
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in self._head.headers}
        target = self._head.target.decode("latin-1")
        reply = self._answer(Incoming(self._head.method.decode(), target, headers, b"".join(self._body)))
        self._reply = reply
        if reply.wait <= 0 and reply.ending == "whole" and (reply.gap <= 0 or len(reply.parts) == 1):
            self._send_whole(reply)
            return self._next()
        self._task = asyncio.get_running_loop().create_task(self._play(reply))
        return False

    def _end(self, sent: bool) -> None:
        """Say that the reply is over, once."""
        reply, self._reply = self._reply, None
        if reply is not None:
            reply.done(sent)

    def _next(self) -> bool:
        """Get ready for the next request on this connection; False where there will be none."""
        self._task = None
        if self._wire.our_state is h11.DONE and self._wire.their_state is h11.DONE:
            self._wire.start_next_cycle()
            return True
        self._transport.close()
        return False

    def _write(self, event: h11.Event) -> None:
        self._transport.write(self._wire.send(event) or b"")

    def _opening(self, reply: Outgoing) -> bytes:
        length = (
            ("transfer-encoding", "chunked") if reply.streamed else ("content-length", str(sum(map(len, reply.parts))))
        )
        headers = [("content-type", reply.kind), length, *reply.headers]
        response = h11.Response(status_code=reply.status, headers=headers, reason=_REASONS.get(reply.status, b""))
        return self._wire.send(response) or b""

    def _send_whole(self, reply: Outgoing) -> None:
        data = [self._opening(reply)]
        data += [self._wire.send(h11.Data(data=part)) or b"" for part in reply.parts]
        data.append(self._wire.send(h11.EndOfMessage()) or b"")
        self._end(True)
        self._transport.write(b"".join(data))

    async def _play(self, reply: Outgoing) -> None:
        """Send a reply that takes time or is cut off."""
        if reply.wait > 0:
            await asyncio.sleep(reply.wait)
        if reply.ending == "never":
            await asyncio.get_running_loop().create_future()
        if reply.ending == "drop":
            self._end(False)
            self._transport.abort()
            return
        if reply.ending == "cut":
            await self._send_half(reply)
            return
        if reply.gap <= 0:
            self._send_whole(reply)
        else:
            self._transport.write(self._opening(reply))
            for place, part in enumerate(reply.parts):
                if place:
                    await asyncio.sleep(reply.gap)
                if place == len(reply.parts) - 1:
                    self._end(True)
                self._write(h11.Data(data=part))
            self._write(h11.EndOfMessage())
        if self._next():
            self._advance()

    async def _send_half(self, reply: Outgoing) -> None:
        parts = reply.parts[: max(1, len(reply.parts) // 2)]
        if len(parts) == len(reply.parts):
            parts = (parts[0][: len(parts[0]) // 2],)
        self._transport.write(self._opening(reply))
        for place, part in enumerate(parts):
            if place and reply.gap > 0:
                await asyncio.sleep(reply.gap)
            self._write(h11.Data(data=part))
        self._end(True)
        self._transport.close()


_REASONS = {
    200: b"OK",
    400: b"Bad Request",
    401: b"Unauthorized",
    404: b"Not Found",
    405: b"Method Not Allowed",
    429: b"Too Many Requests",
    500: b"Internal Server Error",
    502: b"Bad Gateway",
    503: b"Service Unavailable",
}
