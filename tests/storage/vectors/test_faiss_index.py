"""Vectors: exact search, and texts of several windows."""

from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest
from conspectus.storage.arrays import Rows, Vectors
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors import codes, faiss_index
from conspectus.storage.vectors.codes import CodedIndex
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import open_faiss, write_faiss
from conspectus.storage.vectors.windowed import WindowedIndex, open_windowed, write_windowed
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits


def clustered(n: int, seed: int = 0, dimension: int = 32) -> Vectors:
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((n // 20 + 1, dimension))
    rows = centres[chance.integers(0, len(centres), n)] + 0.5 * chance.standard_normal((n, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def coded(path: Path, vectors: Vectors) -> CodedIndex:
    write_faiss(path, vectors, exact_rows=10)
    index = open_faiss(path, n_rows=len(vectors), dimension=vectors.shape[1], coded=True)
    assert isinstance(index, CodedIndex)
    return index


@pytest.mark.parametrize("stand_out", [False, True])
def test_codes_propose_nearly_all(tmp_path: Path, stand_out: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codes, "rows_to_compare", lambda k: 100 * k // 10)
    vectors = clustered(5000, dimension=128)
    queries = 0.8 * clustered(200, dimension=128) + 0.2 * clustered(200, seed=1, dimension=128)
    for each in (vectors, queries):
        each[:, :4] *= 8 if stand_out else 1  # some numbers are far larger than the others
        each /= np.linalg.norm(each, axis=1, keepdims=True)
    found, true = (each.search(queries, 10)[1] for each in (coded(tmp_path / "x.faiss", vectors), ExactIndex(vectors)))
    assert np.mean([np.isin(*pair).mean() for pair in zip(true, found, strict=True)]) > 0.99


@pytest.mark.parametrize("k", [10, 600])
def test_part_of_an_index_with_codes_is_searched_where_it_is(
    tmp_path: Path, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "rows_to_compare", lambda k: 200 + 3 * k)
    vectors, queries = clustered(3000), clustered(12, seed=1)
    rows = np.flatnonzero(np.random.default_rng(5).random(3000) < 0.2)
    part = replace(coded(tmp_path / "x.faiss", vectors), part=rows)
    exact = ExactIndex(vectors[rows])
    assert (part.n_rows, part.dimension) == (exact.n_rows, exact.dimension)
    scores, found = part.search(queries, k)
    expected_scores, expected = exact.search(queries, k)
    assert found.shape == expected.shape
    shared = np.mean([len(np.intersect1d(*pair)) / len(pair[1]) for pair in zip(found, expected, strict=True)])
    assert shared > 0.97
    assert (np.diff(scores, axis=1) <= 0).all()
    own = np.arange(part.n_rows)
    np.testing.assert_array_equal(part.scores(queries, own), exact.scores(queries, own))
    np.testing.assert_array_equal(part.vectors(own[::-1]), vectors[rows][::-1])
    if 200 + 3 * k >= len(rows):  # all are compared
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(scores, expected_scores)
    with pytest.raises(IndexError):
        part.vectors(np.array([len(rows)]))


def test_codes_that_are_no_numbers(tmp_path: Path) -> None:
    vectors, path = clustered(1500), tmp_path / "x.codes"
    coded(tmp_path / "x.faiss", vectors)
    whole = bytearray(path.read_bytes())
    of_rows = np.frombuffer(whole, np.uint8)[65 : 65 + 12 * 1500].reshape(1500, 12)
    of_rows[:, 4:] = 255  # the two float32 of a code
    path.write_bytes(whole)
    with pytest.raises(IndexCorrupt, match="no numbers"):
        open_faiss(tmp_path / "x.faiss", n_rows=1500, dimension=32, coded=True).search(vectors[:2], 3)


def test_same_vectors_same_bytes(tmp_path: Path) -> None:
    vectors, threads, files = clustered(40_000, dimension=37), faiss.omp_get_max_threads(), []  # several blocks
    np.save(tmp_path / "mapped.npy", vectors)
    for name, cores in (("a", 1), ("b", 2)):
        faiss.omp_set_num_threads(cores)
        with threadpool_limits(cores):
            write_faiss(tmp_path / f"{name}.faiss", np.load(tmp_path / "mapped.npy", mmap_mode="r"), exact_rows=10)
        files.append([each.read_bytes() for each in sorted(tmp_path.glob(f"{name}.*"))])
    faiss.omp_set_num_threads(threads)
    assert len(files[0]) == 2
    assert files[0] == files[1]


def test_an_exact_file_is_what_faiss_writes_and_needs_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    vectors = clustered(300)
    write_faiss(tmp_path / "x.faiss", vectors, exact_rows=300)
    assert not (tmp_path / "x.codes").exists()
    written = faiss.IndexFlatIP(32)
    written.add(vectors)
    faiss.write_index(written, str(tmp_path / "y.faiss"))
    assert (tmp_path / "x.faiss").read_bytes() == (tmp_path / "y.faiss").read_bytes()
    coded(tmp_path / "z.faiss", vectors)
    monkeypatch.setattr(faiss_index, "has_faiss", lambda: False)
    assert type(open_faiss(tmp_path / "z.faiss", n_rows=300, dimension=32, coded=True)) is ExactIndex
    with pytest.raises(MissingPart, match=r"300 vectors needs FAISS: pip install 'conspectus\[local\]'"):
        write_faiss(tmp_path / "z.faiss", vectors, exact_rows=299)


def test_other_vectors_than_expected(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    coded(path, clustered(50))
    for n_rows, dimension in ((51, 32), (50, 31)):
        with pytest.raises(IndexCorrupt, match=f"not {n_rows} vectors of dimension {dimension}"):
            open_faiss(path, n_rows=n_rows, dimension=dimension)
    whole = path.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], b"IxF2" + whole[4:]):
        path.write_bytes(damaged)
        with pytest.raises(IndexCorrupt):
            open_faiss(path, n_rows=50, dimension=32)


@pytest.mark.parametrize(("n_rows", "dimension"), [(999, 32), (1000, 31), (1001, 32)])
def test_codes_of_other_vectors(tmp_path: Path, n_rows: int, dimension: int) -> None:
    coded(tmp_path / "y.faiss", clustered(n_rows, dimension=dimension))
    write_faiss(tmp_path / "x.faiss", clustered(1000), exact_rows=1000)
    codes_of_others = (tmp_path / "y.codes").rename(tmp_path / "x.codes")
    with pytest.raises(IndexCorrupt, match=r"x\.codes: not the codes of 1000 vectors of dimension 32"):
        open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=True)
    codes_of_others.unlink()
    with pytest.raises(IndexCorrupt, match=r"x\.codes: cannot be read"):
        open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=True)


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
