from collections.abc import Sequence

import numpy as np
from conspectus.prompts.embedding.vector_cache import BATCH, CAPACITY, VectorCache
from conspectus.storage.arrays import Vectors


def recording() -> tuple[VectorCache, list[list[str]]]:
    """Vectors of the lengths of questions, and the batches that they were made in."""
    batches: list[list[str]] = []

    def make(texts: Sequence[str]) -> list[Vectors]:
        batches.append(list(texts))
        return [np.array([len(text)], np.float32) for text in texts]

    return VectorCache(make), batches


def test_questions_are_made_together_and_once() -> None:
    vectors, batches = recording()
    vectors.of("before")
    assert vectors.of_all(["a", "bb", "before", "bb", "ccc"])[:, 0].tolist() == [1, 2, 6, 2, 3]
    assert batches == [["before"], ["a", "bb", "ccc"]]
    assert vectors.of("a") is vectors.of("a")
    assert not vectors.of("a").flags.writeable
    assert len(batches) == 2


def test_batches_and_memory_are_bounded() -> None:
    vectors, batches = recording()
    questions = [str(number) for number in range(CAPACITY + 200)]
    vectors.of_all(questions)
    assert max(len(each) for each in batches) == BATCH
    assert sorted(each for batch in batches for each in batch) == sorted(questions)
    vectors.of(questions[-1])
    made = len(batches)
    vectors.of(questions[0])
    assert batches[made:] == [[questions[0]]], "the oldest was forgotten"
