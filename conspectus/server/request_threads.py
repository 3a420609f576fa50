"""Run requests in threads, with limits on their number and time, and stop them if the client leaves.

Answering is computation between calls to models, so each request has its own thread and event loop: the server's loop
stays free for health checks and other streams, and a question that waits for a model keeps nobody from computing. When
the client disconnects, the time is over, or the server stops, the request is cancelled: the current call to a model is
closed, and the computation ends at its next `check()`.
"""

import asyncio
import os
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any, Generic, TypeVar

from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.cancellation import Cancellation, check
from conspectus.storage.turns import Turns

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[object]]
"""Returns when the client no longer waits for an answer."""
MOST_COMPUTING = 4
"""Requests that compute at a time, on a machine with as many cores. The others wait for models or for their turn: more
threads make no answer come sooner, and the server's own loop come late."""


class TooBusy(Exception):
    """The limit of concurrent requests is reached, or the caller's share of it."""


class TookTooLong(Exception):
    """A request took longer than the server allows."""


class ClientGone(Exception):
    """The client no longer waits for the answer."""


class Stopping(Exception):
    """The server was told to stop."""


class RequestThreads:
    """The threads of one kind of request: questions, or reads of tables."""

    def __init__(self, at_once: int, seconds: float, computing: int = MOST_COMPUTING) -> None:
        """Start no thread yet.

        Args:
            at_once: Maximum number of concurrent requests; a further one raises TooBusy.
            seconds: Timeout of a request.
            computing: Maximum number of requests that compute at a time; at most as many as there are cores.
        """
        self.seconds = seconds
        self._at_once = at_once
        self._turns = Turns(min(computing, os.cpu_count() or 1))
        self._lock = threading.Lock()
        self._inside: Counter[str] = Counter()
        self._stopping = False
        self._stops: set[asyncio.Future[None]] = set()

    @property
    def inside(self) -> int:
        """The number of requests that have a thread."""
        return self._inside.total()

    async def run(
        self,
        work: Callable[[], Coroutine[Any, Any, Result]],
        gone: Gone,
        end: Callable[[], None],
        caller: str = "",
        *,
        shares: bool = False,
    ) -> Result:
        """Run a request and return its result.

        Args:
            work: Starts the request. It is called in a thread of its own.
            gone: Returns when the client no longer waits for the result.
            end: Called once when the thread has ended, or if none was started.
            caller: Who asks. Callers compute round robin.
            shares: Whether there are other callers: then a caller has at most as many threads as it leaves free.

        Raises:
            TooBusy: The limit of concurrent requests is reached.
            TookTooLong: The timeout has expired.
            ClientGone: `gone` returned first.
            Stopping: The server was told to stop.
        """
        job = self._start(work, end, caller, shares)
        result = asyncio.wrap_future(job.result)
        # Looked at, so that asyncio does not report the error of a request that was given up.
        result.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        left = asyncio.ensure_future(gone())
        stop: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._stops.add(stop)
        try:
            waits: set[asyncio.Future[Any]] = {result, left, stop}
            await asyncio.wait(waits, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            raise Stopping if stop.done() else ClientGone if left.done() else TookTooLong
        finally:
            self._stops.discard(stop)
            left.cancel()
            job.cancel()

    def stop(self) -> None:
        """Cancel all requests and start no further one. Call it on the server's loop."""
        self._stopping = True
        for stop in self._stops:
            if not stop.done():
                stop.set_result(None)

    def _start(
        self, work: Callable[[], Coroutine[Any, Any, Result]], end: Callable[[], None], caller: str, shares: bool
    ) -> "_Job[Result]":
        with self._lock:
            free = self._at_once - self._inside.total()
            # A caller's limit follows what is free ("dynamic threshold", Choudhury and Hahne 1998): one busy caller
            # gets half of the threads, two get a third each, and one who comes later always finds some free.
            busy = free < 1 or (shares and self._inside[caller] >= free)
            if not busy and not self._stopping:
                self._inside[caller] += 1
        if busy or self._stopping:
            end()
            raise Stopping if self._stopping else TooBusy

        def ended(_: object) -> None:
            with self._lock:
                self._inside[caller] -= 1
            end()

        job = _Job(work, self._turns, caller)
        job.result.add_done_callback(ended)
        # A daemon: a computation does not keep the process from ending. The request's context makes spans its children.
        threading.Thread(target=copy_context().run, args=(job.run,), name="request", daemon=True).start()
        return job


class _Job(Generic[Result]):
    """One request in a thread, which another thread can cancel."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Result]], turns: Turns, caller: str) -> None:
        self._work = work
        self._loop = partial(turns.loop, caller)
        self._lock = threading.Lock()
        self._cancellation = Cancellation()
        self._task: asyncio.Task[Result] | None = None
        self.result: Future[Result] = Future()

    def run(self) -> None:
        """Run the request in the current thread."""
        self._cancellation.enter()
        try:
            with one_blas_thread(), asyncio.Runner(loop_factory=self._loop) as runner:
                result = runner.run(self._main())
        except BaseException as error:  # noqa: BLE001  (whoever waits for the result gets it)
            self.result.set_exception(error)
        else:
            self.result.set_result(result)

    async def _main(self) -> Result:
        with self._lock:
            check()
            self._task = asyncio.current_task()
        try:
            return await self._work()
        finally:
            with self._lock:
                self._task = None

    def cancel(self) -> None:
        """Cancel the request whether it has started or not; no effect if it has ended."""
        self._cancellation.cancel()
        with self._lock:
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
