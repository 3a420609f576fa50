"""Replies by request: no request is paid for twice, and concurrent identical requests are sent once.

The key is a hash of everything that shapes a reply: the model's name, the messages, the schema, the bounds, the
temperature, the sample number and the version of the prompts. It excludes the server's address, so a model that moves
to another server keeps its cached replies.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from conspectus.prompts.language_model import Reply, Request
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from pydantic import ConfigDict, TypeAdapter, ValidationError

KIND = "reply"
PROMPTS = 2
"""Version of the prompts: increase it to invalidate earlier replies although the prompt text is the same."""

Item = TypeVar("Item")
Result = TypeVar("Result")


def reply_key(request: Request, model: str, max_tokens: int, schema: str, extra: Mapping[str, Any]) -> str:
    """Return the key of the reply to a request; its step and sources do not enter it.

    `extra` is what else the body has (`llm.extra`).
    """
    messages = [[message.role, message.content] for message in request.messages]
    shape = [PROMPTS, model, messages, schema, max_tokens, float(request.temperature), request.sample]
    return digest(json.dumps([*shape, json.dumps(extra, sort_keys=True)] if extra else shape))


def step_source(step: str) -> str:
    """Return the name of a step as a source of its replies."""
    return f"step {step}"


class MicroBatcher(Generic[Item, Result]):
    """Runs blocking work in a thread, one batch at a time: items that arrive meanwhile form the next batch.

    `work` takes items and returns one result for each; an exception goes to all callers of the batch. It belongs to
    one event loop.
    """

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Result]]) -> None:
        self._work = work
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        """Return the result for one item."""
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            (outcome,) = await asyncio.gather(
                asyncio.to_thread(self._work, [item for item, _ in batch]), return_exceptions=True
            )
            for number, (_, done) in enumerate(batch):
                if done.done():  # its caller was cancelled
                    continue
                if isinstance(outcome, BaseException):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome[number])
        self._worker = None


@dataclass(slots=True)
class _Flight(Generic[Result]):
    task: "asyncio.Task[Result]"
    waiting: int = 0


class SingleFlight(Generic[Result]):
    """Shares running work: callers with the same key wait for the same task. It belongs to one event loop."""

    def __init__(self) -> None:
        self._flights: dict[str, _Flight[Result]] = {}

    async def get(self, key: str, start: Callable[[], Coroutine[Any, Any, Result]]) -> tuple[Result, bool]:
        """Return the result, and whether the work was started for this caller. All callers get its exception.

        Work without waiting callers is cancelled.
        """
        flight = self._flights.get(key)
        is_own = flight is None
        if flight is None:
            flight = started = _Flight(asyncio.create_task(start()))
            self._flights[key] = flight
            flight.task.add_done_callback(lambda _: self._forget(key, started))
        flight.waiting += 1
        try:
            return await asyncio.shield(flight.task), is_own
        finally:
            flight.waiting -= 1
            if not (flight.waiting or flight.task.done()):
                self._forget(key, flight)
                flight.task.cancel()

    def _forget(self, key: str, flight: _Flight[Result]) -> None:
        """Forget this work; other work may have started under the key since."""
        if self._flights.get(key) is flight:
            del self._flights[key]


class ReplyMemo:
    """Replies on disk, read and written in batches. It belongs to one event loop; errors are those of `Memo`."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._read = MicroBatcher(self._get_many)
        self._write = MicroBatcher(self._put_many)

    async def get(self, key: str) -> Reply | None:
        """Return the remembered reply, marked as such; IndexUnusable if it is damaged."""
        if (value := await self._read(key)) is None:
            return None
        try:
            row = _ROW.validate_json(value)
        except ValidationError as error:
            raise IndexUnusable(f"the memo {self._memo.path} holds a damaged reply; delete it to go on") from error
        return Reply(*row[:6], remembered=True, reasoning_tokens=row.reasoning_tokens)

    async def put(self, key: str, reply: Reply, sources: Sequence[str]) -> None:
        """Store a reply and its sources durably; an existing reply stays."""
        await self._write((key, reply_row(reply), sources))

    async def replace(self, key: str, reply: Reply, sources: Sequence[str]) -> None:
        """Store a reply and its sources durably in the place of an existing one."""
        await asyncio.to_thread(self._memo.replace_many, KIND, {key: reply_row(reply)}, {key: sources})

    def _get_many(self, keys: Sequence[str]) -> list[bytes | None]:
        found = self._memo.get_many(KIND, keys)
        return [found.get(key) for key in keys]

    def _put_many(self, batch: Sequence[tuple[str, bytes, Sequence[str]]]) -> list[None]:
        rows = {key: row for key, row, _ in batch}
        self._memo.put_many(KIND, rows, {key: sources for key, _, sources in batch})
        return [None] * len(batch)


class _ReplyRow(NamedTuple):
    """The fields of a reply that are stored."""

    text: str
    model: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool
    reasoning_tokens: int = 0


_ROW = TypeAdapter(_ReplyRow, config=ConfigDict(strict=True))


def reply_row(reply: Reply) -> bytes:
    """Return a reply in the memo's format."""
    counts = (reply.prompt_tokens, reply.completion_tokens, reply.estimated, reply.reasoning_tokens)
    return json.dumps((reply.text, reply.model, reply.finish, *counts)).encode("ascii")
