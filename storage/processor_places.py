"""Share the processor between threads that work in turns: only so many run Python at a time, the others wait.

The interpreter runs one thread at a time and lets each go on for 5 ms while others want to run. With many threads at
work, one that has next to nothing to do (the server's loop, which answers health checks and sends what is written)
waits for all of them, several times for each request. With few places it waits for few.

A thread that waits for something else than the processor should leave its place: an event loop of `loop_that_shares`
does while nothing is ready, and `away` does around a wait of synchronous code.
"""

import asyncio
import selectors
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class ProcessorPlaces:
    """So many places for threads that work.

    Args:
        count: How many threads work at a time.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._changed = threading.Condition()

    def enter(self, *, at_once: bool = False) -> None:
        """Take a place; wait for one to become free, unless `at_once`: then there are too many for a while."""
        with self._changed:
            while self._free < 1 and not at_once:
                self._changed.wait()
            self._free -= 1

    def leave(self) -> None:
        """Give a place back."""
        with self._changed:
            self._free += 1
            self._changed.notify()

    @contextmanager
    def taken(self) -> Iterator[Callable[[], asyncio.AbstractEventLoop]]:
        """Hold a place while the block runs; yields what makes event loops that leave it while they wait."""
        self.enter()
        _mine.places = self
        try:
            yield lambda: asyncio.SelectorEventLoop(_Leaving(self))
        finally:
            _mine.places = None
            self.leave()


class _Mine(threading.local):
    """The places that this thread has one of."""

    places: ProcessorPlaces | None = None


_mine = _Mine()


@contextmanager
def away() -> Iterator[None]:
    """Leave this thread's place, if it has one, while the block waits.

    Afterwards the thread does not wait for a place: it may hold a lock that those with a place wait for.
    """
    places = _mine.places
    if places is None:
        yield
        return
    places.leave()
    try:
        yield
    finally:
        places.enter(at_once=True)


class _Leaving(selectors.DefaultSelector):
    """A selector that leaves its thread's place while it waits. No lock is held across an await, so it can queue."""

    def __init__(self, places: ProcessorPlaces) -> None:
        super().__init__()
        self._places = places

    def select(self, timeout: float | None = None) -> list[Any]:
        """Wait for events, without a place."""
        self._places.leave()
        try:
            return super().select(timeout)
        finally:
            self._places.enter()
