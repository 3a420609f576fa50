"""Share the processor between the threads of requests: only a few run Python at a time, each in its turn.

The interpreter runs one thread at a time and lets each go on for a while although others want to run. With many threads
at work, one that has next to nothing to do (the server's loop, which answers health checks) waits for all of them. So a
thread computes only in its turn. A step of its coroutines is a turn: it ends where the step awaits something.
"""

import asyncio
import itertools
import threading
import types
from collections.abc import Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from heapq import heappop, heappush
from typing import Any


class Turns:
    """Turns to compute. Callers take theirs round robin; of one caller's requests the earliest comes first.

    Args:
        count: How many threads compute at a time.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._lock = threading.Lock()
        self._requests = itertools.count()
        self._waiting: dict[str, list[tuple[int, threading.Event]]] = {}  # a heap for each caller

    def take(self, caller: str = "", request: int | None = None, *, at_once: bool = False) -> None:
        """Wait for a turn.

        Args:
            caller: For whom the thread works.
            request: The number of its request; by default, a new one.
            at_once: Do not wait. Then too many compute for a while.
        """
        with self._lock:
            if at_once or self._free > 0:  # nobody waits while a turn is free
                self._free -= 1
                return
            turn = threading.Event()
            number = next(self._requests) if request is None else request
            heappush(self._waiting.setdefault(caller, []), (number, turn))
        turn.wait()

    def give(self) -> None:
        """End a turn; the next one begins."""
        with self._lock:
            self._free += 1
            if self._free < 1 or not self._waiting:
                return
            caller = next(iter(self._waiting))
            turns = self._waiting.pop(caller)
            self._free -= 1
            heappop(turns)[1].set()
            if turns:
                self._waiting[caller] = turns  # behind the other callers

    def loop(self, caller: str = "") -> asyncio.AbstractEventLoop:
        """Return a new event loop for one request, whose tasks compute in turns.

        Args:
            caller: For whom its tasks work.
        """
        request = next(self._requests)

        def task(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], **given: Any) -> "asyncio.Task[Any]":  # noqa: ANN401  (asyncio's)
            return asyncio.Task(_in_turns(work, self, caller, request), loop=loop, **given)

        loop = asyncio.new_event_loop()
        loop.set_task_factory(task)  # type: ignore[arg-type]  # typeshed knows no further arguments
        return loop


class _Thread(threading.local):
    """The turns of which this thread has one."""

    turns: Turns | None = None


_thread = _Thread()


@contextmanager
def away() -> Iterator[None]:
    """End this thread's turn, if it has one, while the block waits for something else than the processor.

    Afterwards the thread does not wait for a turn: it may hold a lock that those whose turn it is wait for.
    """
    turns = _thread.turns
    if turns is None:
        yield
        return
    turns.give()
    try:
        yield
    finally:
        turns.take(at_once=True)


async def _in_turns(work: Coroutine[Any, Any, Any], turns: Turns, caller: str, request: int) -> Any:  # noqa: ANN401  (any result)
    return await _steps(work, turns, caller, request)


@types.coroutine
def _steps(work: Coroutine[Any, Any, Any], turns: Turns, caller: str, request: int) -> Generator[Any, Any, Any]:
    step: Callable[[], Any] = partial(work.send, None)
    while True:
        turns.take(caller, request)
        _thread.turns = turns
        try:
            awaited = step()
        except StopIteration as ended:
            return ended.value
        finally:
            _thread.turns = None
            turns.give()
        try:
            step = partial(work.send, (yield awaited))
        except BaseException as error:  # noqa: BLE001  (the task's: the coroutine gets it, whatever it is)
            step = partial(work.throw, error)
