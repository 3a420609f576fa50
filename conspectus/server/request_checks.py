"""The checks that every request passes before any route, and the headers of every response.

In this order: the Host and the Origin are permitted, the token is known, the body is small and arrives in time. Each
refusal is one JSON error. Errors contain no stack trace, no path and no document text. Each request is one line of the
log, without its question, body, URL or token.
"""

import asyncio
import json
import re
import secrets
import sys
import time
import traceback
from collections.abc import Callable, Collection, MutableMapping
from dataclasses import dataclass
from typing import Any

from conspectus.server.metrics import Metrics
from conspectus.server.tokens import Callers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

OPEN_PATHS = frozenset({"/livez", "/readyz", "/healthz"})
"""Paths that need no token: they report only whether the server works."""
_UPLOAD = re.compile(r"/v1/indexes/[^/]+/uploads/.+")
"""Paths of uploads. Their body is limited while it is written to disk, and is never in memory as a whole."""
PAGE_FILES = "/page/"
"""Path of the page's files. They and the page itself contain no data and need no token."""
_AUTHORITY = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_.-]+)(?::([0-9]{1,5}))?", re.ASCII | re.IGNORECASE)
_HEADERS = {
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
"""Headers added to every response that does not set them itself."""
_VERSION = "conspectus-version"

Log = Callable[[dict[str, object]], None]


def log_line(row: dict[str, object]) -> None:
    """Write one line of JSON to stderr."""
    sys.stderr.write(json.dumps(row, ensure_ascii=True) + "\n")


def host_of(authority: str) -> str | None:
    """Return the host of `host` or `host:port`, in lower case; None for anything else.

    >>> host_of("127.0.0.1:8000"), host_of("[::1]:8000"), host_of("LocalHost")
    ('127.0.0.1', '::1', 'localhost')
    >>> host_of("127.0.0.1:evil"), host_of("[::1]evil"), host_of("user@localhost"), host_of("127.0.0.1:99999")
    (None, None, None, None)
    """
    found = _AUTHORITY.fullmatch(authority)
    if found is None or (found[2] is not None and not 0 < int(found[2]) < 65_536):
        return None
    return found[1].strip("[]").lower()


@dataclass(frozen=True, slots=True)
class Bounds:
    """Limits on a request: the size of its body in bytes, and the seconds within which all of it must arrive."""

    body_bytes: int = 1_000_000
    body_seconds: float = 30.0


class Refused(Exception):
    """A refused request: the status, the kind of error, a message, and additional headers."""

    def __init__(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.kind, self.message, self.headers = status, kind, message, headers or {}


def error_body(kind: str, message: str, request_id: str) -> dict[str, object]:
    """Return the common form of all errors, which clients of OpenAI's API also understand."""
    return {"error": {"type": kind, "code": kind, "message": message, "param": None, "request_id": request_id}}


class Guard:
    """The outermost layer of the application."""

    def __init__(
        self, app: ASGIApp, hosts: Collection[str], callers: Callers, bounds: Bounds, metrics: Metrics, log: Log
    ) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._callers = callers
        self._bounds = bounds
        self._metrics = metrics
        self._log = log

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, method = time.perf_counter(), scope["method"]
        if method == "HEAD":  # routes answer as to GET, and the server below sends no body
            scope = {**scope, "method": "GET"}
        if scope["path"].endswith(("/./", "/../")):  # an id that is only dots, as the page sends it
            scope = {**scope, "path": scope["path"][:-1]}
        row: dict[str, object] = {"request": secrets.token_hex(8)}
        scope.setdefault("state", {}).update(log=row)
        reply = _Reply(send, str(row["request"]))
        try:
            receive = await self._admitted(scope, receive, row)
            await self._app(scope, receive, reply)
        except Refused as refused:
            row["refused"] = refused.kind
            await reply.error(refused.status, refused.kind, refused.message, refused.headers)
        except Exception as error:  # noqa: BLE001  (whatever it is, the client learns nothing of it)
            row["error"] = type(error).__name__
            row["at"] = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)[-3:]]
            await reply.error(500, "internal_error", "something went wrong in the server; its log has the request's id")
        finally:
            seconds = time.perf_counter() - began
            route = getattr(scope.get("route"), "path", "other")
            self._metrics.request(method, route, reply.status, seconds)
            line = {"time": round(time.time(), 3), "method": method, "route": route, "status": reply.status}
            index = {"index": scope.get("path_params", {}).get("index")} if reply.version else {}
            self._log({**line, "seconds": round(seconds, 4), **row, **index, **reply.version})

    async def _admitted(self, scope: Scope, receive: Receive, row: dict[str, object]) -> Receive:
        """Check a request and return a `receive` that yields its body. Raises Refused."""
        authority = _only(scope, "host") or ""
        if (host_of(authority) or "") not in self._hosts:
            raise Refused(421, "unknown_host", "this server does not answer for that Host; see --allow-host")
        origin = _only(scope, "origin")
        if origin is not None and not _same(origin, authority):
            raise Refused(403, "foreign_origin", "requests from pages of other origins are refused")
        path = scope["path"]
        if path not in OPEN_PATHS and path != "/" and not path.startswith(PAGE_FILES):
            caller = self._callers.of(_only(scope, "authorization"))
            if caller is None:
                raise Refused(
                    401, "unauthorized", "a token is needed: Authorization: Bearer ...", {"www-authenticate": "Bearer"}
                )
            scope["state"]["caller"] = caller
            row["caller"] = caller.name
            if caller.administers and scope["method"] == "PUT" and _UPLOAD.fullmatch(path):
                return receive
        return await self._whole_body(scope, receive)

    async def _whole_body(self, scope: Scope, receive: Receive) -> Receive:
        most = self._bounds.body_bytes
        too_large = Refused(413, "too_large", f"the body has more than {most:,} bytes")
        declared = _only(scope, "content-length") or "0"
        if not declared.isascii() or not declared.isdigit():
            raise Refused(400, "bad_request", "Content-Length is not a number")
        if int(declared) > most:
            raise too_large
        parts = bytearray()
        try:
            async with asyncio.timeout(self._bounds.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] != "http.request":
                        break
                    parts += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(parts) > most:
                        raise too_large
        except TimeoutError:
            raise Refused(408, "too_slow", "the body did not arrive in time") from None
        first: list[Message] = [{"type": "http.request", "body": bytes(parts), "more_body": False}]

        async def replay() -> Message:
            return first.pop() if first else await receive()

        return replay


def _only(scope: Scope, name: str) -> str | None:
    """Return the value of a header, or None if it is missing. Raises Refused if it is given twice."""
    found = [value.decode("latin-1") for key, value in scope["headers"] if key == name.encode()]
    if len(found) > 1:
        raise Refused(400, "bad_request", f"the header {name} is given more than once")
    return found[0] if found else None


def _same(origin: str, authority: str) -> bool:
    """Return whether an Origin is this server's own: the same host and port."""
    return origin.lower() in {f"{scheme}://{authority.lower()}" for scheme in ("http", "https")}


class _Reply:
    """Sends a response with the common headers and records its status."""

    def __init__(self, send: Send, request_id: str) -> None:
        self._send = send
        self._request_id = request_id
        self.status = 0
        self.version: dict[str, str] = {}

    async def __call__(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            given = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in message["headers"]}
            self.version = {"version": given[_VERSION]} if _VERSION in given else {}
            extra = {**_HEADERS, "x-request-id": self._request_id}
            added = [(name.encode(), value.encode()) for name, value in extra.items() if name not in given]
            message = {**message, "headers": [*message["headers"], *added]}
        await self._send(message)

    async def error(self, status: int, kind: str, message: str, headers: dict[str, str] | None = None) -> None:
        """Send an error unless a response has started."""
        if self.status:
            return
        body = json.dumps(error_body(kind, message, self._request_id)).encode()
        given = {"content-type": "application/json", "content-length": str(len(body)), **(headers or {})}
        pairs = [(name.encode(), value.encode()) for name, value in given.items()]
        await self({"type": "http.response.start", "status": status, "headers": pairs})
        await self._send({"type": "http.response.body", "body": body})
