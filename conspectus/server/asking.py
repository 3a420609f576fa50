"""Routes that ask: an answer, passages, or why passages were found. They are POST, so no question is in an address."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse

from conspectus.query.types import Answer
from conspectus.render.answers import explanation_json
from conspectus.server.bodies import Answered, Ask, Explain, Explained, Found, Retrieve, answered
from conspectus.server.guard import Refused, error_body
from conspectus.server.questions import Gone
from conspectus.server.served import Version
from conspectus.server.service import Service

KEEP_ALIVE = 15.0
"""Seconds after which a stream that says nothing sends a comment, so that proxies keep it open."""
FIRST = 10.0
"""Seconds in which a refusal still becomes a status instead of an event in the stream."""

IndexName = Annotated[str, Path(description="a name of /v1/indexes", max_length=200)]
Say = Callable[[str], None]
Result = tuple[Answer, Version]

router = APIRouter(tags=["asking"])


def service_of(request: Request) -> Service:
    """Return what the application answers with."""
    service: Service = request.app.state.service
    return service


def leaves(request: Request) -> Gone:
    """Return what waits until the client has gone."""

    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return wait


@router.post(
    "/v1/indexes/{index}/ask", response_model=Answered, responses={200: {"content": {"text/event-stream": {}}}}
)
async def ask(request: Request, response: Response, index: IndexName, asked: Ask) -> Any:  # noqa: ANN401  (a stream passes as it is)
    """Answer a question, citing the documents.

    With `stream` (or `Accept: text/event-stream`) the answer comes as server-sent events: `text` with each piece as a
    model writes it, then `citations`, `steps`, `usage`, and `answer` with the whole; or `error`.
    """
    service, caller = service_of(request), request.state.caller
    if asked.stream or "text/event-stream" in request.headers.get("accept", ""):
        stream = Streamed(lambda say: service.ask(caller, index, asked, leaves(request), say))
        await stream.begin()
        return _events(request, index, stream)
    answer, version = await service.ask(caller, index, asked, leaves(request))
    response.headers["conspectus-version"] = version.name
    return answered(index, version.name, answer)


@router.post("/v1/indexes/{index}/retrieve")
async def retrieve(request: Request, response: Response, index: IndexName, asked: Retrieve) -> Found:
    """Find the best passages for a question, without answering it."""
    evidence, version = await service_of(request).retrieve(request.state.caller, index, asked, leaves(request))
    response.headers["conspectus-version"] = version.name
    return Found(
        index=index,
        version=version.name,
        question=asked.question,
        method=asked.method,
        passages=list(evidence.passages),
        trace=list(evidence.trace),
    )


@router.post("/v1/indexes/{index}/explain")
async def explain(request: Request, response: Response, index: IndexName, asked: Explain) -> Explained:
    """Explain why a method ranks passages as it does."""
    explanation, version = await service_of(request).explain(request.state.caller, index, asked, leaves(request))
    response.headers["conspectus-version"] = version.name
    return Explained(index=index, version=version.name, **explanation_json(explanation))


class Streamed:
    """An answer in the making, piece by piece. Whoever stops reading cancels it."""

    def __init__(self, start: Callable[[Say], Awaitable[Result]]) -> None:
        self._queue: asyncio.Queue[str | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def say(piece: str) -> None:  # called in the question's thread
            loop.call_soon_threadsafe(self._queue.put_nowait, piece)

        self._task = asyncio.ensure_future(start(say))
        self._task.add_done_callback(lambda _: self._queue.put_nowait(None))
        self._held: list[str | None] = []

    async def begin(self) -> None:
        """Wait for the first piece; a question that is refused before raises here, while a status can be sent."""
        try:
            self._held.append(await asyncio.wait_for(self._queue.get(), FIRST))
        except TimeoutError:
            return
        except BaseException:
            self._task.cancel()
            raise
        if self._held == [None]:
            self._task.result()

    async def parts(self) -> AsyncIterator[str | Result | None]:
        """Yield each piece, None where nothing has come for a while, and at the end the answer with its version."""
        try:
            while True:
                try:
                    piece = self._held.pop() if self._held else await asyncio.wait_for(self._queue.get(), KEEP_ALIVE)
                except TimeoutError:
                    yield None
                    continue
                if piece is None:
                    break
                yield piece
            yield await self._task
        finally:
            self._task.cancel()


def stream_response(events: AsyncIterator[str]) -> StreamingResponse:
    """Return server-sent events as a response that no proxy holds back."""
    return StreamingResponse(
        events, media_type="text/event-stream", headers={"cache-control": "no-store", "x-accel-buffering": "no"}
    )


def _events(request: Request, index: str, stream: Streamed) -> StreamingResponse:
    async def events() -> AsyncIterator[str]:
        said = False
        try:
            async for part in stream.parts():
                if part is None:
                    yield ": still at work\n\n"
                elif isinstance(part, str):
                    said = True
                    yield _event("text", part)
                else:
                    answer, version = part
                    whole = answered(index, version.name, answer).model_dump(mode="json")
                    if not said:
                        yield _event("text", answer.text)
                    yield _event("citations", {"citations": whole["citations"], "triples": whole["triples"]})
                    yield _event("steps", whole["trace"])
                    yield _event("usage", whole["usage"])
                    yield _event("answer", whole)
        except Refused as refused:
            yield _event("error", error_body(refused.kind, refused.message, request.state.log["request"]))

    return stream_response(events())


def _event(name: str, data: Any) -> str:  # noqa: ANN401  (any JSON)
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
