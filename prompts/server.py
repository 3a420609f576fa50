"""One server that speaks OpenAI's protocol: the connections to it, when it may be called, and trying again.

A call takes its turn anew for each try: it holds no slot while it waits.
"""

import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from prompts.address import Address
from prompts.budget import Reserve
from prompts.limits import Limiter, Slot
from prompts.loop import once_a_process
from prompts.streams import Pieces, broken_stream
from prompts.tries import TryAgain, judge, pause
from storage.errors import ModelRefused, ModelUnavailable, SettingsError

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

_NO_KEY = "none"
"""What is sent as the key to a server that needs none."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What the body of a reply holds, and what it took; dollars are None where the price is not known."""

    value: Value
    tokens: int
    dollars: float | None


@dataclass(slots=True)
class Call(Generic[Value]):
    """One body to post to `path`.

    `expected` is about how many tokens it takes. `reserve` sets aside the most it can take, for each try. `read`
    turns the body of the reply into its value; it raises TryAgain where the body is not what it should be.
    `attempts` counts the tries, `unconfirmed` those of which no reply came although the server may have worked.
    """

    path: str
    body: Mapping[str, Any]
    expected: float
    reserve: Callable[[], AbstractAsyncContextManager[Reserve]]
    read: Callable[[Mapping[str, Any]], Outcome[Value]]
    attempts: int = 0
    unconfirmed: int = 0
    refusals: int = 0


class ModelServer:
    """A server at an address. It belongs to the loop of `prompts.loop`.

    SettingsError where the address needs a key and the environment holds none.
    """

    def __init__(self, address: Address) -> None:
        self.address = address
        self.openai = connect(address)
        self._limiter = Limiter(
            concurrency=address.concurrency,
            requests_per_minute=address.requests_per_minute,
            tokens_per_minute=address.tokens_per_minute,
            window=address.window,
        )

    async def post(self, call: Call[Value]) -> Value:
        """Return the value of the reply to a call, tried as often as the address allows.

        Raises ModelRefused, ModelUnavailable, or what `reserve` raises.
        """

        async def attempt() -> Value:
            async with self._turn(call) as (slot, reserve):
                body = _json(await self._send(call))
                return _settled(call.read(body), slot, reserve)

        return await self._until_done(call, attempt)

    async def stream(self, call: Call[Value], hand: Callable[[str], None]) -> Value:
        """The same for a call whose body asks for a stream: its pieces are handed on as they come.

        Once a piece has been handed on there is no other try: ModelUnavailable where the stream breaks off.
        """

        async def attempt() -> Value:
            async with self._turn(call) as (slot, reserve):
                pieces = Pieces(hand)
                async with await self._open_stream(call) as chunks:
                    try:
                        async for chunk in chunks:
                            pieces.take(chunk)
                        body = pieces.body()
                    except broken_stream() as error:
                        if pieces.handed:
                            raise ModelUnavailable(f"{self.address.shown} broke off in its reply: {error}") from error
                        raise TryAgain(f"{self.address.shown} broke off: {error}", taken=True) from error
                return _settled(call.read(body), slot, reserve)

        return await self._until_done(call, attempt)

    async def _until_done(self, call: Call[Value], attempt: Callable[[], Awaitable[Value]]) -> Value:
        from tenacity import AsyncRetrying, retry_if_exception_type, stop_after_attempt

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TryAgain),
            wait=pause,
            stop=stop_after_attempt(self.address.attempts),
            reraise=True,
        )
        try:
            return await retrying(attempt)
        except TryAgain as error:
            raise ModelUnavailable(f"gave up after {call.attempts} tries: {error}") from error

    @asynccontextmanager
    async def _turn(self, call: Call[Value]) -> AsyncIterator[tuple[Slot, Reserve]]:
        """Wait until a try of the call may be sent, and account for what becomes of it.

        Errors of the openai package leave it as what they mean: TryAgain or ModelRefused.
        """
        import openai

        async with self._limiter.slot(call.expected, call.refusals) as slot, call.reserve() as reserve:
            call.attempts += 1
            try:
                try:
                    yield slot, reserve
                except openai.APIError as error:
                    if isinstance(error, openai.APIStatusError):
                        self._limiter.learn(error.response.headers)
                    raise judge(error, self.address) from error
            except TryAgain as error:
                if error.taken:
                    call.unconfirmed += 1
                else:
                    slot.refused()
                    reserve.settle(0, 0.0)
                if error.busy:
                    call.refusals += 1
                    self._limiter.pushed_back(error.wait)
                raise
            except ModelRefused:
                slot.refused()
                reserve.settle(0, 0.0)
                raise
            self._limiter.succeeded()

    async def _send(self, call: Call[Value]) -> bytes:
        import httpx2

        # The package's own reading of a body into its types takes longer than all that is done here.
        response = await self.openai.post(call.path, cast_to=httpx2.Response, body=dict(call.body))
        self._limiter.learn(response.headers)
        return response.content

    async def _open_stream(self, call: Call[Value]) -> "openai.AsyncStream[ChatCompletionChunk]":
        from openai import AsyncStream
        from openai.types.chat import ChatCompletionChunk

        return await self.openai.post(
            call.path,
            cast_to=ChatCompletionChunk,
            body=dict(call.body),
            stream=True,
            stream_cls=AsyncStream[ChatCompletionChunk],
        )


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content)
    except ValueError as error:
        raise TryAgain(f"a reply that is no JSON: {content[:200]!r}", taken=True) from error
    if not isinstance(body, dict):
        raise TryAgain(f"a reply that is no JSON object: {content[:200]!r}", taken=True)
    return body


def _settled(outcome: Outcome[Value], slot: Slot, reserve: Reserve) -> Value:
    slot.used(outcome.tokens)
    reserve.settle(outcome.tokens, outcome.dollars)
    return outcome.value


@once_a_process
def open_server(address: Address) -> ModelServer:
    """Return the server at an address: one pool of connections and one limiter a process."""
    return ModelServer(address)


def connect(address: Address) -> "openai.AsyncOpenAI":
    """Return the openai package's client for an address. It does not retry: that is done here.

    SettingsError where a key is needed and the environment variable is not set.
    """
    import openai

    key = os.environ.get(address.api_key_variable)
    if not key and not address.base_url:
        raise SettingsError(
            f"the environment variable {address.api_key_variable} holds no key for {address.shown}; set it, "
            f"or name another server with {address.section}.base_url"
        )
    if address.api_version:
        return openai.AsyncAzureOpenAI(
            api_key=key or _NO_KEY,
            azure_endpoint=address.base_url,
            api_version=address.api_version,
            timeout=address.timeout,
            max_retries=0,
        )
    return openai.AsyncOpenAI(
        api_key=key or _NO_KEY, base_url=address.base_url or None, timeout=address.timeout, max_retries=0
    )
