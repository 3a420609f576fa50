"""How the shards of a step are run. A step gives its work to a Runner and does not know what is behind it."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import ParamSpec, Protocol, TypeVar

from conspectus.prompts.client.event_loop import Waits

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[str, int, int], None]
"""Told (step, shards done, shards in all) as work goes on."""


class Runner(Protocol):
    """Runs `work` on every shard and returns the results in the order of the shards.

    `work` must be picklable (a top-level function or a partial of one), because a shard may run in another
    process or on another machine. Running a shard twice does no harm: its results are remembered by content.
    """

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run one step's shards."""
        ...


def no_progress(step: str, done: int, total: int) -> None:
    """Say nothing."""


class RunHere:
    """Runs shards one after the other in this process."""

    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards in order."""
        results = []
        for done, part in enumerate(parts):
            self._progress(step, done, len(parts))
            results.append(work(part))
        self._progress(step, len(parts), len(parts))
        return results


def shards(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Cut items into runs of `size`, the last one shorter.

    >>> shards("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]


# ---- """Work done beside other work, where that waits for a server."""

Parameters = ParamSpec("Parameters")


class Later(Protocol):
    """Begins work, or notes it, and returns a function that gives its result."""

    def __call__(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Callable[[], Result]:
        """Begin `work`, or note it."""
        ...


@contextmanager
def beside(waits: bool) -> Iterator[Later]:
    """Give a way to begin work: in one thread beside what follows where that `waits`, otherwise done when asked for.

    What it raises is raised where its result is asked for. What has not begun when the block raises is not begun; what
    has is waited for, but where the block is interrupted it waits for no server any more.
    """
    if not waits:
        yield _when_asked
        return
    waiting = Waits()
    with ThreadPoolExecutor(1, thread_name_prefix="beside") as thread:

        def later(
            work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
        ) -> Callable[[], Result]:
            context = copy_context()  # Prefect and meters keep their place in it
            context.run(waiting.enter)
            return thread.submit(lambda: context.run(work, *args, **kwargs)).result

        try:
            yield later
        except BaseException as error:
            thread.shutdown(wait=False, cancel_futures=True)
            if not isinstance(error, Exception):  # Ctrl-C: a server that is down is tried for minutes
                waiting.give_up()
            raise


def _when_asked(
    work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Callable[[], Result]:
    return cache(lambda: work(*args, **kwargs))
