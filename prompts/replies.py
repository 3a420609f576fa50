"""Replies by what was asked: no model is paid twice for one question.

The key is the hash of all that shapes a reply: the model's name, the messages, the form asked for, the bounds, the
temperature and the number of the sample. Not of where the server is: a model that moves keeps its replies.
"""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prompts.llm import Reply, Request
from storage.errors import IndexUnusable
from storage.hashing import digest
from storage.memo import Memo

KIND = "reply"


def reply_key(request: Request, model: str, max_tokens: int, schema: str) -> str:
    """Return the name under which the reply to a request is remembered; neither step nor sources change it."""
    messages = [[each.role, each.content] for each in request.messages]
    shape = [model, messages, schema, max_tokens, request.temperature, request.sample]
    return digest(json.dumps(shape, ensure_ascii=False))


@dataclass(frozen=True, slots=True)
class _New:
    key: str
    reply: Reply
    sources: Sequence[str]
    written: "asyncio.Future[None]"


class ReplyMemo:
    """Replies on disk. Writes that come while one is under way go together in the next: it belongs to one loop."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._new: list[_New] = []
        self._writer: asyncio.Task[None] | None = None

    async def get(self, key: str) -> Reply | None:
        """Return the reply remembered under a key, marked as such."""
        value = self._memo.get_many(KIND, [key]).get(key)
        return None if value is None else _read(value)

    async def put(self, key: str, reply: Reply, sources: Sequence[str]) -> None:
        """Remember a reply; when this returns, it outlives the process."""
        new = _New(key, reply, sources, asyncio.get_running_loop().create_future())
        self._new.append(new)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        await new.written

    async def _write(self) -> None:
        while self._new:
            batch, self._new = self._new, []
            values = {each.key: _written(each.reply) for each in batch}
            sources = {each.key: each.sources for each in batch}
            try:
                await asyncio.to_thread(self._memo.put_many, KIND, values, sources)
            except IndexUnusable as error:
                for each in batch:
                    if not each.written.done():
                        each.written.set_exception(error)
            else:
                for each in batch:
                    if not each.written.done():
                        each.written.set_result(None)
        self._writer = None


def _written(reply: Reply) -> bytes:
    kept = [reply.text, reply.model, reply.finish, reply.prompt_tokens, reply.completion_tokens, reply.estimated]
    return json.dumps(kept, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _read(value: bytes) -> Reply:
    return replace(Reply(*json.loads(value.decode("utf-8", "surrogatepass"))), remembered=True)
