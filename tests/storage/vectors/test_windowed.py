from pathlib import Path

import numpy as np
import pytest
from conspectus.storage.arrays import Rows, Vectors
from conspectus.storage.errors import IndexCorrupt
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.windowed import WindowedIndex, open_windowed, write_windowed
from hypothesis import given
from hypothesis import strategies as st


def unit_rows(n: int, seed: int) -> Vectors:
    rows = np.random.default_rng(seed).standard_normal((n, 8)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def owners(counts: list[int]) -> Rows:
    return np.repeat(np.arange(len(counts)), counts)


@given(
    counts=st.lists(st.integers(1, 6), max_size=12),
    k=st.integers(0, 15),
    seed=st.integers(0, 1000),
    few=st.booleans(),
)
def test_a_row_scores_its_best_window(counts: list[int], k: int, seed: int, few: bool) -> None:
    table_rows = owners(counts)
    vectors = unit_rows(max(1, len(table_rows)), seed)[: len(table_rows)]
    if few and len(vectors):  # many ties
        vectors = unit_rows(2, seed)[np.random.default_rng(seed).integers(0, 2, len(vectors))]
    queries = unit_rows(3, seed + 1)
    index = WindowedIndex(ExactIndex(vectors.reshape(-1, 8)), table_rows)

    scores, rows = index.search(queries, k)

    single = (queries.astype(float) @ vectors.reshape(-1, 8).astype(float).T).astype(np.float32)
    best = np.array([[single[q, table_rows == row].max() for row in range(len(counts))] for q in range(3)])
    best = best.reshape(3, len(counts)).astype(np.float32)
    want = np.argsort(-best, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(rows, want)
    np.testing.assert_allclose(scores, np.take_along_axis(best, want, axis=1), rtol=0, atol=1e-7)
    asked = np.arange(len(counts))[::-1].copy()
    np.testing.assert_allclose(index.scores(queries, asked), best[:, asked], rtol=0, atol=1e-7)


@pytest.mark.parametrize("table_rows", [[0, 1], [1, 2, 3], [0, 2, 2], [0, 1, 0], [0, 0, -1]])
def test_table_rows_that_make_no_sense_are_not_written(tmp_path: Path, table_rows: list[int]) -> None:
    with pytest.raises(ValueError, match="every table row a vector"):
        write_windowed(tmp_path / "x.faiss", unit_rows(3, 0), np.array(table_rows), exact_rows=9)
    assert not list(tmp_path.iterdir())


def test_damaged_or_foreign_rows_file(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    write_windowed(path, unit_rows(5, 0), owners([2, 1, 2]), exact_rows=9)
    with pytest.raises(IndexCorrupt, match="covers 3 rows of a table that has 4"):
        open_windowed(path, n_rows=4, dimension=8)
    beside = tmp_path / "x.rows.npy"
    whole = beside.read_bytes()
    for content in (b"", b"junk", whole[:-1], whole[:40]):
        beside.write_bytes(content)
        with pytest.raises(IndexCorrupt, match=r"rows\.npy"):
            open_windowed(path, n_rows=3, dimension=8)
    for array in (np.zeros(0, np.int64), np.array([0, 1, 3, 3, 4]), np.zeros((5, 1), np.int64), np.zeros(5)):
        np.save(beside, array)
        with pytest.raises(IndexCorrupt):
            open_windowed(path, n_rows=3, dimension=8)
    np.save(beside, owners([2, 1, 3]))
    with pytest.raises(IndexCorrupt, match="not 6 vectors"):
        open_windowed(path, n_rows=3, dimension=8)
    beside.unlink()
    with pytest.raises(IndexCorrupt, match=r"rows\.npy"):
        open_windowed(path, n_rows=3, dimension=8)


@given(
    counts=st.lists(st.integers(0, 3), max_size=12),
    k=st.integers(0, 15),
    seed=st.integers(0, 1000),
)
def test_rows_without_a_vector_are_never_found_and_score_least(counts: list[int], k: int, seed: int) -> None:
    table_rows = owners(counts)
    vectors = unit_rows(max(1, len(table_rows)), seed)[: len(table_rows)].reshape(-1, 8)
    queries = unit_rows(2, seed + 1)
    index = WindowedIndex(ExactIndex(vectors), table_rows, len(counts))
    has_some = np.flatnonzero(counts)
    assert (index.n_rows, index.n_found) == (len(counts), len(has_some))

    scores, rows = index.search(queries, k)

    dense = WindowedIndex(ExactIndex(vectors), owners([each for each in counts if each]))
    same, places = dense.search(queries, k)
    np.testing.assert_array_equal(scores, same)
    np.testing.assert_array_equal(rows, has_some[places] if len(has_some) else places)
    every = np.arange(len(counts))
    assert (index.scores(queries, every)[:, np.array(counts, int) == 0] == -1).all()
    assert not index.mean_vectors(every)[np.array(counts, int) == 0].any()


def test_a_table_of_which_some_rows_have_vectors_is_written_and_read(tmp_path: Path) -> None:
    path, table_rows = tmp_path / "x.faiss", np.array([1, 1, 4])
    write_windowed(path, unit_rows(3, 0), table_rows, exact_rows=9, every_row=False)
    index = open_windowed(path, n_rows=7, dimension=8, every_row=False)
    assert (index.n_rows, index.n_found) == (7, 2)
    with pytest.raises(IndexCorrupt, match="does not have the table row"):
        open_windowed(path, n_rows=7, dimension=8)
    with pytest.raises(IndexCorrupt, match="covers 5 rows of a table that has 4"):
        open_windowed(path, n_rows=4, dimension=8, every_row=False)
    with pytest.raises(ValueError, match="in the table's order"):
        write_windowed(path, unit_rows(3, 0), table_rows[::-1], exact_rows=9, every_row=False)
