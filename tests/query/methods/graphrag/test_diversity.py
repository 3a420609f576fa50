import numpy as np
from conspectus.query.answer_writing.context_windows import Statement
from conspectus.query.methods.graphrag.global_search import diverse
from conspectus.storage.arrays import Vectors
from conspectus.storage.records import Span
from hypothesis import given
from hypothesis import strategies as st


def said(i: int, text: str = "", at: int | None = None) -> Statement:
    start = i * 10 if at is None else at
    return Statement(text or f"statement number {i}", (Span("d", f"c{i}", start, start + 5),))


def unit(*numbers: float) -> Vectors:
    found = np.array(numbers, np.float32)
    return found / np.linalg.norm(found)


def test_the_same_words_or_place_are_quoted_once() -> None:
    same = [said(0, "One."), said(1, "One."), said(2, "Two.", at=0), said(3, "Three.")]
    assert diverse(same, np.stack([unit(1, 0)] * 4), unit(1, 0), 100) == [said(0, "One."), said(3, "Three.")]


def test_words_are_bounded_and_one_is_always_quoted() -> None:
    many = [said(i) for i in range(5)]
    vectors = np.stack([unit(1, i / 10) for i in range(5)])
    assert [len(diverse(many, vectors, unit(1, 0), n)) for n in (1, 3, 5, 6, 9, 100)] == [1, 1, 1, 2, 3, 5]
    assert diverse([], np.zeros((0, 2), np.float32), unit(1, 0), 10) == []


@given(st.integers(1, 12), st.integers(0, 2**32 - 1))
def test_it_is_maximal_marginal_relevance(n: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    vectors = chance.normal(size=(n, 4)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    question = unit(*chance.normal(size=4))
    statements = [said(i) for i in range(n)]
    found = [statements.index(each) for each in diverse(statements, vectors, question, 1000)]
    assert sorted(found) == [i for i in range(n) if vectors[i] @ question > 0]
    for place, i in enumerate(found):
        earlier = found[:place]

        def value(j: int, earlier: list[int] = earlier) -> float:
            return 0.7 * float(vectors[j] @ question) - 0.3 * max(
                [0.0, *(float(vectors[j] @ vectors[e]) for e in earlier)]
            )

        assert value(i) >= max(value(j) for j in found[place:]) - 1e-5
