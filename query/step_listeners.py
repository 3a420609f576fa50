"""Report the steps of an answer to listeners while it is being made."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from conspectus.query.types import Step
from conspectus.storage.cancellation import check

Listener = Callable[[Step], None]

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def steps_told_to(listener: Listener) -> Iterator[None]:
    """Call a listener once with each step that this task and its child tasks report inside the block.

    >>> told = []
    >>> with steps_told_to(told.append):
    ...     tell_step(Step("read", "5 passages"))
    ...     tell_step(Step("read", "5 passages"))
    >>> told
    [Step(name='read', detail='5 passages')]
    """
    known: set[Step] = set()

    def once(step: Step) -> None:
        if step not in known:  # a walk reports its decisions as it makes them, and adds them to its trace at the end
            known.add(step)
            listener(step)

    token = _listener.set(once)
    try:
        yield
    finally:
        _listener.reset(token)


def tell_step(step: Step) -> None:
    """Report a step to the listeners, if there are any. Raises CancelledError if nobody waits for the answer."""
    check()
    if (listener := _listener.get()) is not None:
        listener(step)
