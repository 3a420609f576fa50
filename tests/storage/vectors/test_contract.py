"""What every vector index must do, by value against plain numpy."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conspectus.storage.arrays import Vectors
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import open_faiss, write_faiss
from conspectus.storage.vectors.windowed import WindowedIndex, open_windowed, write_windowed

DIMENSION = 24
Index = ExactIndex | WindowedIndex
Make = Callable[[Vectors, Path], Index]


def unit_rows(n: int, seed: int = 0, dimension: int = DIMENSION) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def through_faiss(vectors: Vectors, folder: Path) -> Index:
    path = folder / "x.faiss"
    write_faiss(path, vectors, exact_rows=10_000)
    return open_faiss(path, n_rows=len(vectors), dimension=DIMENSION)


def through_files(vectors: Vectors, folder: Path) -> Index:
    path = folder / "x.faiss"
    write_windowed(path, vectors, np.arange(len(vectors)), exact_rows=10_000)
    return open_windowed(path, n_rows=len(vectors), dimension=DIMENSION)


MEMBERS: dict[str, Make] = {
    "exact": lambda vectors, folder: ExactIndex(vectors),
    "faiss flat": lambda vectors, folder: through_faiss(vectors, folder),
    "windowed": lambda vectors, folder: WindowedIndex(ExactIndex(vectors), np.arange(len(vectors))),
    "windowed, from files": through_files,
}


@pytest.fixture(params=list(MEMBERS))
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Vectors], Index]:
    return lambda vectors: MEMBERS[request.param](vectors, tmp_path)


def expected(vectors: Vectors, queries: Vectors, k: int) -> tuple[Vectors, np.ndarray]:
    scores = (queries.astype(float) @ vectors.astype(float).T).astype(np.float32)
    rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(scores, rows, axis=1), rows


@pytest.mark.parametrize("k", [1, 10, 600, 5000])
def test_finds_what_numpy_finds(make: Callable[[Vectors], Index], k: int) -> None:
    vectors, queries = unit_rows(600), unit_rows(9, seed=1)
    index = make(vectors)
    assert (index.n_rows, index.dimension) == (600, DIMENSION)
    scores, rows = index.search(queries, k)
    want_scores, want_rows = expected(vectors, queries, k)
    np.testing.assert_array_equal(rows, want_rows)
    np.testing.assert_allclose(scores, want_scores, rtol=0, atol=1e-7)
    assert (scores.dtype, rows.dtype) == (np.float32, np.int64)


def test_ties_go_to_the_smaller_row(make: Callable[[Vectors], Index]) -> None:
    few = unit_rows(5)
    vectors = few[np.random.default_rng(2).integers(0, 5, 400)]
    scores, rows = make(vectors).search(few, 30)
    want_scores, want_rows = expected(vectors, few, 30)
    np.testing.assert_array_equal(rows, want_rows)
    np.testing.assert_allclose(scores, want_scores, rtol=0, atol=1e-7)


def test_scores_of_chosen_rows_are_those_of_a_search(make: Callable[[Vectors], Index]) -> None:
    index, queries = make(unit_rows(300)), unit_rows(4, seed=4)
    scores, rows = index.search(queries, 300)
    for i in range(4):
        np.testing.assert_array_equal(index.scores(queries[i : i + 1], rows[i])[0], scores[i])
    assert index.scores(queries, np.empty(0, dtype=np.int64)).shape == (4, 0)
    np.testing.assert_array_equal(
        index.scores(queries, np.array([5, 2, 5]))[:, [0, 1]], index.scores(queries, np.array([5, 2]))
    )


def test_what_does_not_fit_is_refused(make: Callable[[Vectors], Index]) -> None:
    index = make(unit_rows(20))
    with pytest.raises(ValueError, match=r"\(any, 24\)"):
        index.search(unit_rows(2, dimension=8), 3)
    for row in (-1, 20):
        with pytest.raises(IndexError, match="the index has 20"):
            index.scores(unit_rows(1), np.array([0, row]))
