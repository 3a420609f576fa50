"""Replies by what was asked: no model is paid twice for one question.

The key is the hash of all that shapes a reply: the model's name, the messages, the form asked for, the bounds, the
temperature and the number of the sample. Not of where the server is: a model that moves keeps its replies.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from prompts.batched import Batched
from prompts.llm import Reply, Request
from storage.hashing import digest
from storage.memo import Memo

KIND = "reply"


def reply_key(request: Request, model: str, max_tokens: int, schema: str) -> str:
    """Return the name under which the reply to a request is remembered; neither step nor sources change it."""
    messages = [[each.role, each.content] for each in request.messages]
    shape = [model, messages, schema, max_tokens, request.temperature, request.sample]
    return digest(json.dumps(shape))


@dataclass(frozen=True, slots=True)
class _New:
    key: str
    reply: Reply
    sources: Sequence[str]


class ReplyMemo:
    """Replies on disk, read and written many at a time. It belongs to one event loop; IndexUnusable as for `Memo`."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._read = Batched(self._get_many)
        self._write = Batched(self._put_many)

    async def get(self, key: str) -> Reply | None:
        """Return the reply remembered under a key, marked as such."""
        return await self._read(key)

    async def put(self, key: str, reply: Reply, sources: Sequence[str]) -> None:
        """Remember a reply and what it was made from; when this returns, it outlives the process."""
        await self._write(_New(key, reply, sources))

    def _get_many(self, keys: Sequence[str]) -> list[Reply | None]:
        found = self._memo.get_many(KIND, keys)
        return [_reply(found[key]) if key in found else None for key in keys]

    def _put_many(self, batch: Sequence[_New]) -> list[None]:
        values = {each.key: _value(each.reply) for each in batch}
        self._memo.put_many(KIND, values, {each.key: each.sources for each in batch})
        return [None] * len(batch)


def _value(reply: Reply) -> bytes:
    # JSON in ASCII: half a surrogate pair, which a cut-off reply can end in, survives it.
    kept = [reply.text, reply.model, reply.finish, reply.prompt_tokens, reply.completion_tokens, reply.estimated]
    return json.dumps(kept).encode("ascii")


def _reply(value: bytes) -> Reply:
    return replace(Reply(*json.loads(value)), remembered=True)
