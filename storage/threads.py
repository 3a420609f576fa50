"""Threads of matrix products."""

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


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run numpy's matrix products on one thread; also as a decorator.

    The products of a question or of the tagger are small: a second thread waits for work more than it works. On two
    cores tagging took twice the processor time with it, and asking 1.9 times. The limit holds for the whole process as
    long as anybody is inside; threads may enter and leave in any order.
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
