"""The language model of the settings: remembered, limited, metered, and within its budget."""

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conspectus.prompts.client.budget import Budget, Reserve, most_prompt_tokens
from conspectus.prompts.client.capabilities import Dialect, wanted_schema
from conspectus.prompts.client.completions import Rate, read_completion
from conspectus.prompts.client.endpoint import Address
from conspectus.prompts.client.event_loop import on_the_loop, once_a_process, the_loop
from conspectus.prompts.client.reply_cache import ReplyMemo, reply_key, step_source
from conspectus.prompts.client.retry import BadRequest
from conspectus.prompts.client.server import Call, Outcome, open_server
from conspectus.prompts.client.single_flight import Shared
from conspectus.prompts.client.usage import Meter, Spending, cost, record
from conspectus.prompts.model import Reply, Request
from conspectus.prompts.render import render
from conspectus.storage.errors import IndexUnusable, NeedsModel
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings

PATH = "/chat/completions"


class ModelClient:
    """A model behind a server. Safe to share between threads and event loops.

    Replies are remembered in `memo` where one is given, and one request made twice at once is sent once. The
    budget is that of this client: make one a run. `address` is where the server is, if not where the settings say.
    NeedsModel where the settings name no model; SettingsError where the server needs a key and there is none, or
    the budget a price.
    """

    def __init__(self, settings: LlmSettings, memo: Memo | None = None, address: Address | None = None) -> None:
        if not settings.model:
            raise NeedsModel("no language model is configured: set llm.model (and llm.base_url, unless it is OpenAI's)")
        self._settings = settings
        self._server = open_server(address or address_of(settings))
        self._memo = ReplyMemo(memo) if memo else None
        models = {settings.model, *settings.step_models.values()}
        self._budget = Budget(settings.max_tokens, settings.max_cost, settings.prices, models, kept=memo is not None)
        wanted = settings.structured_output
        self._dialects = dict.fromkeys(models, Dialect("json_schema" if wanted == "auto" else wanted))
        self._rates: dict[tuple[str, str], Rate] = defaultdict(Rate)
        self._shared: Shared[Reply] = Shared()
        self._unkept: IndexUnusable | None = None
        self.meter = Meter()
        """What this client has spent."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply; ModelRefused, ModelUnavailable or BudgetReached where there is none."""
        spent: list[Spending] = []
        try:
            return await on_the_loop(self._complete(request, spent))
        finally:
            for each in spent:
                record(each)

    async def stream(self, request: Request) -> AsyncIterator[str]:
        """Yield the reply as it is made; a remembered one at once. Errors as for `complete`.

        ModelUnavailable where the server breaks off: what came until then has been yielded, and is not remembered.
        """
        here = asyncio.get_running_loop()
        pieces: asyncio.Queue[str | None] = asyncio.Queue()
        spent: list[Spending] = []

        def hand(piece: str | None) -> None:
            if not here.is_closed():
                here.call_soon_threadsafe(pieces.put_nowait, piece)

        work = asyncio.run_coroutine_threadsafe(self._stream_to(hand, request, spent), the_loop())
        ended = False
        try:
            while (piece := await pieces.get()) is not None:
                yield piece
            ended = True
            await asyncio.wrap_future(work)
        finally:
            work.cancel()
            with suppress(TimeoutError):  # until it is accounted for
                async with asyncio.timeout(1):
                    while not ended:
                        ended = await pieces.get() is None
            for each in spent:
                record(each)

    async def remember(self, request: Request, reply: Reply) -> None:
        """Remember a reply as the one to this request, in the place of the one that is remembered."""
        if self._memo:
            await on_the_loop(self._memo.put(self._asked(request).key, reply, _sources(request), replaces=True))

    def dialect(self, model: str) -> Dialect:
        """Return how a model's server is asked, as far as that is known by now."""
        return self._dialects[model]

    async def _complete(self, request: Request, spent: list[Spending]) -> Reply:
        asked = self._asked(request)
        reply = await self._remembered(asked, spent)
        if reply is None:
            name = f"{asked.key} fresh" if request.fresh else asked.key
            reply, own = await self._shared.get(name, lambda: self._fetch(asked, spent, self._server.post))
            if not own:
                self._account(Spending(request.step, asked.model, remembered=1), spent)
        return reply

    async def _stream_to(self, hand: Callable[[str | None], None], request: Request, spent: list[Spending]) -> None:
        try:
            await self._stream(request, spent, hand)
        finally:
            hand(None)

    async def _stream(self, request: Request, spent: list[Spending], hand: Callable[[str], None]) -> None:
        asked = self._asked(request)
        reply = await self._remembered(asked, spent)
        if reply is None:
            await self._fetch(asked, spent, lambda call: self._server.stream(call, hand), stream=True)
        else:
            hand(reply.text)

    def _asked(self, request: Request) -> "_Asked":
        model = self._settings.step_models.get(request.step, self._settings.model)
        max_tokens = request.max_tokens or self._settings.max_output_tokens
        request = replace(
            request, messages=tuple(replace(each, content=sendable(each.content)) for each in request.messages)
        )
        schema = wanted_schema(request)
        form = render("form/json", schema=schema) if schema else ""
        return _Asked(
            request,
            model,
            max_tokens,
            n_bytes=sum(len(each.content.encode()) for each in request.messages),
            most_prompt_tokens=most_prompt_tokens(request.messages, form),
            key=reply_key(request, model, max_tokens, schema),
        )

    async def _remembered(self, asked: "_Asked", spent: list[Spending]) -> Reply | None:
        reply = await self._memo.get(asked.key) if self._memo and not asked.request.fresh else None
        if reply:
            self._account(Spending(asked.request.step, asked.model, remembered=1), spent)
        return reply

    async def _fetch(self, asked: "_Asked", spent: list[Spending], send: "_Send", *, stream: bool = False) -> Reply:
        rate = self._rates[asked.model, asked.request.step]
        while True:
            dialect = self._dialects[asked.model]
            call = self._call(asked, dialect, rate, stream)
            reply = None
            try:
                reply = await send(call)
            except BadRequest as error:
                self._lower(asked.model, dialect, error)
                continue
            finally:
                self._account(self._spending(asked, call, reply), spent)
            rate.learn(asked.n_bytes, reply)
            await self._keep(asked, reply)
            return reply

    async def _keep(self, asked: "_Asked", reply: Reply) -> None:
        if self._memo and not asked.request.fresh:
            try:
                await self._memo.put(asked.key, reply, _sources(asked.request))
            except IndexUnusable as error:
                self._unkept = error  # what cannot be kept is not bought any more
                raise

    def _call(self, asked: "_Asked", dialect: Dialect, rate: Rate, stream: bool) -> Call[Reply]:
        def read(body: Mapping[str, Any]) -> Outcome[Reply]:
            reply = read_completion(body, asked.model, asked.n_bytes, rate)
            dollars = cost(self._settings.prices, asked.model, reply.prompt_tokens, reply.completion_tokens)
            return Outcome(reply, reply.prompt_tokens + reply.completion_tokens, dollars, reply.estimated)

        return Call(
            PATH,
            body=dialect.parameters(asked.request, asked.model, asked.max_tokens, stream),
            expected=rate.expected(asked.n_bytes, asked.max_tokens),
            reserve=lambda: self._reserve(asked),
            read=read,
        )

    def _reserve(self, asked: "_Asked") -> AbstractAsyncContextManager[Reserve]:
        if self._unkept:
            raise self._unkept
        return self._budget.reserve(asked.model, asked.most_prompt_tokens, asked.max_tokens)

    def _lower(self, model: str, asked_in: Dialect, error: BadRequest) -> None:
        """Ask the model in a weaker dialect from now on; the error, where what it refuses is no matter of dialect."""
        if self._dialects[model] != asked_in:
            return  # another call has learned it in the meantime
        lowered = asked_in.lowered(error.refusal)
        fixed = self._settings.structured_output != "auto"
        if lowered is None or (fixed and lowered.structured_output != asked_in.structured_output):
            raise error
        self._dialects[model] = lowered

    def _spending(self, asked: "_Asked", call: Call[Reply], reply: Reply | None) -> Spending:
        spent = Spending(
            asked.request.step,
            asked.model,
            attempts=call.attempts,
            unconfirmed_tokens=call.unconfirmed * (asked.most_prompt_tokens + asked.max_tokens),
        )
        if reply is None:
            return spent
        return replace(
            spent,
            calls=1,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            cost=cost(self._settings.prices, asked.model, reply.prompt_tokens, reply.completion_tokens),
            estimated=reply.estimated,
        )

    def _account(self, spending: Spending, spent: list[Spending]) -> None:
        self.meter.add(spending)
        spent.append(spending)


_Send = Callable[[Call[Reply]], Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A request with what follows from it and the settings."""

    request: Request
    model: str
    max_tokens: int
    n_bytes: int
    most_prompt_tokens: int
    key: str


def _sources(request: Request) -> tuple[str, ...]:
    return (*request.sources, step_source(request.step))


def sendable(text: str) -> str:
    """Return a text in which halves of surrogate pairs, which no server takes, are U+FFFD."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def address_of(settings: LlmSettings) -> Address:
    """Return where the settings say that the model is."""
    return Address(
        settings.base_url,
        settings.api_version,
        settings.api_key_variable,
        settings.timeout,
        settings.attempts,
        settings.concurrency,
        settings.requests_per_minute,
        settings.tokens_per_minute,
    )


def open_client(settings: LlmSettings, memo: Path) -> ModelClient:
    """Return the client of these settings that remembers in `memo`: one a process, and so one budget.

    Where the memo's folder cannot be written to, nothing is remembered.
    """
    return _client(settings.model_dump_json(), memo if os.access(_existing(memo.parent), os.W_OK) else None)


@once_a_process
def _client(settings: str, memo: Path | None) -> ModelClient:
    return ModelClient(LlmSettings.model_validate_json(settings), Memo(memo) if memo else None)


def _existing(folder: Path) -> Path:
    return next(each for each in (folder, *folder.parents) if each.exists())
