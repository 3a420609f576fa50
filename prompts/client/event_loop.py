"""The one event loop that all calls to servers run on.

A pool of connections belongs to the event loop that made it. Callers come from loops of their own (a server's, a
notebook's, `asyncio.run` for each question) and from none at all, so calls run on a loop in a thread of its own:
one pool of connections, one limiter and one budget a process, whoever calls.
"""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


def once_a_process(make: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Return the function with its results kept, and forgotten in a forked process: threads do not survive a fork.

    Threads that call it at the same moment get the same: a cache alone would let each make its own.
    """
    kept = cache(make)
    lock = threading.RLock()

    @wraps(make)
    def once(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with lock:
            return cast(Callable[Parameters, Result], kept)(*args, **kwargs)

    def forget() -> None:
        nonlocal lock
        lock = threading.RLock()  # the thread that held it may not be here
        kept.cache_clear()

    os.register_at_fork(after_in_child=forget)
    return once


@once_a_process
def the_loop() -> asyncio.AbstractEventLoop:
    """Return the loop, started in a daemon thread when it is first needed."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model calls", daemon=True).start()
    return loop


async def on_the_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what `work` returns; it runs on the loop, and is cancelled there when the caller is cancelled."""
    loop = the_loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


class Waits:
    """What other threads wait for on the loop, so that it can be given up for them: only a main thread is interrupted.

    Whoever calls `wait_for` in a context in which `enter` was called is among them.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._given_up = False
        self._futures: set[Future[Any]] = set()

    def enter(self) -> None:
        """Count what is waited for in this context, and in its copies, from now on."""
        _waits.set(self)

    def add(self, future: "Future[Any]") -> None:
        """Count what is waited for."""
        with self._lock:
            given_up = self._given_up
            self._futures.add(future)
        future.add_done_callback(self._futures.discard)
        if given_up:
            future.cancel()

    def give_up(self) -> None:
        """Cancel all that is waited for now or later: `wait_for` then raises concurrent.futures.CancelledError."""
        with self._lock:
            self._given_up = True
            waiting = list(self._futures)
        for future in waiting:
            future.cancel()


_waits: ContextVar[Waits | None] = ContextVar("waits", default=None)


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Return what `work` returns to a caller that is not asynchronous; never call this on the loop itself.

    It is cancelled where the caller is interrupted, and where its `Waits` are given up.
    """
    future = asyncio.run_coroutine_threadsafe(work, the_loop())
    if waits := _waits.get():
        waits.add(future)
    try:
        return future.result()
    finally:
        future.cancel()
