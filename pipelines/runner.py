"""Run the shards of a step with a `Runner`, and overlap whole steps with a slow server by an `Overlap`.

A step gives its shards to a `Runner` and does not know whether they run in this process or as Prefect tasks. The flow
starts a step with an `Overlap` and passes on what the step will return.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import cache
from types import TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar

from conspectus.prompts.client.event_loop import Waits

Item = TypeVar("Item")
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")

Progress = Callable[[str, int, int], None]
"""Called as work goes on with the step, the number of items done (passages, files, names), and the number of all items.

The number of all items is 0 while a step runs whose items are not counted. At the end of a step both are equal.
"""


class Runner(Protocol):
    """Runs `work` on every shard and returns the results in the order of the shards.

    `work` must be picklable (a top-level function or a partial of one), because a shard may run in another process or
    on another machine. A shard may run twice: its results are remembered by content.
    """

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards of one step."""
        ...


def no_progress(step: str, done: int, total: int) -> None:
    """Report nothing."""


class RunHere:
    """Runs shards one after the other in this process."""

    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards in order."""
        results, done, total = [], 0, sum(map(len, parts))
        for part in parts:
            self._progress(step, done, total)
            results.append(work(part))
            done += len(part)
        if total:
            self._progress(step, total, total)
        return results


def announced(progress: Progress, step: str, work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function that does the same and reports its beginning and its end as a step without counted items."""

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        progress(step, 0, 0)
        result = work(*args, **kwargs)
        progress(step, 1, 1)
        return result

    return run


def shards(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Cut items into runs of `size`, the last one shorter.

    >>> shards("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]


class Pending(ABC, Generic[Result]):
    """The result of work that was started."""

    @abstractmethod
    def result(self) -> Result:
        """Wait for the work and return its result; raise what the work raised."""


class Ready(Pending[Result]):
    """A result that is there already."""

    def __init__(self, value: Result) -> None:
        self._value = value

    def result(self) -> Result:
        """Return the value."""
        return self._value


class _Deferred(Pending[Result]):
    """Work that is done once, when its result is first needed."""

    def __init__(self, work: Callable[[], Result]) -> None:
        self._work = cache(work)

    def result(self) -> Result:
        return self._work()


class _InThread(Pending[Result]):
    """Work in the background thread."""

    def __init__(self, future: "Future[Result]") -> None:
        self._future = future

    def result(self) -> Result:
        return self._future.result()


class Overlap:
    """Runs steps in one background thread, in the order in which they are started, while a server is awaited.

    Where nothing waits for a server (`in_background` false) a step runs in the calling thread when its result is first
    needed, or at the end of the block: two things that need the processor gain nothing from two threads.

    Used as a context manager. At the end of the block all steps have run, and the first error among them is raised.
    Where the block raises, steps that have not begun are dropped, and the one under way is finished, because its calls
    are paid for. After an interruption (Ctrl-C) no server is waited for any more.
    """

    def __init__(self, in_background: bool) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="overlap") if in_background else None
        self._waits = Waits()
        self._started: list[Pending[Any]] = []

    def start(self, step: Callable[..., Result], *arguments: object) -> Pending[Result]:
        """Start a step and return its pending result. An argument that is pending itself is waited for first."""

        def work() -> Result:
            return step(*(given.result() if isinstance(given, Pending) else given for given in arguments))

        started: Pending[Result]
        if self._thread is None:
            started = _Deferred(work)
        else:
            context = copy_context()  # Prefect and meters keep their place in it
            context.run(self._waits.enter)
            started = _InThread(self._thread.submit(context.run, work))
        self._started.append(started)
        return started

    def run(self, step: Callable[..., Result], *arguments: object) -> Result:
        """Run a step in its turn and return its result: `start`, and wait."""
        return self.start(step, *arguments).result()

    def __enter__(self) -> "Overlap":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for started in self._started:
                    started.result()
        except BaseException as late:
            self._stop(late)
            raise
        if error is not None:
            self._stop(error)
        elif self._thread:
            self._thread.shutdown()

    def _stop(self, error: BaseException) -> None:
        if self._thread is None:
            return
        self._thread.shutdown(wait=False, cancel_futures=True)
        if not isinstance(error, Exception):  # an interruption: a server that is down is tried for minutes
            self._waits.give_up()
        self._thread.shutdown()
