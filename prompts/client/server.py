"""One server that speaks OpenAI's protocol: its address, its connections, when it may be called, and retries.

A call queues anew for each attempt: it occupies no slot while it waits to retry.

A reply that is streamed has no deadline of its own. It is given up if nothing arrives from the server for any call in
`timeout` seconds: a server that works on one request at a time lets the others wait.
"""

import asyncio
import json
import logging
import os
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from conspectus.prompts.client.completions import StreamedCompletion, stream_errors
from conspectus.prompts.client.event_loop import cached_per_process
from conspectus.prompts.client.limits import RateLimiter, Slot
from conspectus.prompts.client.retry import TimedOut, TryAgain, as_outcome, wait_before_retry
from conspectus.prompts.client.usage_and_cost import Reservation
from conspectus.storage.errors import (
    BudgetReached,
    IndexUnusable,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    SettingsError,
)

if TYPE_CHECKING:
    import openai

OPENAI = "https://api.openai.com/v1"
"""The server's address if the settings name none."""
_NO_KEY = "none"
"""The key sent to a server that needs none."""
_SECONDS_BETWEEN_NOTICES = 10.0
_QUIET_SECONDS = 5.0
"""Minimum time between two notices of further attempts: many calls may fail together."""
_FULL = "Context size has been exceeded"
_log = logging.getLogger("conspectus")

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Address:
    """A server's address and how it may be called.

    `window` is the length of a "minute" of the limits in seconds. `section` and `model_key` name the settings that
    error messages refer to.
    """

    base_url: str
    api_version: str
    api_key_variable: str
    timeout: float
    attempts: int
    concurrency: int
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    window: float = 60.0
    section: str = "llm"
    model_key: str = "llm.model"
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def shown(self) -> str:
        """The address as messages name it."""
        parts = urlsplit(self.base_url or OPENAI)
        return f"{parts.scheme}://{parts.netloc}{parts.path}"


@dataclass(frozen=True, slots=True)
class Parsed(Generic[Value]):
    """The value of a response body and what it used.

    `dollars` is None without a price. `estimated`: the server reported no usage, so a budget counts the bound.
    """

    value: Value
    tokens: int
    dollars: float | None
    estimated: bool = False


@dataclass(slots=True)
class Call(Generic[Value]):
    """One POST request and its accounting.

    Attributes:
        path: Path below the server's base URL.
        body: The JSON body.
        expected: About how many tokens it will use.
        reserve: Reserves the most it can use, for each attempt.
        parse: Turns the response body into a value; raises TryAgain if the body is malformed.
        stream: Makes what assembles the body, for each attempt, if the body asks for a stream.
        attempts: Attempts so far.
        unconfirmed: Attempts without a reply for which the server may have worked.
        rejections: Attempts rejected because the server was busy.
    """

    path: str
    body: Mapping[str, Any]
    expected: float
    reserve: Callable[[], AbstractAsyncContextManager[Reservation]]
    parse: Callable[[Mapping[str, Any]], Parsed[Value]]
    stream: Callable[[], StreamedCompletion] | None = None
    attempts: int = 0
    unconfirmed: int = 0
    rejections: int = 0


class ModelServer:
    """The server at an address. It belongs to the loop of `conspectus.prompts.client.event_loop`."""

    def __init__(self, address: Address, key: str) -> None:
        self.address = address
        self.openai = _connect(address, key)
        self._key = key
        self._has_answered = False
        # llama.cpp closes a connection just after a stream, so that the next call on it would fail.
        self._closes = address.base_url.startswith("http://")
        self._reading: dict[StreamedCompletion, asyncio.Timeout] = {}
        self._told: asyncio.TimerHandle | None = None
        self._extended = 0.0
        self._noticed = -_QUIET_SECONDS
        self._limiter = RateLimiter(
            concurrency=address.concurrency,
            requests_per_minute=address.requests_per_minute,
            tokens_per_minute=address.tokens_per_minute,
            window=address.window,
        )

    async def send(self, call: Call[Value]) -> Value:
        """Return the value of the reply to a call, after as many attempts as the address allows.

        Raises:
            ModelRefused: The server refuses the call.
            TimedOut: A stream does not go on.
            ModelUnavailable: There was no reply.
        """
        while True:
            try:
                async with self._turn(call) as (slot, reservation):
                    body = await (self._stream(call, call.stream()) if call.stream else self._post(call))
                    parsed = call.parse(body)
                    slot.used(parsed.tokens)
                    if not parsed.estimated:
                        reservation.settle(parsed.tokens, parsed.dollars)
                    return parsed.value
            except TryAgain as error:
                if call.attempts >= self.address.attempts:
                    raise ModelUnavailable(self._redacted(f"gave up after {call.attempts} tries: {error}")) from error
                short = error.busy and (error.wait or 0.0) < _QUIET_SECONDS
                if not short and monotonic() - self._noticed >= _QUIET_SECONDS:
                    self._noticed = monotonic()
                    _log.warning("%s; trying again (%d of %d)", error, call.attempts + 1, self.address.attempts)
                wait = wait_before_retry(error, call.attempts)
            await asyncio.sleep(wait)

    async def _post(self, call: Call[Value]) -> Mapping[str, Any]:
        import httpx2

        try:
            async with asyncio.timeout(self.address.timeout):
                # The package's own parsing of a body into its types takes longer than everything done here.
                response = await self.openai.post(call.path, cast_to=httpx2.Response, body=dict(call.body))
        except TimeoutError as error:
            raise TryAgain(f"no whole reply in time from {self.address.shown}", taken=True) from error
        self._limiter.learn(response.headers)
        return _json(response.content)

    async def _stream(self, call: Call[Value], streamed: StreamedCompletion) -> Mapping[str, Any]:
        try:
            async with asyncio.timeout(self.address.timeout) as deadline:
                with self._in_flight(streamed, deadline):
                    return await self._read(call, streamed)
        except TimeoutError as error:
            waited = f"{self.address.timeout:g} s ({self.address.section}.timeout)"
            raise TimedOut(f"no sign of life from {self.address.shown} in {waited}") from error

    async def _read(self, call: Call[Value], streamed: StreamedCompletion) -> Mapping[str, Any]:
        from openai import AsyncStream

        # Dictionaries: making the package's own types of each chunk takes longer than everything done here.
        chunks: AsyncStream[object] = await self.openai.post(
            call.path,
            cast_to=object,
            body=dict(call.body),
            options={"headers": {"Connection": "close"}} if self._closes else {},
            stream=True,
            stream_cls=AsyncStream[object],
        )
        async with chunks:
            self._limiter.learn(chunks.response.headers)
            self._closes &= "llama.cpp" in chunks.response.headers.get("server", "")
            try:
                if chunks.response.headers.get("content-type", "").startswith("application/json"):
                    streamed.add_whole(_json(await chunks.response.aread()))  # the server does not stream
                else:
                    async for chunk in chunks:
                        streamed.add(chunk)
                        self._extend()
                        if streamed.ended:
                            break
                return streamed.body()
            except stream_errors() as error:
                why = self._redacted(f"{self.address.shown} broke off: {error}")
                # llama.cpp's calls share one context, which several together may fill though each fits.
                raise TryAgain(why, taken=True, busy=_FULL in str(error)) from error

    def _extend(self) -> None:
        """Let all calls wait longer, since the server works."""
        now = asyncio.get_running_loop().time()
        if now - self._extended > min(1.0, self.address.timeout / 10):
            self._extended = now
            for deadline in self._reading.values():
                if not deadline.expired():
                    deadline.reschedule(now + self.address.timeout)

    @contextmanager
    def _in_flight(self, streamed: StreamedCompletion, deadline: asyncio.Timeout) -> Iterator[None]:
        """Tell every ten seconds how far the calls are, as long as there are any."""
        self._reading[streamed] = deadline
        if self._told is None:
            self._told = asyncio.get_running_loop().call_later(_SECONDS_BETWEEN_NOTICES, self._tell)
        try:
            yield
        finally:
            del self._reading[streamed]
            if self._told and not self._reading:
                self._told.cancel()
                self._told = None

    def _tell(self) -> None:
        self._told = asyncio.get_running_loop().call_later(_SECONDS_BETWEEN_NOTICES, self._tell)
        tokens = [streamed.tokens for streamed in self._reading]
        _log.warning(
            "%s: %d calls in flight, %d of them answer, %d tokens so far",
            self.address.shown, len(tokens), sum(map(bool, tokens)), sum(tokens),
        )  # fmt: skip

    def _redacted(self, text: str) -> str:
        """Return a text without the key, which some gateways quote in their errors."""
        return text.replace(self._key, "***") if self._key else text

    @asynccontextmanager
    async def _turn(self, call: Call[Value]) -> AsyncIterator[tuple[Slot, Reservation]]:
        """Wait until an attempt may be sent, and account for its outcome.

        Errors of the openai package leave it as TryAgain or ModelRefused.
        """
        import openai

        async with self._limiter.slot(call.expected, call.rejections) as slot:
            try:
                async with call.reserve() as reservation:
                    call.attempts += 1
                    try:
                        yield slot, reservation
                    except openai.APIError as error:
                        if isinstance(error, openai.APIStatusError):
                            self._has_answered = True
                            self._limiter.learn(error.response.headers)
                        outcome = as_outcome(error, self.address, self._redacted, has_answered=self._has_answered)
                        self._failed(call, slot, reservation, outcome)
                        raise outcome from error
                    except (TryAgain, ModelRefused) as error:
                        self._failed(call, slot, reservation, error)
                        raise
                    except (ModelUnavailable, asyncio.CancelledError):
                        call.unconfirmed += 1
                        raise
            except (BudgetReached, IndexUnusable):  # raised by `reserve`: nothing was sent
                slot.rejected()
                raise
            self._has_answered = True
            self._limiter.succeeded()

    def _failed(self, call: Call[Value], slot: Slot, reservation: Reservation, error: TryAgain | ModelError) -> None:
        """Account for an attempt that failed."""
        if isinstance(error, TryAgain) and error.taken:
            call.unconfirmed += 1
        else:
            slot.rejected()
            reservation.settle(0, 0.0)
        if isinstance(error, TryAgain) and error.busy:
            call.rejections += 1
            self._limiter.back_off(error.wait)


def _json(content: bytes) -> Mapping[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TryAgain(f"a reply that is not JSON: {content[:200]!r}", taken=True) from error
    if isinstance(body, list):  # of TEI's reranker
        body = {"results": body}
    if not isinstance(body, dict):
        raise TryAgain(f"a reply that is not a JSON object: {content[:200]!r}", taken=True)
    return body


def open_server(address: Address) -> ModelServer:
    """Return the server at an address: one pool of connections and one limiter per process.

    Raises:
        SettingsError: A required key is missing from the environment or invalid.
    """
    return _server(address, _key_of(address))


@cached_per_process
def _server(address: Address, key: str) -> ModelServer:
    return ModelServer(address, key)


def _key_of(address: Address) -> str:
    """Return the key for an address from the environment, "" if none is needed."""
    key = os.environ.get(address.api_key_variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise SettingsError(f"{address.api_key_variable} contains characters that are not allowed in an API key")
    if not (key or address.base_url):
        raise SettingsError(
            f"{address.api_key_variable} holds no key for {address.shown}: set it, "
            f"or name another server with {address.section}.base_url"
        )
    return key


def _connect(address: Address, key: str) -> "openai.AsyncOpenAI":
    """Return the openai package's client for an address, without its retries."""
    import httpx2
    import openai

    if address.api_version and not address.base_url:
        raise SettingsError(f"{address.section}.api_version is for Azure and needs {address.section}.base_url")
    timeout = httpx2.Timeout(None, connect=address.timeout)  # what is sent has a deadline of its own
    options: dict[str, Any] = {"api_key": key or _NO_KEY, "timeout": timeout, "max_retries": 0}
    options["default_headers"] = dict(address.headers)
    try:
        if address.api_version:
            return openai.AsyncAzureOpenAI(azure_endpoint=address.base_url, api_version=address.api_version, **options)
        return openai.AsyncOpenAI(base_url=address.base_url or OPENAI, **options)
    except (httpx2.InvalidURL, ValueError, ImportError, OSError) as error:
        raise SettingsError(
            f"Invalid endpoint {address.shown} ({type(error).__name__}): check {address.section}.base_url and the "
            f"proxies and certificates in the environment"
        ) from error
