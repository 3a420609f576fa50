"""Many small pieces of blocking work, done a batch at a time beside the event loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Batched(Generic[Item, Result]):
    """Work on items in a thread, one batch at a time: what comes while a batch is under way makes the next.

    `work` takes items and returns a result for each. What it raises all items of the batch get. It belongs to one
    event loop.
    """

    def __init__(self, work: Callable[[Sequence[Item]], Sequence[Result]]) -> None:
        self._work = work
        self._waiting: list[tuple[Item, asyncio.Future[Result]]] = []
        self._worker: asyncio.Task[None] | None = None

    async def __call__(self, item: Item) -> Result:
        """Return the result for one item."""
        done: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if self._worker is None:
            self._worker = asyncio.create_task(self._run())
        return await done

    async def _run(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            (outcome,) = await asyncio.gather(
                asyncio.to_thread(self._work, [item for item, _ in batch]), return_exceptions=True
            )
            for number, (_, done) in enumerate(batch):
                if done.done():  # its caller was cancelled
                    continue
                if isinstance(outcome, BaseException):
                    done.set_exception(outcome)
                else:
                    done.set_result(outcome[number])
        self._worker = None
