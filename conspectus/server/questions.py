"""Run questions in threads, with limits on concurrency and time, and cancel them if the client leaves.

Answering is CPU work between model calls, so each question has its own thread and event loop: the server's loop stays
free for health checks and other streams. If the client disconnects, its question is cancelled: the current model call
is closed, and no further one is made.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import Any, Generic, TypeVar

from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.processor_places import ProcessorPlaces

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[object]]
"""Returns when the client no longer waits for an answer."""
MOST_AT_WORK = 4
"""Questions that use the processor at a time, on a machine with as many cores. Of the others the models are waited for,
or they wait for their turn: more threads make no answer come sooner, and the server's own loop come late."""


class TooBusy(Exception):
    """The limit of running and waiting questions is reached."""


class TookTooLong(Exception):
    """A question took longer than the server allows."""


class ClientGone(Exception):
    """The client no longer waits for the answer."""


class QuestionThreads:
    """The threads that questions run in."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        """Start the thread pool.

        Args:
            at_once: Maximum number of concurrent questions.
            waiting: Maximum number of waiting questions; a further one raises TooBusy.
            seconds: Timeout of a question, including the time that it waits.
        """
        self.seconds = seconds
        self._most = at_once + waiting
        self._lock = threading.Lock()
        self._inside = 0
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="question")
        self._places = ProcessorPlaces(min(MOST_AT_WORK, os.cpu_count() or 1))

    @property
    def inside(self) -> int:
        """The number of running and waiting questions."""
        return self._inside

    async def run(
        self,
        work: Callable[[], Coroutine[Any, Any, Result]],
        gone: Gone,
        end: Callable[[], None],
    ) -> Result:
        """Run a question and return its answer.

        Args:
            work: Starts the question. It is called in a separate thread, or not at all if the client has left by then.
            gone: Returns when the client no longer waits for the answer.
            end: Called once when the question has ended for any reason.

        Raises:
            TooBusy: The limit of running and waiting questions is reached. `end` has been called.
            TookTooLong: The timeout has expired.
            ClientGone: `gone` returned first.
        """
        watcher = asyncio.ensure_future(gone())
        try:
            job = _Job(work, self._places)
            asked = self._submit(job, end)
            answer = asyncio.wrap_future(asked)
            answer.add_done_callback(_look_at)
            try:
                waits: set[asyncio.Future[Any]] = {answer, watcher}
                await asyncio.wait(waits, timeout=self.seconds, return_when=asyncio.FIRST_COMPLETED)
                if answer.done():
                    return answer.result()
                raise ClientGone if watcher.done() else TookTooLong
            finally:
                job.cancel()
                if not answer.done():
                    asked.cancel()  # succeeds only before it has started
        finally:
            watcher.cancel()

    def close(self) -> None:
        """Start no further questions."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _submit(self, job: "_Job[Result]", end: Callable[[], None]) -> "Future[Result]":
        with self._lock:
            busy = self._inside >= self._most
            self._inside += not busy
        if busy:
            end()
            raise TooBusy

        def ended(_: object) -> None:
            with self._lock:
                self._inside -= 1
            end()

        future = self._pool.submit(copy_context().run, job.run)  # the question's spans become children of the request's
        future.add_done_callback(ended)  # a running thread counts until it ends, even if the client has left
        return future


def _look_at(answer: "asyncio.Future[Any]") -> None:
    if not answer.cancelled():
        answer.exception()  # retrieved, so that asyncio does not report an abandoned answer's error


class _Job(Generic[Result]):
    """One question in a thread, which another thread can cancel."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Result]], places: ProcessorPlaces) -> None:
        self._work = work
        self._places = places
        self._lock = threading.Lock()
        self._cancelled = False
        self._task: asyncio.Task[Result] | None = None

    def run(self) -> Result:
        """Run the question in the current thread."""
        with one_blas_thread(), self._places.taken() as loop, asyncio.Runner(loop_factory=loop) as runner:
            return runner.run(self._main())

    async def _main(self) -> Result:
        with self._lock:
            if self._cancelled:
                raise asyncio.CancelledError
            self._task = asyncio.current_task()
        try:
            return await self._work()
        finally:
            with self._lock:
                self._task = None

    def cancel(self) -> None:
        """Cancel the question whether it has started or not; no effect if it has ended."""
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
