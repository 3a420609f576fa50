"""Models that send nothing: one that knows only what is remembered, one that makes the rest up.

Both find a remembered reply exactly as the client does: by the same key of the same request.
"""

from collections.abc import AsyncIterator
from dataclasses import dataclass, replace

from conspectus.pipelines.estimation.made_up import MadeUp
from conspectus.pipelines.estimation.tokens import server_tokens
from conspectus.prompts.client.capabilities import requested_schema
from conspectus.prompts.client.client import sendable
from conspectus.prompts.client.reply_cache import ReplyMemo, reply_key
from conspectus.prompts.client.usage import Meter, Spending, cost
from conspectus.prompts.model import Reply, Request
from conspectus.storage.errors import ModelError
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings


class NotAsked(ModelError):
    """An estimate asks no server, so that what is not remembered stays unknown."""


@dataclass(frozen=True, slots=True)
class Observed:
    """A remembered reply, with the tokens that we count in its prompt."""

    request: Request
    reply: Reply
    prompt_tokens: float


class _Remembering:
    """What both have in common: they look into the memo, count, and keep nothing."""

    def __init__(self, settings: LlmSettings, memo: Memo) -> None:
        self._settings = settings
        self._replies = ReplyMemo(memo)
        self.meter = Meter()

    def stream(self, request: Request) -> AsyncIterator[str]:
        """Refuse: no step of indexing streams."""
        raise NotAsked("an estimate streams nothing")

    async def remember(self, request: Request, reply: Reply) -> None:
        """Remember nothing: an estimate leaves no trace."""

    async def _remembered(self, request: Request) -> Reply | None:
        request = replace(
            request, messages=tuple(replace(each, content=sendable(each.content)) for each in request.messages)
        )
        key = reply_key(request, self._model(request), self._most_tokens(request), requested_schema(request))
        return None if request.fresh else await self._replies.get(key)

    def _model(self, request: Request) -> str:
        return self._settings.step_models.get(request.step, self._settings.model)

    def _most_tokens(self, request: Request) -> int:
        return request.max_tokens or self._settings.max_output_tokens


class Probe(_Remembering):
    """Answers from the memo only; NotAsked for all else. It notes what was remembered, and what was not."""

    def __init__(self, settings: LlmSettings, memo: Memo) -> None:
        super().__init__(settings, memo)
        self.found: list[Observed] = []
        self.unknown: set[str] = set()
        """Digests of the chunks of which some reply is not remembered."""

    async def complete(self, request: Request) -> Reply:
        """Return the remembered reply."""
        reply = await self._remembered(request)
        if reply is None:
            self.unknown.update(request.sources)
            raise NotAsked("not remembered")
        self.found.append(Observed(request, reply, prompt_tokens(request)))
        return reply


class Rehearsed(_Remembering):
    """Answers from the memo, or with a made-up reply, whose tokens and cost it counts as a server would."""

    def __init__(self, settings: LlmSettings, memo: Memo, made_up: MadeUp) -> None:
        super().__init__(settings, memo)
        self._made_up = made_up

    async def complete(self, request: Request) -> Reply:
        """Return a reply of about the length that the model's would have."""
        model = self._model(request)
        reply = await self._remembered(request)
        if reply is not None:
            self.meter.add(Spending(request.step, model, remembered=1))
            return reply
        habits = self._made_up.habits
        text = self._made_up.reply(request)
        asked = round(prompt_tokens(request) * habits.prompt_tokens)
        said = min(round(server_tokens(text) * habits.completion_tokens), self._most_tokens(request))
        dollars = cost(self._settings.prices, model, asked, said)
        self.meter.add(
            Spending(
                request.step, model, calls=1, attempts=1, prompt_tokens=asked, completion_tokens=said, cost=dollars
            )
        )
        return Reply(text, model, "stop", asked, said)


def prompt_tokens(request: Request) -> float:
    """Return about how many tokens a server makes of the messages of a request."""
    return sum(server_tokens(each.content) for each in request.messages)
