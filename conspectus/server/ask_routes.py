"""Routes for questions: an answer, passages, or an explanation. They use POST, so no question appears in a URL."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Annotated, Any

from conspectus.operation_table import ASK, OPERATIONS, Operation
from conspectus.query.step_listeners import Listener
from conspectus.query.types import Step
from conspectus.rows import json_text
from conspectus.server.bodies import ANSWERS, request_of
from conspectus.server.request_checks import Refused, error_body
from conspectus.server.request_threads import Gone
from conspectus.server.service import Called, Service
from fastapi import APIRouter, Path, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

KEEP_ALIVE = 15.0
"""Seconds after which an idle stream sends a comment, so that proxies keep it open."""
FIRST = 10.0
"""Seconds during which a refusal is still sent as an HTTP status instead of an event in the stream."""

IndexName = Annotated[str, Path(description="a name of /v1/indexes", max_length=200)]

router = APIRouter(tags=["asking"])


def service_of(request: Request) -> Service:
    """Return the service of the application."""
    service: Service = request.app.state.service
    return service


def leaves(request: Request) -> Gone:
    """Return a function that waits until the client disconnects."""

    async def wait() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    return wait


def _add(operation: Operation) -> None:
    async def endpoint(request: Request, response: Response, index: IndexName, asked: BaseModel) -> Any:  # noqa: ANN401
        service, caller = service_of(request), request.state.caller
        given = {name: getattr(asked, name) for name in type(asked).model_fields}
        wants_stream = given.pop("stream", False) or "text/event-stream" in request.headers.get("accept", "")
        if wants_stream and operation is ASK:
            stream = AnswerStream(lambda tell: service.call(caller, index, operation, given, leaves(request), tell))
            await stream.begin()
            return _events(request, index, stream)
        found = await service.call(caller, index, operation, given, leaves(request))
        response.headers["conspectus-version"] = found.version.name
        return {"index": index, "version": found.version.name, **found.shown}

    endpoint.__annotations__["asked"] = request_of(operation)
    router.add_api_route(
        f"/v1/indexes/{{index}}/{operation.path}",
        endpoint,
        methods=["POST"],
        name=operation.name,
        description=operation.about + (f"\n\n{_STREAM}" if operation is ASK else ""),
        response_model=ANSWERS[operation.name],
        responses={200: {"content": {"text/event-stream": {}}}} if operation is ASK else None,
    )


_STREAM = """With `stream` (or `Accept: text/event-stream`), the response is a stream of server-sent events: `step` with
each step as it happens, then `answer` with the whole answer, once its sentences are checked; or `error`."""
for _operation in OPERATIONS.values():
    if _operation.asks:
        _add(_operation)


class AnswerStream:
    """The steps of an answer as they happen, then the answer. It is cancelled if the reader stops."""

    def __init__(self, start: Callable[[Listener], Awaitable[Called]]) -> None:
        self._queue: asyncio.Queue[Step | None] = asyncio.Queue()
        loop = asyncio.get_running_loop()

        def tell(step: Step) -> None:  # called in the question's thread
            loop.call_soon_threadsafe(self._queue.put_nowait, step)

        self._task = asyncio.ensure_future(start(tell))
        self._task.add_done_callback(lambda _: self._queue.put_nowait(None))
        self._held: list[Step | None] = []

    async def begin(self) -> None:
        """Wait for the first step; an earlier refusal raises here, while a status can still be sent."""
        try:
            self._held.append(await asyncio.wait_for(self._queue.get(), FIRST))
        except TimeoutError:
            return
        except BaseException:
            self._task.cancel()
            raise
        if self._held == [None]:
            self._task.result()

    async def parts(self) -> AsyncIterator[Step | Called]:
        """Yield each step, and finally the answer with its version."""
        try:
            while (step := self._held.pop() if self._held else await self._queue.get()) is not None:
                yield step
            yield await self._task
        finally:
            self._task.cancel()


def stream_response(events: AsyncGenerator[str, None]) -> StreamingResponse:
    """Return server-sent events as a response that proxies do not buffer, with a comment after each idle period."""

    async def kept() -> AsyncIterator[str]:
        async with aclosing(events):
            coming = asyncio.ensure_future(anext(events, None))
            try:
                while True:
                    done, _ = await asyncio.wait({coming}, timeout=KEEP_ALIVE)
                    if not done:
                        yield ": still at work\n\n"
                    elif (event := coming.result()) is None:
                        return
                    else:
                        yield event
                        coming = asyncio.ensure_future(anext(events, None))
            finally:
                coming.cancel()
                await asyncio.wait({coming})

    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    return StreamingResponse(kept(), media_type="text/event-stream", headers=headers)


def _events(request: Request, index: str, stream: AnswerStream) -> StreamingResponse:
    async def events() -> AsyncGenerator[str, None]:
        try:
            async for part in stream.parts():
                if isinstance(part, Step):
                    yield _event("step", {"name": part.name, "detail": part.detail})
                else:
                    yield _event("answer", {"index": index, "version": part.version.name, **part.shown})
        except Refused as refused:
            yield _event("error", error_body(refused.kind, refused.message, request.state.log["request"]))

    return stream_response(events())


def _event(name: str, data: Any) -> str:  # noqa: ANN401  (any JSON)
    return f"event: {name}\ndata: {json_text(data)}\n\n"
