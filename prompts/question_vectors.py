"""The vectors of the last questions, made one by one or together."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

KEPT = 1024
"""Several steps of one answer look for the same question, and a conversation comes back to one."""
TOGETHER = 64
"""Most questions whose vectors are made at once."""


class QuestionVectors:
    """Makes the vectors of questions that it does not have yet, and keeps the last ones.

    `make` gives a vector (dimension,) for each question. What a question's vector is does not depend on who else is in
    the batch as long as `make` sees to it. Safe to share between threads.
    """

    def __init__(self, make: Callable[[Sequence[str]], Sequence[Floats]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Floats] = OrderedDict()

    def of(self, question: str) -> Floats:
        """Return the vector of a question, read-only."""
        return self._found([question])[question]

    def of_all(self, questions: Sequence[str]) -> Floats:
        """Return (n, dimension) the vectors of questions, n above 0; those that are not kept are made together."""
        found = self._found(questions)
        return np.stack([found[each] for each in questions])

    def _found(self, questions: Sequence[str]) -> dict[str, Floats]:
        with self._lock:
            found = {each: self._kept[each] for each in questions if each in self._kept}
            for each in found:
                self._kept.move_to_end(each)
        new = iter([each for each in dict.fromkeys(questions) if each not in found])
        while batch := list(islice(new, TOGETHER)):
            found.update(zip(batch, self._keep(batch), strict=True))
        return found

    def _keep(self, batch: Sequence[str]) -> Sequence[Floats]:
        made = self._make(batch)
        with self._lock:
            for each, vector in zip(batch, made, strict=True):
                vector.setflags(write=False)
                self._kept[each] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made
