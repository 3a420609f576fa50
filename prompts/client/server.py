"""One server that speaks OpenAI's protocol: the connections to it, when it may be called, and trying again.

A call takes its turn anew for each try: it holds no slot while it waits.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from conspectus.prompts.client.budget import Reserve
from conspectus.prompts.client.endpoint import OPENAI, Address
from conspectus.prompts.client.event_loop import once_a_process
from conspectus.prompts.client.limits import Limiter, Slot
from conspectus.prompts.client.retry import TryAgain, judge, pause
from conspectus.prompts.client.streams import Pieces, broken_stream
from conspectus.storage.errors import BudgetReached, IndexUnusable, ModelRefused, ModelUnavailable, SettingsError

if TYPE_CHECKING:
    import openai
    from openai.types.chat import ChatCompletionChunk

_NO_KEY = "none"
"""What is sent as the key to a server that needs none."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Outcome(Generic[Value]):
    """What the body of a reply holds, and what it took.

    Dollars are None where the price is not known. `estimated`: the server told no usage, so a budget takes the bound.
    """

    value: Value
    tokens: int
    dollars: float | None
    estimated: bool = False


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
    """A server at an address. It belongs to the loop of `conspectus.prompts.client.event_loop`.

    SettingsError where the address needs a key and the environment holds none.
    """

    def __init__(self, address: Address, key: str) -> None:
        self.address = address
        self.openai = connect(address, key)
        self._key = key
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
                try:
                    async with asyncio.timeout(self.address.timeout):
                        content = await self._send(call)
                except TimeoutError as error:
                    raise TryAgain(f"no whole reply in time from {self.address.shown}", taken=True) from error
                return _settled(call.read(_json(content)), slot, reserve)

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
                        if chunks.response.headers.get("content-type", "").startswith("application/json"):
                            pieces.take_whole(_json(await chunks.response.aread()))  # it does not stream
                        else:
                            async for chunk in chunks:
                                pieces.take(chunk)
                        body = pieces.body()
                    except broken_stream() as error:
                        why = self._without_key(f"{self.address.shown} broke off: {error}")
                        if pieces.handed:
                            raise ModelUnavailable(why) from error
                        raise TryAgain(why, taken=True) from error
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
            raise ModelUnavailable(self._without_key(f"gave up after {call.attempts} tries: {error}")) from error

    def _without_key(self, text: str) -> str:
        """Return a text without the key, which some gateways send back in their errors."""
        return text.replace(self._key, "***") if self._key else text

    @asynccontextmanager
    async def _turn(self, call: Call[Value]) -> AsyncIterator[tuple[Slot, Reserve]]:
        """Wait until a try of the call may be sent, and account for what becomes of it.

        Errors of the openai package leave it as what they mean: TryAgain or ModelRefused.
        """
        import openai

        async with (
            self._limiter.slot(call.expected, call.refusals) as slot,
            _unused_if_not_sent(slot),
            call.reserve() as reserve,
        ):
            call.attempts += 1
            try:
                try:
                    yield slot, reserve
                except openai.APIError as error:
                    if isinstance(error, openai.APIStatusError):
                        self._limiter.learn(error.response.headers)
                    raise judge(error, self.address, self._without_key) from error
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
            except (ModelUnavailable, asyncio.CancelledError):
                call.unconfirmed += 1
                raise
            self._limiter.succeeded()

    async def _send(self, call: Call[Value]) -> bytes:
        import httpx2

        # The package's own reading of a body into its types takes longer than all that is done here.
        response = await self.openai.post(call.path, cast_to=httpx2.Response, body=dict(call.body))
        self._limiter.learn(response.headers)
        content: bytes = response.content
        return content

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
    except (ValueError, RecursionError) as error:
        raise TryAgain(f"a reply that is no JSON: {content[:200]!r}", taken=True) from error
    if not isinstance(body, dict):
        raise TryAgain(f"a reply that is no JSON object: {content[:200]!r}", taken=True)
    return body


def _settled(outcome: Outcome[Value], slot: Slot, reserve: Reserve) -> Value:
    slot.used(outcome.tokens)
    if not outcome.estimated:
        reserve.settle(outcome.tokens, outcome.dollars)
    return outcome.value


@asynccontextmanager
async def _unused_if_not_sent(slot: Slot) -> AsyncIterator[None]:
    try:
        yield
    except (BudgetReached, IndexUnusable):  # before anything was sent
        slot.refused()
        raise


def open_server(address: Address) -> ModelServer:
    """Return the server at an address: one pool of connections and one limiter a process.

    SettingsError where a key is needed and the environment variable holds none that could be one.
    """
    return _server(address, key_of(address))


@once_a_process
def _server(address: Address, key: str) -> ModelServer:
    return ModelServer(address, key)


def key_of(address: Address) -> str:
    """Return the key that the environment holds for an address, "" where none is needed."""
    key = os.environ.get(address.api_key_variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"the environment variable {address.api_key_variable} holds a sign that no key has")
    if not (key or address.base_url):
        raise SettingsError(
            f"the environment variable {address.api_key_variable} holds no key for {address.shown}; set it, "
            f"or name another server with {address.section}.base_url"
        )
    return key


def connect(address: Address, key: str) -> "openai.AsyncOpenAI":
    """Return the openai package's client for an address. It does not retry: that is done here.

    SettingsError where the address, a proxy or a certificate file cannot be used.
    """
    import httpx2
    import openai

    if address.api_version and not address.base_url:
        raise SettingsError(f"{address.section}.api_version is for Azure and needs {address.section}.base_url")
    usual: dict[str, Any] = {"api_key": key or _NO_KEY, "timeout": address.timeout, "max_retries": 0}
    try:
        if address.api_version:
            return openai.AsyncAzureOpenAI(
                azure_endpoint=address.base_url,
                api_version=address.api_version,
                **usual,
            )
        return openai.AsyncOpenAI(base_url=address.base_url or OPENAI, **usual)
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        raise SettingsError(
            f"{address.shown} cannot be reached so ({type(error).__name__}): look at {address.section}.base_url "
            f"and at the environment's proxies and certificates"
        ) from error
