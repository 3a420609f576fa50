"""How many threads may work, and a limit to those of matrix products."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

_lock = threading.Lock()
_inside = 0
_limited: Any = None


def processors() -> int:
    """Return how many threads may work at the same time: OMP_NUM_THREADS, or the processors of this process."""
    said = os.environ.get("OMP_NUM_THREADS", "")
    if said.isdecimal() and int(said):
        return int(said)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run numpy's matrix products on one thread; also as a decorator.

    The products of a question or of the tagger are small: a second thread mostly waits for work. On two
    cores it made tagging take twice the CPU time, and asking 1.9 times. The limit applies to the whole process as
    long as any thread is inside; threads may enter and leave in any order.
    """
    global _inside, _limited
    with _lock:
        _inside += 1
        if _inside == 1:
            _limited = _blas().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limited.restore_original_limits()


@cache
def _blas() -> "ThreadpoolController":
    import numpy  # noqa: F401  (brings the library that is found now)
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
