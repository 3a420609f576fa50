"""Replacements for an estimate: a model and an embedder that count instead of calling a server, and a writer that does
nothing.

The cache is read exactly as in a build, under the same keys.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from conspectus.pipelines.estimation.replies import Observed, SyntheticReplies, server_tokens
from conspectus.pipelines.steps.vectors import Embedding, Windows, vector_kind
from conspectus.prompts.client.capabilities import requested_schema
from conspectus.prompts.client.client import sendable
from conspectus.prompts.client.reply_cache import ReplyMemo, reply_key
from conspectus.prompts.client.usage_and_cost import Meter, Spending, cost
from conspectus.prompts.language_model import Reply, Request
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import ModelError
from conspectus.storage.graph.walk_graph import Walk
from conspectus.storage.hashing import digest
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings


class NotRemembered(ModelError):
    """The reply is not cached, and an estimate calls no server."""


class CountingModel:
    """Returns cached replies, which cost nothing, or synthetic ones, whose tokens and cost it counts.

    Without `replies` only the cache is used, and NotRemembered is raised for everything else.
    """

    def __init__(self, settings: LlmSettings, memo: Memo, replies: SyntheticReplies | None = None) -> None:
        self._settings = settings
        self._memo = ReplyMemo(memo)
        self._replies = replies
        self.meter = Meter()
        self.observed: list[Observed] = []
        self.unknown: set[str] = set()
        """Digests of the chunks with a reply that is not cached."""

    async def complete(self, request: Request) -> Reply:
        """Return a reply and count it."""
        name = self._settings.step_models.get(request.step, self._settings.model)
        most = request.max_tokens or self._settings.max_output_tokens
        reply = await self._remembered(request, name, most)
        if reply is not None:
            self.observed.append(Observed(request, reply, _prompt_tokens(request)))
            self.meter.add(Spending(request.step, name, remembered=1))
            return reply
        if self._replies is None:
            self.unknown.update(request.sources)
            raise NotRemembered("not remembered")
        text = self._replies.reply(request)
        asked = round(_prompt_tokens(request) * self._replies.model.prompt_ratio)
        written = min(round(server_tokens(text) * self._replies.model.reply_ratio), most)
        dollars = cost(self._settings.prices, name, asked, written)
        self.meter.add(
            Spending(
                request.step, name, calls=1, attempts=1, prompt_tokens=asked, completion_tokens=written, cost=dollars
            )
        )
        return Reply(text, name, "stop", asked, written)

    def stream(self, request: Request) -> AsyncIterator[str]:  # noqa: ARG002  (the protocol's)
        """Raise NotRemembered: no step of indexing streams."""
        raise NotRemembered("an estimate streams nothing")

    async def remember(self, request: Request, reply: Reply) -> None:
        """Do nothing: an estimate writes no cache."""

    async def _remembered(self, request: Request, name: str, most: int) -> Reply | None:
        if request.fresh:
            return None
        messages = tuple(replace(message, content=sendable(message.content)) for message in request.messages)
        request = replace(request, messages=messages)
        return await self._memo.get(reply_key(request, name, most, requested_schema(request)))


def _prompt_tokens(request: Request) -> float:
    return sum(server_tokens(message.content) for message in request.messages)


@dataclass(frozen=True, slots=True)
class CountingEmbedding(Embedding):
    """Returns cached vectors, and zeros for the texts that an endpoint would embed, which it counts.

    In its meter `calls` is the number of texts, which an endpoint embeds in batches.
    """

    meter: Meter = field(default_factory=Meter)
    _counted: set[str] = field(default_factory=set)

    def _embed(self, texts: Sequence[str], name: str, step: str) -> Vectors:
        keys = [digest(text) for text in texts]
        found = self.memo.get_many(vector_kind(name), keys)
        new = {key: text for key, text in zip(keys, texts, strict=True) if text and key not in self._counted}
        self._counted.update(new)
        tokens = sum(server_tokens(self.model.document_prefix + text) for key, text in new.items() if key not in found)
        pending = sum(key not in found for key in new)
        self.meter.add(
            Spending(step, self.model.model, calls=pending, remembered=len(new) - pending, prompt_tokens=round(tokens))
        )
        zeros = np.zeros(max((len(value) // 4 for value in found.values()), default=1), np.float32)
        return np.stack([np.frombuffer(found[key], np.float32) if key in found else zeros for key in keys])


class NoWriter:
    """A writer of an index that does nothing."""

    def table(self, name: str, rows: Sequence[object]) -> None:
        """Write nothing."""

    def vectors(self, name: str, windows: Windows) -> None:
        """Write nothing."""

    def lexical(self, texts: Sequence[str], languages: Sequence[str]) -> None:
        """Write nothing."""

    def walk(self, walk: Walk) -> None:
        """Write nothing."""
