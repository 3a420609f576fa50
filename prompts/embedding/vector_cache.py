"""The vectors of recently used texts, and of questions, which an embedder computes in batches."""

import threading
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Sequence
from itertools import islice

import numpy as np
from conspectus.storage.arrays import Vectors

CAPACITY = 1024
"""Capacity: an answer's steps share the question's vector, and a conversation returns to earlier questions."""
BATCH = 64
"""Most vectors computed at once."""


class VectorCache:
    """Computes the vectors of texts that it does not have yet, and caches the most recent. Thread-safe.

    Args:
        compute: Returns a vector (d,) for each text; a vector must not depend on the other texts in the batch.
        capacity: Most vectors to cache.
    """

    def __init__(
        self, compute: Callable[[Sequence[str]], Sequence[Vectors] | Vectors], capacity: int = CAPACITY
    ) -> None:
        self._compute = compute
        self._capacity = capacity
        self._lock = threading.Lock()
        self._vectors: OrderedDict[str, Vectors] = OrderedDict()

    def of(self, text: str) -> Vectors:
        """Return the vector (d,) of a text, read-only."""
        return self._get([text])[text]

    def of_all(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors (n, d) of texts, n > 0; missing ones are computed in batches."""
        vectors = self._get(texts)
        return np.stack([vectors[text] for text in texts])

    def _get(self, texts: Sequence[str]) -> dict[str, Vectors]:
        with self._lock:
            found = {text: self._vectors[text] for text in texts if text in self._vectors}
            for text in found:
                self._vectors.move_to_end(text)
        missing = iter([text for text in dict.fromkeys(texts) if text not in found])
        while batch := list(islice(missing, BATCH)):
            found.update(zip(batch, self._add(batch), strict=True))
        return found

    def _add(self, batch: Sequence[str]) -> Sequence[Vectors]:
        vectors = list(self._compute(batch))
        with self._lock:
            for text, vector in zip(batch, vectors, strict=True):
                vector.setflags(write=False)
                self._vectors[text] = vector
            while len(self._vectors) > self._capacity:
                self._vectors.popitem(last=False)
        return vectors


class EmbedsQuestions(ABC):
    """The part of an embedder that embeds questions; the vectors of recent ones are cached."""

    def __init__(self) -> None:
        self._questions = VectorCache(self._embed_questions)

    @abstractmethod
    def _embed_questions(self, texts: Sequence[str]) -> list[Vectors]:
        """Return the vector of each question, that of a long one from its first windows (`MOST_OF_QUESTION`)."""

    def embed_query(self, text: str) -> Vectors:
        """Return the unit vector (d,) of a question, read-only; a long one gets the sum of its first windows'."""
        return self._questions.of(text)

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors (n, d) of several questions, computed together but equal to those of `embed_query`."""
        return self._questions.of_all(texts)
