"""The vectors of the last questions, and those of questions that are about to come, made together."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]

KEPT = 1024
"""Several steps of one answer look for the same question, and a conversation comes back to one."""
EXPECTED = 64
"""Most questions whose vectors are made at once."""


class QuestionVectors:
    """Makes the vector of a question when it is first asked for, with those of the questions that are expected.

    `make` gives a vector (dimension,) for each question. What a question's vector is does not depend on who else is in
    the batch as long as `make` sees to it. Safe to share between threads.
    """

    def __init__(self, make: Callable[[Sequence[str]], Sequence[Floats]]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Floats] = OrderedDict()
        self._expected: dict[str, None] = {}

    def expect(self, questions: Iterable[str]) -> None:
        """Make the vectors of these questions, at most EXPECTED at a time, when the first of them is asked for."""
        with self._lock:
            self._expected = dict.fromkeys(questions)

    def of(self, question: str) -> Floats:
        """Return the vector of a question, read-only."""
        with self._lock:
            if question in self._kept:
                self._kept.move_to_end(question)
                return self._kept[question]
            batch = self._batch(question)
        return self._keep(batch)[0]

    def of_all(self, questions: Sequence[str]) -> Floats:
        """Return (n, dimension) the vectors of questions, those that are not kept made together."""
        with self._lock:
            known = {each: self._kept[each] for each in questions if each in self._kept}
        new = [each for each in dict.fromkeys(questions) if each not in known]
        for start in range(0, len(new), EXPECTED):
            batch = new[start : start + EXPECTED]
            known.update(zip(batch, self._keep(batch), strict=True))
        return np.stack([known[each] for each in questions])

    def _keep(self, batch: Sequence[str]) -> Sequence[Floats]:
        made = self._make(batch)
        with self._lock:
            for each, vector in zip(batch, made, strict=True):
                vector.setflags(write=False)
                self._kept[each] = vector
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made

    def _batch(self, question: str) -> list[str]:
        """Take a question, and those expected with it, from what is expected."""
        if question not in self._expected:
            return [question]
        waiting = [each for each in self._expected if each != question and each not in self._kept]
        batch = [question, *waiting[: EXPECTED - 1]]
        for each in batch:
            del self._expected[each]
        return batch
