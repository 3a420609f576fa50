"""Replies by what was asked: no model is paid twice for one question.

The key is the hash of all that shapes a reply: the model's name, the messages, the form asked for, the bounds, the
temperature and the number of the sample. Not of where the server is: a model that moves keeps its replies.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conspectus.prompts.embedding.micro_batch import Batched
from conspectus.prompts.model import Reply, Request
from conspectus.storage.errors import IndexUnusable
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from pydantic import ConfigDict, TypeAdapter, ValidationError

KIND = "reply"


def reply_key(request: Request, model: str, max_tokens: int, schema: str) -> str:
    """Return the name under which the reply to a request is remembered; neither step nor sources change it."""
    messages = [[each.role, each.content] for each in request.messages]
    shape = [model, messages, schema, max_tokens, float(request.temperature), request.sample]
    return digest(json.dumps(shape))


def step_source(step: str) -> str:
    """Return what stands among the sources of a reply for the step that asked."""
    return f"step {step}"


@dataclass(frozen=True, slots=True)
class _New:
    key: str
    reply: Reply
    sources: Sequence[str]
    replaces: bool


class ReplyMemo:
    """Replies on disk, read and written many at a time. It belongs to one event loop; IndexUnusable as for `Memo`."""

    def __init__(self, memo: Memo) -> None:
        self._memo = memo
        self._read = Batched(self._get_many)
        self._write = Batched(self._put_many)

    async def get(self, key: str) -> Reply | None:
        """Return the reply remembered under a key, marked as such; IndexUnusable where it is damaged."""
        found = await self._read(key)
        if isinstance(found, IndexUnusable):
            raise found
        return found

    async def put(self, key: str, reply: Reply, sources: Sequence[str], *, replaces: bool = False) -> None:
        """Remember a reply and what it was made from; when this returns, it outlives the process.

        A reply already remembered stays, unless this one `replaces` it.
        """
        await self._write(_New(key, reply, sources, replaces))

    def _get_many(self, keys: Sequence[str]) -> list[Reply | IndexUnusable | None]:
        found = self._memo.get_many(KIND, keys)
        return [self._reply(found[key]) if key in found else None for key in keys]

    def _reply(self, value: bytes) -> Reply | IndexUnusable:
        try:
            return _KEPT.validate_json(value).reply()
        except ValidationError:
            return IndexUnusable(f"the memo {self._memo.path} holds a damaged reply; delete it to go on")

    def _put_many(self, batch: Sequence[_New]) -> list[None]:
        for put, some in (
            (self._memo.put_many, [each for each in batch if not each.replaces]),
            (self._memo.replace_many, [each for each in batch if each.replaces]),
        ):
            if some:
                put(KIND, {each.key: _value(each.reply) for each in some}, {each.key: each.sources for each in some})
        return [None] * len(batch)


class _Kept(NamedTuple):
    """What is kept of a reply."""

    text: str
    model: str
    finish: str
    prompt_tokens: int
    completion_tokens: int
    estimated: bool

    def reply(self) -> Reply:
        return Reply(*self, remembered=True)


_KEPT = TypeAdapter(_Kept, config=ConfigDict(strict=True))


def _value(reply: Reply) -> bytes:
    kept = _Kept(reply.text, reply.model, reply.finish, reply.prompt_tokens, reply.completion_tokens, reply.estimated)
    return json.dumps(kept).encode("ascii")
