"""How often Python looks for garbage while millions of records are held."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEW_OBJECTS = 200_000
"""Objects made between two looks at the young ones; Python's own choice is 700."""
_LOOKS_AT_THE_OLD = 1_000


@contextmanager
def rarely_collecting() -> Iterator[None]:
    """Have Python look rarely for cycles of garbage: every look at the old objects passes over all records.

    On an import of a million triples that is a third of the time, and there are no cycles among them.
    """
    before = gc.get_threshold()
    gc.set_threshold(_NEW_OBJECTS, 10, _LOOKS_AT_THE_OLD)
    try:
        yield
    finally:
        gc.set_threshold(*before)
