"""A server of OpenAI's protocol without a model, on uvicorn."""

import asyncio
import json
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict
from hashlib import blake2b
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import parse_qs

from benchmarks.fake_server.batches import Batches
from benchmarks.fake_server.faults import Faults, Limiter, Limits
from benchmarks.fake_server.habits import Habits
from benchmarks.fake_server.plausible import Plausible
from benchmarks.fake_server.protocol import (
    Feature,
    HttpReply,
    RefusedRequest,
    completion,
    embedding_inputs,
    embeddings,
    route,
    without_features,
)
from benchmarks.fake_server.records import Measures, Recorded
from benchmarks.fake_server.replies import FakeRequest, Replies, ReplyScript, fake_token_count, last_part, truncated

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveCallable, ASGISendCallable, HTTPScope

Latency = float | Callable[[FakeRequest], float]

_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_SLOW_PARTS = 10


class FakeServer:
    """A server on this machine that answers chat completions and embeddings as OpenAI's API does, without a model.

        with FakeServer(replies={"capital of France": "Paris"}, latency=0.2) as server:
            client = openai.OpenAI(base_url=server.url, api_key="any")
            ...
            assert [request.status for request in server.requests] == [200]

    The paths are OpenAI's and Azure's (`/openai/deployments/MODEL/...`); GET /v1/fake/requests returns the records.
    A stopped server can be started again, on the same port and with nothing recorded.

    Args:
        replies: A text, several in turn (the last repeats), a function of the `FakeRequest`, a mapping from regular
            expressions to any of these, `Rule`s, or `Replies`. `Plausible` answers all other requests.
        habits: The family of models whose manner plausible replies have.
        latency: Seconds before a reply, or a function of the request.
        faults: What goes wrong.
        limits: When 429 is answered.
        seed: Seed of the faults and of the habits.
        api_key: The only key that is accepted; None accepts any or none.
        models: The models that exist; empty for any name.
        without: Features that the server lacks.
        unsupported: "refuse" answers 400 to requests for a missing feature, "ignore" ignores the parameter.
        dimensions: Length of embeddings, unless the request says otherwise.
        largest_batch: Most inputs in one embeddings request.
        piece: Characters in a streamed piece.
        piece_delay: Seconds between streamed pieces.
        context: Tokens of a prompt that are read; the beginning of the last message is cut without a word, as Ollama
            does.
        gleaned: Share of texts of which gleaning finds more; see `Plausible`.
        forgets: Keep no body of a request, for runs with more of them than fit into memory.
        host: Address to listen on.
        port: Port to listen on, 0 for a free one.

    Raises:
        OSError: On `start`, if it cannot listen there.
        RuntimeError: On `stop`, if a function passed here raised; that request got no reply.
    """

    def __init__(
        self,
        replies: ReplyScript = None,
        *,
        habits: Habits = "none",
        latency: Latency = 0.0,
        faults: Faults | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        api_key: str | None = None,
        models: Collection[str] = (),
        without: Collection[Feature] = (),
        unsupported: Literal["refuse", "ignore"] = "refuse",
        dimensions: int = 256,
        largest_batch: int = 2048,
        piece: int = 12,
        piece_delay: float = 0.0,
        context: int | None = None,
        gleaned: float = 0.0,
        forgets: bool = False,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self._plausible = Plausible(habits, seed, gleaned)
        self._replies, self._latency = Replies.of(replies, self._plausible), latency
        self._faults, self._limits, self._seed = faults or Faults(), limits or Limits(), seed
        self._api_key, self._models = api_key, models
        self._without, self._ignores = without, unsupported == "ignore"
        self._dimensions, self._largest_batch = dimensions, largest_batch
        self._piece, self._piece_delay = piece, piece_delay
        self._context, self._forgets = context, forgets
        self._host, self._port = host, port
        self._rows: list[Recorded] = []
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen, in a separate thread; `with` does it."""
        self._rows, self._in_flight = [], 0
        self._batches = Batches(self._in_batch)
        self._attempts: Counter[str] = Counter()
        self._limiter = Limiter(self._limits)
        self._broken: Exception | None = None
        self._epoch = time.time() - time.monotonic()  # times are measured on a clock that never jumps
        self._loop, self._released = asyncio.new_event_loop(), asyncio.Event()
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake server", daemon=True)
        self._thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError:
            self._end()
            raise

    def stop(self) -> None:
        """Disconnect all clients and stop listening; `with` does it. The records remain readable."""
        if self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()
            self._end()
            if self._broken is not None:
                raise RuntimeError(f"the fake server could not answer a request: {self._broken!r}") from self._broken

    def change(
        self,
        *,
        replies: ReplyScript | Literal[False] = False,
        habits: Habits | None = None,
        latency: Latency | None = None,
        faults: Faults | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Change the behaviour from the next request on; new limits start afresh."""
        if habits is not None:
            self._plausible = Plausible(habits, self._seed)
        if replies is not False or habits is not None:
            self._replies = Replies.of(None if replies is False else replies, self._plausible)
        self._latency = self._latency if latency is None else latency
        self._faults = faults or self._faults
        if limits is not None:
            self._limits, self._limiter = limits, Limiter(limits)

    def release(self) -> None:
        """Send now the replies that wait for their latency; those to later requests wait again."""
        self._loop.call_soon_threadsafe(self._release)

    def _release(self) -> None:
        self._released.set()
        self._released = asyncio.Event()

    @property
    def origin(self) -> str:
        """The URL without a path, which Azure clients expect as their endpoint."""
        return f"http://{self._host}:{self._port}"

    @property
    def url(self) -> str:
        """The base URL for clients, such as "http://127.0.0.1:41123/v1"."""
        return f"{self.origin}/v1"

    @property
    def requests(self) -> list[Recorded]:
        """All requests so far, in order of arrival."""
        return list(self._rows)

    @property
    def measures(self) -> Measures:
        """Totals over all requests so far."""
        return Measures.of(self.requests)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    async def _listen(self) -> None:
        import uvicorn
        from uvicorn.protocols.http.h11_impl import H11Protocol
        from uvicorn.server import ServerState

        class Protocol(H11Protocol):
            """Gives the application access to its transport, so that it can cut the connection."""

            def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
                self.app_state = {"transport": transport}
                super().connection_made(transport)

        quiet: dict[str, Any] = {"log_config": None, "access_log": False, "server_header": False}
        plain: dict[str, Any] = {"lifespan": "off", "interface": "asgi3", "proxy_headers": False}
        config = uvicorn.Config(self._serve, timeout_keep_alive=3600, **quiet, **plain)
        config.load()
        self._state = ServerState()
        self._listener = await self._loop.create_server(
            lambda: Protocol(config, self._state, {}), self._host, self._port, backlog=1024
        )
        self._port = self._listener.sockets[0].getsockname()[1]

    async def _hang_up(self) -> None:
        self._listener.close()
        for connection in list(self._state.connections):
            connection.transport.abort()
        if self._state.tasks:
            await asyncio.wait(self._state.tasks)

    def _end(self) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None
        self._loop.close()

    async def _serve(self, scope: "HTTPScope", receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
        """Answer one request: an ASGI application."""
        client = _Client(scope, receive, send)
        raw = await client.body()
        if raw is None:
            return None
        if scope["path"] == "/v1/fake/requests":
            start = int(parse_qs(scope["query_string"].decode()).get("from", ["0"])[0])
            records = [asdict(row) for row in self._rows[start:]]
            return await client.send_json({"records": records, "measures": asdict(self.measures)})
        if scope["path"].endswith("/models") and scope["method"] == "GET":
            return await client.send_json({"data": [{"id": name, "object": "model"} for name in self._models or ["m"]]})
        made = self._batches.handle(client.method, scope["path"], client.content_type, raw)
        if made is not None:
            return await client.send_json(made)
        row = self._arrived(client, raw)
        try:
            reply = self._reply(client.method, row)
            await self._send(client, row, reply)
        except Exception as error:  # noqa: BLE001 - `stop` raises it
            self._broken = self._broken or error
            self._finished(row, None)
            await client.disconnect()
        return None

    def _in_batch(self, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """Answer one request of a batch."""
        reply = self._replies.answer(FakeRequest("/v1/chat/completions", body))
        if reply.status != 200:
            refused = RefusedRequest(reply.status, reply.text or "")
            return reply.status, json.loads(refused.reply.parts[0])
        request = FakeRequest("/v1/chat/completions", {**body, "stream": False})
        text = reply.text or ""
        usage = {"prompt_tokens": fake_token_count(request.prompt), "completion_tokens": fake_token_count(text)}
        whole = completion(request, text, reply.finish or "stop", usage, self._piece)
        return 200, json.loads(whole.parts[0])

    def _arrived(self, client: "_Client", raw: bytes) -> Recorded:
        try:
            body = json.loads(raw)
        except ValueError:
            body = None
        body = body if isinstance(body, dict) else None
        now = time.monotonic() + self._epoch
        key = blake2b(raw, digest_size=12).hexdigest()
        row = Recorded(len(self._rows), client.target, body, client.bearer, now, self._attempts[key], key=key)
        self._attempts[key] += 1
        self._in_flight += 1
        self._rows.append(row)
        return row

    def _finished(self, row: Recorded, status: int | None) -> None:
        self._in_flight -= 1
        row.status, row.replied = status, time.monotonic() + self._epoch
        row.body = None if self._forgets else row.body

    async def _send(self, client: "_Client", row: Recorded, reply: HttpReply) -> None:
        """Send a reply altered by its fault; the outcome is recorded before the last byte is sent."""
        if reply.wait > 0 and await client.leaves_within(reply.wait, self._released):
            return self._finished(row, None)
        if row.fault in ("timeout", "drop"):
            await (client.leaves() if row.fault == "timeout" else client.disconnect())
            return self._finished(row, None)
        parts, headers = list(reply.parts), {"content-type": reply.kind, **reply.headers}
        if reply.kind != "text/event-stream":
            headers["content-length"] = str(sum(map(len, parts)))
        if row.fault == "cut":
            parts = parts[: len(parts) // 2] or [parts[0][: len(parts[0]) // 2]]
        await client.start(reply.status, headers)
        for place, part in enumerate(parts):
            if place and reply.gap > 0 and await client.leaves_within(reply.gap):
                return self._finished(row, None)
            is_last = place == len(parts) - 1
            if is_last:
                self._finished(row, reply.status)
            await client.write(part, more=not is_last or row.fault == "cut")
        if row.fault == "cut":
            await client.disconnect(flush=True)
        return None

    def _reply(self, method: str, row: Recorded) -> HttpReply:
        """Return the reply to a request: checks, then limits, then faults, then rules."""
        try:
            endpoint, request = self._checked(method, row)
            texts = [text for _, text in request.messages]
            if endpoint == "embeddings":
                texts = embedding_inputs(request, self._largest_batch)
            row.prompt_tokens = min(sum(map(fake_token_count, texts)), self._context or 10**9)
            self._limit(row)
            wait = self._latency(request) if callable(self._latency) else self._latency
            row.fault = self._faults.draw(request, self._seed)
            if reply := self._instead(row.fault):
                reply.wait = 0.0 if row.fault == "429" else wait
                return reply
            if endpoint == "embeddings":
                reply = embeddings(request, texts, self._dimensions, usage="usage" not in self._without)
                reply.wait = wait
            else:
                reply = self._completion(request, row, wait)
        except RefusedRequest as refused:
            return refused.reply
        reply.headers = {**reply.headers, **self._limiter.headers()}
        return self._spoilt(reply, row.fault)

    def _checked(self, method: str, row: Recorded) -> tuple[str, FakeRequest]:
        """Return the endpoint, and the request as this server understands it."""
        endpoint, deployment = route(method, row.path.partition("?")[0])
        if self._api_key is not None and row.bearer != self._api_key:
            raise RefusedRequest(401, f"Incorrect API key provided: {(row.bearer or '')[:3]}***.", "invalid_api_key")
        if row.body is None:
            raise RefusedRequest(400, "We could not parse the JSON body of your request.")
        body = without_features(row.body, self._without, ignore=self._ignores)
        model = body["model"] = deployment or body.get("model")
        if not model:
            raise RefusedRequest(400, "you must provide a model parameter")
        if self._models and model not in self._models:
            raise RefusedRequest(404, f"The model `{model}` does not exist or you do not have access to it.")
        if endpoint != "embeddings" and not (isinstance(body.get("messages"), list) and body["messages"]):
            raise RefusedRequest(400, "Missing required parameter: 'messages'.")
        request = FakeRequest(row.path, body, row.number, row.attempt)
        over = sum(fake_token_count(text) for _, text in request.messages) - (self._context or math.inf)
        if over > 0:
            cut = last_part(request.last, fake_token_count(request.last) - int(over))
            body = {**body, "messages": [*body["messages"][:-1], {**body["messages"][-1], "content": cut}]}
        return endpoint, FakeRequest(row.path, body, row.number, row.attempt) if over > 0 else request

    def _limit(self, row: Recorded) -> None:
        rejection = self._limiter.take(time.monotonic(), row.prompt_tokens, self._in_flight - 1)
        if rejection is None:
            return
        row.rejected, headers = rejection.limit, self._limiter.headers()
        if rejection.retry_after is None:
            raise RefusedRequest(429, f"Request too large on {row.rejected} per min.", "rate_limit_exceeded", headers)
        headers["retry-after"] = f"{math.ceil(rejection.retry_after * 1000) / 1000:g}"
        raise RefusedRequest(429, f"Rate limit reached on {row.rejected}.", "rate_limit_exceeded", headers)

    def _instead(self, fault: str | None) -> HttpReply | None:
        """Return the response sent instead of a reply; None for no fault, or one that spoils the reply itself."""
        if fault == "html_502":
            return HttpReply(502, [_PAGE], kind="text/html")
        if fault in ("timeout", "drop"):
            return HttpReply(0, [])
        if fault is None or not fault.isdecimal():
            return None
        headers = {} if fault == "500" else {"retry-after": f"{self._faults.retry_after:g}"}
        return RefusedRequest(int(fault), "The server had an error, or is overloaded.", None, headers).reply

    def _spoilt(self, reply: HttpReply, fault: str | None) -> HttpReply:
        """Return the reply altered by the fault."""
        whole = b"".join(reply.parts) if fault in ("bad_json", "slow") else b""
        if fault == "bad_json":
            reply.parts = [json.dumps(whole[: len(whole) * 2 // 3].decode(errors="replace"))[1:-1].encode()]
        elif fault == "slow":
            size = math.ceil(len(whole) / _SLOW_PARTS)
            reply.parts = [whole[start : start + size] for start in range(0, len(whole), size)]
            reply.gap = self._faults.slow_seconds / max(1, len(reply.parts) - 1)
        return reply

    def _completion(self, request: FakeRequest, row: Recorded, wait: float) -> HttpReply:
        scripted = self._replies.answer(request)
        wait = wait if scripted.latency is None else scripted.latency
        text, finish = scripted.text, scripted.finish
        if scripted.status >= 400:
            reply = RefusedRequest(scripted.status, text or "The request failed.").reply
            reply.wait = wait
            return reply
        if row.fault in self._faults.spoilers and text is not None:
            text = self._faults.spoilers[str(row.fault)](text)
        limit = request.max_tokens
        if text and limit is not None and fake_token_count(text) > limit:
            text, finish = truncated(text, limit), finish or "length"
        row.completion_tokens = fake_token_count(text or "") + fake_token_count(scripted.reasoning)
        self._limiter.completed(time.monotonic(), row.completion_tokens)
        usage = {"prompt_tokens": row.prompt_tokens, "completion_tokens": row.completion_tokens}
        told = None if "usage" in self._without else usage
        reply = completion(request, text, finish or "stop", told, self._piece, scripted.reasoning)
        reply.wait, reply.gap = wait, self._piece_delay
        return reply


class _Client:
    """The client of one ASGI request, and its transport."""

    def __init__(self, scope: "HTTPScope", receive: "ASGIReceiveCallable", send: "ASGISendCallable") -> None:
        self._receive, self._send = receive, send
        self._transport: asyncio.Transport = scope["state"]["transport"]
        self.method = scope["method"]
        query = scope["query_string"].decode()
        self.target = f"{scope['path']}?{query}" if query else scope["path"]
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        scheme, _, key = headers.get(b"authorization", "").partition(" ")
        self.content_type = headers.get(b"content-type", "")
        self.bearer = key.strip() if scheme.lower() == "bearer" else headers.get(b"api-key")

    async def body(self) -> bytes | None:
        """Return the body, None if the client left before it was complete."""
        raw = b""
        while (message := await self._receive())["type"] == "http.request":
            raw += message["body"]
            if not message["more_body"]:
                return raw
        return None

    async def leaves(self) -> None:
        """Wait until the client has disconnected."""
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def leaves_within(self, seconds: float, released: asyncio.Event | None = None) -> bool:
        """Wait, at most until the event, and return whether the client disconnected in that time."""
        leaves = asyncio.ensure_future(self.leaves())
        others = [] if released is None else [asyncio.ensure_future(released.wait())]
        try:
            await asyncio.wait([leaves, *others], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return leaves.done()
        finally:
            for each in (leaves, *others):
                each.cancel()

    async def disconnect(self, *, flush: bool = False) -> None:
        """Close the connection; `flush` sends pending data first."""
        (self._transport.close if flush else self._transport.abort)()
        await self.leaves()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """Send the head of a reply."""
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs, "trailers": False})

    async def write(self, data: bytes, *, more: bool) -> None:
        """Send a part of the body."""
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    async def send_json(self, payload: object) -> None:
        """Send a whole reply: JSON, or the bytes of a file."""
        is_file = isinstance(payload, bytes)
        await self.start(200, {"content-type": "application/octet-stream" if is_file else "application/json"})
        await self.write(payload if isinstance(payload, bytes) else json.dumps(payload).encode(), more=False)
