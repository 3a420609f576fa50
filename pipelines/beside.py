"""Work done beside other work, where that waits for a server."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from typing import ParamSpec, Protocol, TypeVar

Result = TypeVar("Result")
Parameters = ParamSpec("Parameters")


class Later(Protocol):
    """Begins work and returns a function that gives its result."""

    def __call__(
        self, work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Callable[[], Result]:
        """Begin `work`."""
        ...


@contextmanager
def beside(waits: bool) -> Iterator[Later]:
    """Give a way to begin work: in one thread beside what follows where that `waits`, otherwise done at once.

    At the end all of it is done. What it raises is raised where its result is asked for.
    """
    if not waits:
        yield _now
        return
    with ThreadPoolExecutor(1, thread_name_prefix="beside") as thread:

        def later(
            work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
        ) -> Callable[[], Result]:
            context = copy_context()  # Prefect and meters keep their place in it
            return thread.submit(lambda: context.run(work, *args, **kwargs)).result

        yield later


def _now(
    work: Callable[Parameters, Result], *args: Parameters.args, **kwargs: Parameters.kwargs
) -> Callable[[], Result]:
    result = work(*args, **kwargs)
    return lambda: result
