"""One piece of work for all who ask for it at the same time."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Result = TypeVar("Result")


@dataclass(slots=True)
class _Work(Generic[Result]):
    task: "asyncio.Task[Result]"
    waiting: int = 0


class Shared(Generic[Result]):
    """Work by key: who asks for what is under way waits for that. It belongs to one event loop."""

    def __init__(self) -> None:
        self._under_way: dict[str, _Work[Result]] = {}

    async def get(self, key: str, start: Callable[[], Coroutine[Any, Any, Result]]) -> tuple[Result, bool]:
        """Return the result, and whether the work was begun for this caller; what it raises all get.

        Work that nobody waits for any more is cancelled.
        """
        work = self._under_way.get(key)
        own = work is None
        if work is None:
            work = _Work(asyncio.create_task(start()))
            self._under_way[key] = work
            own_work = work
            work.task.add_done_callback(lambda _: self._forget(key, own_work))
        work.waiting += 1
        try:
            return await asyncio.shield(work.task), own
        finally:
            work.waiting -= 1
            if not (work.waiting or work.task.done()):
                self._forget(key, work)
                work.task.cancel()

    def _forget(self, key: str, work: _Work[Result]) -> None:
        """Forget this work; other work may have begun under the key since."""
        if self._under_way.get(key) is work:
            del self._under_way[key]
