"""Work done beside other work, where that waits for a server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from functools import cache
from typing import ParamSpec, Protocol, TypeVar

from conspectus.prompts.client.event_loop import Waits

Result = TypeVar("Result")
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
