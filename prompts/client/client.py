"""The language model of the settings: its replies are remembered, and its calls limited, metered and budgeted."""

import logging
import os
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from conspectus.prompts.client.batch import Outbox
from conspectus.prompts.client.capabilities import Capabilities, requested_schema
from conspectus.prompts.client.completions import StreamedCompletion, TokenRate, read_completion
from conspectus.prompts.client.event_loop import cached_per_process, run_on_call_loop
from conspectus.prompts.client.model_file import url_of
from conspectus.prompts.client.reply_cache import ReplyMemo, SingleFlight, reply_key, step_source
from conspectus.prompts.client.retry import BadRequest, TimedOut
from conspectus.prompts.client.server import Address, Call, ModelServer, Parsed, open_server
from conspectus.prompts.client.usage_and_cost import (
    Meter,
    Recording,
    Reservation,
    Spending,
    TokenBudget,
    cost,
    most_prompt_tokens,
    recording,
)
from conspectus.prompts.client.window import Window, cut_to, is_cut, refused_for, window_of
from conspectus.prompts.language_model import Reply, Request, another_try
from conspectus.prompts.render import render, replace_prompts
from conspectus.prompts.replies.runaway import Runaway, longest_reply
from conspectus.prompts.replies.thinking import ALL_REASONING, why_unusable
from conspectus.storage.errors import IndexUnusable, ModelRefused, NeedsModel, SettingsError
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings
from conspectus.storage.tracing import span

PATH = "/chat/completions"
_UNEVEN = 1.1
"""Some prompts have this many times the usual tokens per byte."""
_log = logging.getLogger("conspectus")


class ModelClient:
    """A model behind a server: a `LanguageModel`. Safe to share between threads and event loops.

    The client enforces the budget of its settings, so make one per run. Concurrent identical requests are sent once.

    Args:
        settings: Section `llm`.
        memo: Where replies are remembered; None disables the memo.
        address: The server, if not the one of the settings.
        outbox: Takes requests without a remembered reply instead of the server; they raise Deferred.

    Attributes:
        meter: What this client has spent.
        on_text: Gets the text of replies piece by piece, in another thread: `conspectus doctor` times them.

    Raises:
        NeedsModel: The settings name no model.
        SettingsError: A key, or a price for the budget, is missing.

    Example:
        model = ModelClient(LlmSettings(model="llama3.1", base_url="http://localhost:11434/v1"))
        reply = await model.complete(Request((Message("user", "Who was Ada Lovelace?"),), step="answer"))
        print(reply.text, model.meter.total())
    """

    def __init__(
        self,
        settings: LlmSettings,
        memo: Memo | None = None,
        address: Address | None = None,
        outbox: Outbox | None = None,
    ) -> None:
        if not settings.model:
            raise NeedsModel("no language model is configured: set llm.model (and llm.base_url, unless it is OpenAI's)")
        self._settings = settings
        models = {settings.model, *settings.step_models.values()}
        self._windows = {model: window_of(settings.model_copy(update={"model": model})) for model in models}
        self._servers = {model: self._server(model, address) for model in models}
        self._cut: set[str] = set()
        self._only_thought: set[str] = set()
        self._memo = ReplyMemo(memo) if memo else None
        self._outbox = outbox
        self._budget = TokenBudget(
            settings.max_tokens, settings.max_cost, settings.prices, models, resumable=memo is not None
        )
        form = settings.structured_output
        first = Capabilities("json_schema" if form == "auto" else form, extra=settings.extra)
        self._capabilities = dict.fromkeys(models, first)
        self._rates: dict[tuple[str, str], TokenRate] = defaultdict(TokenRate)
        self._running: SingleFlight[Reply] = SingleFlight()
        self._memo_error: IndexUnusable | None = None
        self.meter = Meter()
        self.on_text: Callable[[str], None] | None = None
        for model, refusal in outbox.refusals if outbox else ():
            if model in models:
                with suppress(BadRequest):  # it is about something else
                    self._lower(model, self._capabilities[model], BadRequest(refusal, refusal))

    def _server(self, model: str, address: Address | None) -> ModelServer:
        """Return the server of a model: a model file has its own."""
        address = address or llm_address(self._settings.model_copy(update={"model": model}))
        slots = self._windows[model].slots
        return open_server(replace(address, concurrency=min(address.concurrency, slots)) if slots else address)

    async def complete(self, request: Request) -> Reply:
        """Return the reply to a request.

        Raises:
            ModelRefused: The server refuses the request.
            ModelUnavailable: There is no reply after `llm.attempts` attempts.
            BudgetReached: The budget does not allow the call.
            IndexUnusable: The memo cannot be read or written.
        """
        return await run_on_call_loop(self._complete(request, recording()))

    async def remember(self, request: Request, reply: Reply) -> None:
        """Remember a reply as the one to this request, replacing the remembered one."""
        if self._memo:
            key = self._prepared(request).key
            await run_on_call_loop(self._memo.replace(key, reply, _sources(request)))

    def capabilities(self, model: str) -> Capabilities:
        """Return what is known so far of the capabilities of a model's server."""
        return self._capabilities[model]

    async def _complete(self, request: Request, record: Recording) -> Reply:
        """Return the remembered reply, or that of the server."""
        call = self._prepared(request)
        reply = await self._memo.get(call.key) if self._memo and not request.fresh else None
        is_own = False
        if reply is None:
            key = f"{call.key} fresh" if request.fresh else call.key
            reply, is_own = await self._running.get(key, lambda: self._fetch(call, record))
        if not is_own:
            self._account(Spending(request.step, call.model, remembered=1), record)
        return reply

    async def _fetch(self, prepared: "_Prepared", record: Recording) -> Reply:
        """Return the server's reply, and remember it."""
        rate = self._rates[prepared.model, prepared.request.step]
        if self._outbox:
            body = self._capabilities[prepared.model].body(prepared.request, prepared.model, prepared.max_tokens)
            step, sources = prepared.request.step, _sources(prepared.request)
            raise self._outbox.defer(prepared.key, step, body, prepared.n_bytes, sources)
        whole = prepared
        while True:
            capabilities = self._capabilities[prepared.model]
            prepared = self._fitted(whole, rate)
            call = self._call(prepared, record, capabilities, rate)
            reply = None
            try:
                with span(
                    f"chat {prepared.model}",
                    calls_out=True,
                    gen_ai__operation__name="chat",
                    gen_ai__provider__name="openai",  # the protocol; the server's vendor is unknown
                    gen_ai__request__model=prepared.model,
                    conspectus__step=prepared.request.step,
                ) as told:
                    reply = await self._servers[prepared.model].send(call)
                    told.set(
                        gen_ai__usage__input_tokens=reply.prompt_tokens,
                        gen_ai__usage__output_tokens=reply.completion_tokens,
                    )
            except BadRequest as error:
                if not self._learn_window(prepared, rate, error):
                    self._lower(prepared.model, capabilities, error)
                continue
            except TimedOut:
                if prepared.request.frequency_penalty or self.on_text:
                    raise
                whole = replace(whole, request=another_try(whole.request))
                continue
            finally:
                self._account(self._spending(prepared, call, reply), record)
            self._check_read(prepared, reply)
            rate.learn(prepared.n_bytes, reply)
            if self._memo and not prepared.request.fresh:
                try:
                    await self._memo.put(prepared.key, reply, _sources(prepared.request))
                except IndexUnusable as error:
                    self._memo_error = error  # do not buy replies that cannot be stored
                    raise
            return reply

    def _check_read(self, prepared: "_Prepared", reply: Reply) -> None:
        """Raise an error if the server has read less than was sent; log a reply that is all reasoning."""
        step, sent = prepared.request.step, [message.content for message in prepared.request.messages]
        if not reply.estimated and (whole := is_cut(sent, reply.prompt_tokens)):
            raise ModelRefused(
                f"the server cuts prompts: it has read {reply.prompt_tokens:,} of about {whole:,} tokens of {step}. "
                "Raise its context (Ollama: OLLAMA_CONTEXT_LENGTH, or num_ctx in the Modelfile), or set "
                f"llm.context={reply.prompt_tokens}, to which prompts are then fitted"
            )
        if step not in self._only_thought and why_unusable(reply.text, "") == ALL_REASONING:
            self._only_thought.add(step)
            told = "step %s: %s has only thought, %d tokens without an answer (llm.max_output_tokens, llm.extra)"
            _log.warning(told, step, prepared.model, reply.completion_tokens)

    def _fitted(self, prepared: "_Prepared", rate: TokenRate) -> "_Prepared":
        """Return a request that fits into the model's context: the longest text in it is cut."""
        window, request = self._windows[prepared.model], prepared.request
        if window.of_prompt is None:
            return prepared
        messages = cut_to(request.messages, window.of_prompt / (rate.per_byte * _UNEVEN))
        if messages is None:
            needed = f"the prompt of step {request.step} has about {round(prepared.n_bytes * rate.per_byte)} tokens"
            raise ModelRefused(f"{needed}, and {prepared.model} reads {window.tokens} (llm.context)")
        if messages is not request.messages and request.step not in self._cut:
            self._cut.add(request.step)
            told = "prompts of step %s are cut to the context of %s, %d tokens with the reply (llm.context)"
            _log.warning(told, request.step, prepared.model, window.tokens)
        return replace(
            prepared,
            request=replace(request, messages=messages),
            max_tokens=window.reply(prepared.max_tokens),
            n_bytes=sum(len(message.content.encode()) for message in messages),
        )

    def _learn_window(self, prepared: "_Prepared", rate: TokenRate, error: BadRequest) -> bool:
        """Learn the model's context from a refusal; return whether a shorter prompt can follow."""
        if not (found := refused_for(error.refusal)):
            return False
        before = (self._windows[prepared.model], rate.per_byte)
        self._windows[prepared.model] = replace(before[0], tokens=min(found[0], before[0].tokens or found[0]))
        rate.per_byte = max(rate.per_byte, min(1.0, found[1] / max(prepared.n_bytes, 1)))
        return before != (self._windows[prepared.model], rate.per_byte)

    def window(self, step: str) -> Window:
        """Return what is known of the context of the model that answers a step."""
        return self._windows[self._settings.step_models.get(step, self._settings.model)]

    def _prepared(self, request: Request) -> "_Prepared":
        model = self._settings.step_models.get(request.step, self._settings.model)
        most = self._settings.max_output_tokens
        max_tokens = min(request.max_tokens or most, most)
        messages = tuple(replace(message, content=sendable(message.content)) for message in request.messages)
        request = replace(request, messages=messages)
        schema = requested_schema(request)
        in_words = render("json/schema", schema=schema) if schema else ""
        return _Prepared(
            request,
            model,
            max_tokens,
            n_bytes=sum(len(message.content.encode()) for message in messages),
            most_prompt_tokens=most_prompt_tokens(messages, in_words),
            key=reply_key(request, model, max_tokens, schema, self._settings.extra),
        )

    def _call(
        self, prepared: "_Prepared", record: Recording, capabilities: Capabilities, rate: TokenRate
    ) -> Call[Reply]:
        longest = longest_reply(prepared.request.step, len(prepared.request.messages[-1].content))

        def parse(body: Mapping[str, Any]) -> Parsed[Reply]:
            reply = read_completion(body, prepared.model, prepared.n_bytes, rate)
            dollars = cost(self._settings.prices, prepared.model, reply.prompt_tokens, reply.completion_tokens)
            return Parsed(reply, reply.prompt_tokens + reply.completion_tokens, dollars, reply.estimated)

        def reserve() -> AbstractAsyncContextManager[Reservation]:
            if self._memo_error:
                raise self._memo_error
            return record.reserve(self._budget, prepared.model, prepared.most_prompt_tokens, prepared.max_tokens)

        return Call(
            PATH,
            body=capabilities.body(prepared.request, prepared.model, prepared.max_tokens, stream=True),
            stream=lambda: StreamedCompletion(Runaway(longest), self.on_text),
            expected=rate.expected(prepared.n_bytes, prepared.max_tokens),
            reserve=reserve,
            parse=parse,
        )

    def _lower(self, model: str, used: Capabilities, error: BadRequest) -> None:
        """Lower the capabilities of a model from now on; raise the error if it is about something else."""
        if self._capabilities[model] != used:
            return  # another call has learned it in the meantime
        lowered = used.lowered(error.refusal)
        fixed = self._settings.structured_output != "auto"
        if lowered is None or (fixed and lowered.structured_output != used.structured_output):
            raise error
        self._capabilities[model] = lowered

    def _spending(self, prepared: "_Prepared", call: Call[Reply], reply: Reply | None) -> Spending:
        spent = Spending(
            prepared.request.step,
            prepared.model,
            attempts=call.attempts,
            unconfirmed_tokens=call.unconfirmed * (prepared.most_prompt_tokens + prepared.max_tokens),
        )
        if reply is None:
            return spent
        return replace(
            spent,
            calls=1,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            reasoning_tokens=reply.reasoning_tokens,
            cost=cost(self._settings.prices, prepared.model, reply.prompt_tokens, reply.completion_tokens),
            estimated=reply.estimated,
        )

    def _account(self, spending: Spending, record: Recording) -> None:
        self.meter.add(spending)
        record.add(spending)


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A request with the values derived from it and the settings."""

    request: Request
    model: str
    max_tokens: int
    n_bytes: int
    most_prompt_tokens: int
    key: str


def _sources(request: Request) -> tuple[str, ...]:
    return (*request.sources, step_source(request.step))


def sendable(text: str) -> str:
    """Return a text with U+FFFD for halves of surrogate pairs, which no server accepts."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def llm_address(settings: LlmSettings) -> Address:
    """Return the address of the model in the settings."""
    return Address(
        url_of(settings.model, settings.base_url),
        settings.api_version,
        settings.api_key_variable,
        settings.timeout,
        settings.attempts,
        settings.concurrency,
        settings.requests_per_minute,
        settings.tokens_per_minute,
        headers=tuple(sorted((name, _from_environment(value)) for name, value in settings.headers.items())),
    )


def _from_environment(value: str) -> str:
    """Return a header's value, that of an environment variable if it begins with $."""
    if not value.startswith("$"):
        return value
    try:
        return os.environ[value[1:]]
    except KeyError:
        raise SettingsError(f"the environment has no variable {value[1:]}, which llm.headers names") from None


def open_client(settings: LlmSettings, memo: Path) -> ModelClient:
    """Return the client of these settings: one per process, hence one budget.

    Args:
        settings: Section `llm`.
        memo: The SQLite file that remembers replies. Nothing is remembered if its folder is not writable.

    Raises:
        NeedsModel: The settings name no model.
        SettingsError: A key, or a price for the budget, is missing, or `llm.prompts` cannot be used.
    """
    replace_prompts(settings.prompts)
    folder = next(folder for folder in memo.parents if folder.exists())
    return _client(settings.model_dump_json(), memo if os.access(folder, os.W_OK) else None)


@cached_per_process
def _client(settings: str, memo: Path | None) -> ModelClient:
    return ModelClient(LlmSettings.model_validate_json(settings), Memo(memo) if memo else None)
