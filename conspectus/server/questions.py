"""Run questions in threads, so many at once, so long, and only while somebody waits for the answer.

Asking is processor work between calls to models, so each question has a thread and an event loop of its own: the
server's loop stays free for health checks and for the streams of others. A question that nobody waits for is
cancelled: a call to a model under way is closed, and no further one is made.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from conspectus.storage.threads import one_blas_thread

Result = TypeVar("Result")
Gone = Callable[[], Awaitable[object]]
"""Returns when nobody waits for an answer any more."""


class TooBusy(Exception):
    """As many questions are asked and waiting as the server takes."""


class TookTooLong(Exception):
    """A question took longer than the server allows."""


class ClientGone(Exception):
    """Nobody waits for the answer any more."""


class Questions:
    """The threads that questions run in."""

    def __init__(self, at_once: int, waiting: int, seconds: float) -> None:
        """Make the threads.

        Args:
            at_once: Questions that run at the same time.
            waiting: Questions that may wait for their turn; one more is TooBusy.
            seconds: The longest time from a question to its answer, waiting included.
        """
        self.seconds = seconds
        self._most = at_once + waiting
        self._lock = threading.Lock()
        self._inside = 0
        self._pool = ThreadPoolExecutor(at_once, thread_name_prefix="question")

    @property
    def inside(self) -> int:
        """How many questions run or wait."""
        return self._inside

    async def run(
        self,
        work: Callable[[], Coroutine[Any, Any, Result]],
        gone: Gone,
        end: Callable[[], None],
    ) -> Result:
        """Run a question and return its answer.

        Args:
            work: Starts the question. It is called in a thread of its own, and not at all if nobody waits by then.
            gone: Returns when nobody waits for the answer any more.
            end: Called once when the question no longer runs, however it ended.

        Raises:
            TooBusy: The server has as many questions as it takes. `end` has been called.
            TookTooLong: The time is over.
            ClientGone: `gone` returned first.
        """
        watcher = asyncio.ensure_future(gone())
        try:
            job = _Job(work)
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
                    asked.cancel()  # succeeds only before it has begun
        finally:
            watcher.cancel()

    def close(self) -> None:
        """Begin no further question."""
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

        future = self._pool.submit(job.run)
        future.add_done_callback(ended)  # a thread that still works keeps its place, whoever left
        return future


def _look_at(answer: "asyncio.Future[Any]") -> None:
    if not answer.cancelled():
        answer.exception()  # what nobody waits for is not reported as lost


class _Job(Generic[Result]):
    """One question in a thread, that another thread can cancel."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._cancelled = False
        self._task: asyncio.Task[Result] | None = None

    def run(self) -> Result:
        """Run it, in this thread."""
        with one_blas_thread():
            return asyncio.run(self._main())

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
        """Cancel it wherever it is; nothing happens if it has ended."""
        with self._lock:
            self._cancelled = True
            if self._task is not None:
                self._task.get_loop().call_soon_threadsafe(self._task.cancel)
