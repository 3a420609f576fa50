"""A server that speaks the OpenAI protocol and has no model behind it."""

import asyncio
import threading
from collections.abc import Collection, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from conspectus.prompts.fake.app import App
from conspectus.prompts.fake.faults import Faults
from conspectus.prompts.fake.limits import Limits
from conspectus.prompts.fake.manner import Latency, Manner
from conspectus.prompts.fake.recorded import Measures, Recorded, Records
from conspectus.prompts.fake.refused import FEATURES, Feature
from conspectus.prompts.fake.replies import Given, Replies
from conspectus.prompts.fake.tokens import Count, count_tokens
from conspectus.prompts.fake.wire import Connection


class FakeServer:
    """A server on 127.0.0.1 that answers chat completions and embeddings as OpenAI's API does, without a model.

        with FakeServer(replies={"capital of France": "Paris"}, latency=0.2) as server:
            client = openai.OpenAI(base_url=server.url, api_key="any")
            ...
            assert [each.status for each in server.requests] == [200]

    replies         what is said: a text, texts in turn, a function of the request, a mapping from regular expressions
                    to any of these, `Rule`s, or `Replies`. None makes replies up: they depend on the prompt only.
    latency         seconds before a reply: a number, a range to draw from, or a function of the request
    faults          what goes wrong, see `Faults`
    limits          when 429 is answered, see `Limits`
    seed            of faults and of drawn latencies
    api_key         the one key that is taken; None takes every key and none
    models          the models there are; empty takes every name
    without         what the server lacks: "json_schema", "json_object", "logit_bias", "logprobs", "stream_options",
                    "max_tokens" (which reasoning models refuse), "max_completion_tokens" (which older servers do not
                    know), "temperature", "seed", "tools", "n", "usage"
    unsupported     "refuse" answers 400 to a request for what it lacks, "ignore" answers as if it had not been asked
    context_length  the most tokens of messages and max_tokens together, None for no bound
    dimensions      of embeddings where the request does not say
    largest_batch   the most inputs of one request for embeddings
    count           the tokens of a text; by default words and other visible characters (`count_tokens`)
    piece           the characters of one streamed piece
    piece_delay     seconds between streamed pieces
    log             a file to which every request is appended as a line of JSON when it is answered; the line is
                    written before the last byte of the reply is sent, so whatever a client has got is in the log
    host, port      where to listen; port 0 picks a free one

    A server that was stopped can be started again: on the same port, with nothing recorded. A rule (or any other
    function given here) that raises breaks the connection, and stopping the server raises RuntimeError from it.

    OSError where it cannot listen there or cannot write the log; ValueError for an unknown feature.
    """

    def __init__(
        self,
        replies: Given = None,
        *,
        latency: Latency = 0.0,
        faults: Faults | None = None,
        limits: Limits | None = None,
        seed: int = 0,
        api_key: str | None = None,
        models: Sequence[str] = (),
        without: Collection[Feature] = (),
        unsupported: Literal["refuse", "ignore"] = "refuse",
        context_length: int | None = None,
        dimensions: int = 256,
        largest_batch: int = 2048,
        count: Count = count_tokens,
        piece: int = 12,
        piece_delay: float = 0.0,
        log: str | Path | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        unknown = sorted(set(without) - set(FEATURES))
        if unknown:
            raise ValueError(f"No feature is called {unknown[0]!r}. There are: {', '.join(FEATURES)}.")
        self._manner = Manner(
            replies=Replies.of(replies),
            latency=latency,
            faults=faults or Faults(),
            limits=limits or Limits(),
            seed=seed,
            api_key=api_key,
            models=tuple(models),
            without=frozenset(without),
            unsupported=unsupported,
            context_length=context_length,
            dimensions=dimensions,
            largest_batch=largest_batch,
            count=count,
            piece=piece,
            piece_delay=piece_delay,
        )
        self._log = None if log is None else Path(log)
        self._host = host
        self._port = port
        self._thread: threading.Thread | None = None
        self._connections: set[Connection] = set()
        self._records = Records()
        self._broken: BaseException | None = None

    def start(self) -> None:
        """Listen, in a thread of its own; `with` does it."""
        self._records = Records(self._log)
        self._app = App(self._manner, self._records)
        self._loop = asyncio.new_event_loop()
        self._loop.set_exception_handler(self._break)
        # The loop lives in its thread from the start: the caller's thread may be running one of its own.
        self._thread = threading.Thread(target=self._loop.run_forever, name="fake server", daemon=True)
        self._thread.start()
        try:
            self._listener = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result()
        except OSError:
            self._end()
            raise
        self._port = self._listener.sockets[0].getsockname()[1]

    def stop(self) -> None:
        """Hang up on every client and stop listening; `with` does it. What was recorded stays readable."""
        if self._thread is not None:
            asyncio.run_coroutine_threadsafe(self._hang_up(), self._loop).result()
            self._end()
        broken, self._broken = self._broken, None
        if broken is not None:
            raise RuntimeError(f"The server could not answer a request: {broken!r}.") from broken

    def _break(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Keep what went wrong in the server's thread until the caller's thread stops it."""
        self._broken = self._broken or context.get("exception")
        loop.default_exception_handler(context)

    def _end(self) -> None:
        assert self._thread is not None
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._thread = None
        self._loop.close()
        self._records.close()

    async def _listen(self) -> asyncio.Server:
        def connect() -> Connection:
            return Connection(self._app.answer, self._connections)

        return await asyncio.get_running_loop().create_server(connect, self._host, self._port, backlog=1024)

    async def _hang_up(self) -> None:
        self._listener.close()
        for connection in list(self._connections):
            connection.close()
        # Connections end in the next turns of the loop, and with them what they still recorded.
        while self._connections:
            await asyncio.sleep(0)
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others, return_exceptions=True)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """The base URL for clients, such as "http://127.0.0.1:41123/v1"."""
        return f"{self.origin}/v1"

    @property
    def origin(self) -> str:
        """The URL without a path, such as Azure clients want as their endpoint."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}"

    @property
    def requests(self) -> list[Recorded]:
        """Every request so far in order of arrival, whether answered or not."""
        return self._records.rows()

    @property
    def measures(self) -> Measures:
        """What all requests so far come to: counts, tokens, and how many were in flight."""
        return self._records.measures()

    def change(
        self,
        *,
        replies: Given | Literal[False] = False,
        latency: Latency | None = None,
        faults: Faults | None = None,
        limits: Limits | None = None,
    ) -> None:
        """Behave otherwise from the next request on; what is not given stays. New limits start afresh."""
        changes: dict[str, Any] = {"latency": latency, "faults": faults, "limits": limits}
        changes = {name: value for name, value in changes.items() if value is not None}
        if replies is not False:
            changes["replies"] = Replies.of(replies)
        self._app.change(**changes)
