"""Run the shards of a step with a `Runner`, and run steps concurrently with a slow server by an `Overlap`.

A step passes its shards to a `Runner` and does not know whether they run in this process or as Prefect tasks. The
flow starts a step with an `Overlap` and passes on its pending result.
"""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from functools import partial
from types import FrameType, TracebackType
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast

from conspectus.storage.blas_threads import processors
from conspectus.storage.cancellation import Cancellation, check

Item = TypeVar("Item")
Result = TypeVar("Result")
ResultCo = TypeVar("ResultCo", covariant=True)
Arguments = ParamSpec("Arguments")

_SECONDS_TO_STOP = 10.0

Progress = Callable[[str, int, int], None]
"""Called as work advances with the step, the number of items done (passages, files, names), and the total number.

The total is 0 while a step runs whose items are not counted. At the end of a step both numbers are equal.
"""


class Runner(Protocol):
    """Runs `work` on every shard and returns the results in the order of the shards.

    `work` must be picklable (a top-level function or a partial of one), because a shard may run in another process or
    on another machine. A shard may run twice: its results are cached by content.
    """

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards of one step."""
        ...


def no_progress(step: str, done: int, total: int) -> None:
    """Report nothing."""


_of_caller: ContextVar[Progress] = ContextVar("progress", default=no_progress)


@contextmanager
def progress_for_calls(progress: Progress) -> Iterator[None]:
    """Let `callers_progress` return this progress inside the block: for a flow, whose parameters Prefect stores."""
    before = _of_caller.set(progress)
    try:
        yield
    finally:
        _of_caller.reset(before)


def callers_progress() -> Progress:
    """Return the progress of `progress_for_calls`; `no_progress` outside of its block."""
    return _of_caller.get()


@contextmanager
def interruptible(progress: Progress) -> Iterator[Progress]:
    """Yield a progress that raises KeyboardInterrupt again if a Ctrl-C of this block was lost.

    Python only reports an exception in a destructor, and compiled code that asks whether an attribute exists drops it;
    of sixty interrupted builds one went on to its end.
    """
    here, interrupted = threading.get_ident(), False

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        nonlocal interrupted
        interrupted = True
        raise KeyboardInterrupt

    def report(step: str, done: int, total: int) -> None:
        if interrupted and threading.get_ident() == here:
            raise KeyboardInterrupt
        progress(step, done, total)

    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or before is not signal.default_int_handler:
        yield progress  # signals come to the main thread, and a program that treats or ignores them knows better
        return
    signal.signal(signal.SIGINT, interrupt)
    try:
        yield report
    finally:
        signal.signal(signal.SIGINT, before)


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
            check()
            self._progress(step, done, total)
            results.append(work(part))
            done += len(part)
        if total:
            self._progress(step, total, total)
        return results


def driver_of(run: Runner) -> Runner:
    """Return the runner for work that calls a server: in the process that counts limits and budgets."""
    return cast(Runner, getattr(run, "in_driver", run))


@contextmanager
def open_runner(address: str, progress: Progress) -> Iterator[Runner]:
    """Open the runner of `build.runner`, until the end of the block.

    Raises:
        SettingsError: no Dask scheduler answers at the address.
        MissingPart: Dask is not installed.
    """
    if not address:
        yield RunHere(progress)
        return
    from conspectus.pipelines.dask_runner import RunOnDask

    with RunOnDask(address, progress) as run:
        yield run


def announced(progress: Progress, step: str, work: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Return a function that does the same and reports its start and end as a step without counted items."""

    def run(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        progress(step, 0, 0)
        result = work(*args, **kwargs)
        progress(step, 1, 1)
        return result

    return run


def shards(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Split items into runs of `size`, the last one shorter.

    >>> shards("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]


class Pending(Generic[ResultCo]):
    """The result of a step that was started: work that is done once, when its result is first needed."""

    def __init__(self, work: Callable[[], ResultCo]) -> None:
        self._work: Callable[[], ResultCo] | None = work
        self._result: ResultCo | None = None

    def result(self) -> ResultCo:
        """Wait for the work and return its result; raise what the work raised."""
        work = self._work
        if work is not None:
            self._result = work()
            self._work = None  # with what it was given
        return cast(ResultCo, self._result)


def awaited(pending: Pending[Result]) -> Result:
    """Return a pending result as an argument for a step of an `Overlap`, which calls the step with its value.

    The type is that of the value, so that a type checker compares it with the step's parameter.
    """
    return cast(Result, pending)


class Ready(Pending[Result]):
    """A result that is available immediately."""

    def __init__(self, value: Result) -> None:
        super().__init__(lambda: value)


class Overlap:
    """Runs steps in one background thread, in the order in which they are started, while a server is awaited.

    If nothing waits for a server (`in_background` is false), a step runs in the calling thread when its result is first
    needed, or at the end of the block: two CPU-bound steps gain nothing from two threads.

    A step that leaves Python's interpreter to others, such as the encoder's passes, runs `beside` the calling thread if
    there is a second processor.

    Used as a context manager. At the end of the block all steps have run, and the first error among them is raised.
    If the block raises, steps that have not started are dropped, and the running one is completed, because its calls
    are paid for. After an interruption (Ctrl-C) no server is awaited any more, and a running step for some seconds
    only: it may wait for ever for the lock of a module whose import was interrupted in the calling thread.
    """

    def __init__(self, in_background: bool) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="overlap") if in_background else None
        self._cancellation = Cancellation()
        self._beside: ThreadPoolExecutor | None = None
        self._cancellation_beside = Cancellation()
        self._started: list[Pending[Any]] = []
        self._futures: list[Future[Any]] = []

    def start(
        self, step: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Pending[Result]:
        """Start a step and return its pending result. Positional arguments that are `awaited` are awaited first."""
        return self._start(self._thread, self._cancellation, partial(step, **kwargs), args)

    def beside(
        self, step: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Pending[Result]:
        """Start a step on another processor; without one, or in the background anyway, this is `start`.

        Its result must not depend on the number of threads of matrix products, which other steps may change meanwhile.
        """
        if self._thread is None and self._beside is None and processors() > 1:
            self._beside = ThreadPoolExecutor(1, thread_name_prefix="beside")
        thread, cancellation = (
            (self._thread, self._cancellation) if self._thread else (self._beside, self._cancellation_beside)
        )
        return self._start(thread, cancellation, partial(step, **kwargs), args)

    def _start(
        self,
        thread: ThreadPoolExecutor | None,
        cancellation: Cancellation,
        step: Callable[..., Result],
        arguments: Sequence[object],
    ) -> Pending[Result]:
        def work() -> Result:
            return step(*(given.result() if isinstance(given, Pending) else given for given in arguments))

        started = Pending(work)
        if thread:
            context = copy_context()  # preserves the context of Prefect and of meters
            context.run(cancellation.enter)
            future = thread.submit(context.run, work)
            self._futures.append(future)
            started = Pending(future.result)
        if self._thread is None:
            self._started.append(started)
        return started

    def run(self, step: Callable[Arguments, Result], *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        """Run a step in its turn and return its result: `start`, and wait."""
        return self.start(step, *args, **kwargs).result()

    def settle(self) -> None:
        """Run what was started, unless it runs in the background, and keep no result that nobody else has."""
        for started in self._started:
            started.result()
        self._started.clear()
        self._futures = [future for future in self._futures if not future.done() or future.exception()]

    def __enter__(self) -> "Overlap":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                for started in self._started:
                    started.result()
                for future in self._futures:
                    future.result()
        except BaseException as late:
            self._stop(late)
            raise
        if error is not None:
            self._stop(error)
        else:
            self._shut_down()

    def _stop(self, error: BaseException) -> None:
        for thread in self._threads():
            thread.shutdown(wait=False, cancel_futures=True)
        self._cancellation_beside.cancel()  # nobody is paid for it
        if isinstance(error, Exception):
            self._shut_down()
        else:  # an interruption: do not retry a dead server for minutes
            self._cancellation.cancel()
            wait([future for future in self._futures if not future.cancelled()], _SECONDS_TO_STOP)

    def _shut_down(self) -> None:
        for thread in self._threads():
            thread.shutdown()

    def _threads(self) -> list[ThreadPoolExecutor]:
        return [thread for thread in (self._thread, self._beside) if thread]
