"""The event loop of all calls to servers, and waiting for several calls concurrently.

A connection pool belongs to the event loop that created it. Callers have their own loops (a web server's, a
notebook's, `asyncio.run` for each question) or none, so all calls run on one loop in a separate thread: one pool,
one limiter and one budget per process.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from functools import cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

from conspectus.storage.cancellation import current
from conspectus.storage.errors import ModelError
from conspectus.storage.turns import away

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


def cached_per_process(make: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Cache a function's results until the process forks: threads do not survive a fork.

    Unlike with `functools.cache`, concurrent callers get the same result.
    """
    cached = cache(make)
    lock = threading.RLock()

    @wraps(make)
    def once(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        with lock:
            return cast(Callable[Parameters, Result], cached)(*args, **kwargs)

    def forget() -> None:
        nonlocal lock
        lock = threading.RLock()  # the owner of the lock may not exist here
        cached.cache_clear()

    os.register_at_fork(after_in_child=forget)
    return once


@cached_per_process
def call_loop() -> asyncio.AbstractEventLoop:
    """Return the loop of all calls, started in a daemon thread when it is first needed."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="model calls", daemon=True).start()
    return loop


async def run_on_call_loop(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the call loop; it is cancelled when the caller is."""
    loop = call_loop()
    if asyncio.get_running_loop() is loop:
        return await work
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))


def wait_for(work: Coroutine[Any, Any, Result]) -> Result:
    """Run a coroutine on the call loop and wait for it from synchronous code; never call this on that loop.

    It is cancelled if the caller is interrupted, or with the `Cancellation` of its context.
    """
    future = asyncio.run_coroutine_threadsafe(work, call_loop())
    if cancellation := current():
        cancellation.add(future)
    try:
        with away():
            return future.result()
    finally:
        future.cancel()


async def gather_all(works: Iterable[Awaitable[Result]]) -> list[Result]:
    """Run all works concurrently and return their results in order; if any raised, raise the first error at the end.

    Unlike with `asyncio.gather`, the others are finished first: their calls are paid for, and their replies will be
    remembered. Works are started one by one, in order, and calls go out in between: the first need not wait until the
    prompts of all are made.
    """
    tasks: list[asyncio.Future[Result]] = []
    try:
        for work in works:
            tasks.append(asyncio.ensure_future(work))
            await asyncio.sleep(0)
    except asyncio.CancelledError:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise
    await asyncio.gather(*tasks, return_exceptions=True)
    return [task.result() for task in tasks]


async def gather_settled(works: Iterable[Awaitable[Result]]) -> list[Result | ModelError]:
    """Like `gather_all`, with a work's ModelError in place of its result; other errors are raised."""
    return await gather_all(_settled(work) for work in works)


async def _settled(work: Awaitable[Result]) -> Result | ModelError:
    try:
        return await work
    except ModelError as error:
        return error
