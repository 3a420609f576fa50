"""The vectors of the last texts that were asked for, made one by one or together."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from conspectus.storage.arrays import Vectors

KEPT = 1024
"""Several steps of one answer look for the same question, and a conversation comes back to one."""
TOGETHER = 64
"""Most texts whose vectors are made at once."""


class KeptVectors:
    """Makes the vectors of texts that it does not have yet, and keeps the last `most` ones.

    `make` gives a vector (dimension,) for each text; it sees to it that a vector does not depend on who else is in the
    batch. Safe to share between threads.
    """

    def __init__(self, make: Callable[[Sequence[str]], Sequence[Vectors] | Vectors], most: int = KEPT) -> None:
        self._make = make
        self._most = most
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Vectors] = OrderedDict()

    def of(self, text: str) -> Vectors:
        """Return the vector of a text, read-only."""
        return self._found([text])[text]

    def of_all(self, texts: Sequence[str]) -> Vectors:
        """Return (n, dimension) the vectors of texts, n above 0; those that are not kept are made together."""
        found = self._found(texts)
        return np.stack([found[each] for each in texts])

    def _found(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            found = {each: self._kept[each] for each in texts if each in self._kept}
            for each in found:
                self._kept.move_to_end(each)
        new = iter([each for each in dict.fromkeys(texts) if each not in found])
        while batch := list(islice(new, TOGETHER)):
            found.update(zip(batch, self._keep(batch), strict=True))
        return found

    def _keep(self, batch: Sequence[str]) -> Sequence[Vectors]:
        made = list(self._make(batch))
        with self._lock:
            for each, vector in zip(batch, made, strict=True):
                vector.setflags(write=False)
                self._kept[each] = vector
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made
