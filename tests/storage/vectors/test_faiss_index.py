import random
from pathlib import Path

import faiss
import numpy as np
import pytest
from conspectus.storage.arrays import Vectors
from conspectus.storage.blas_threads import one_blas_thread
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors import codes, faiss_index
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import FaissIndex, PartOfIndex, open_faiss, write_faiss
from threadpoolctl import threadpool_limits


@pytest.fixture(autouse=True)
def every_file_with_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 0)


def clustered(n: int, seed: int = 0, dimension: int = 32) -> Vectors:
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((n // 20 + 1, dimension))
    rows = centres[chance.integers(0, len(centres), n)] + 0.5 * chance.standard_normal((n, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def written(path: Path, vectors: Vectors, exact_rows: int) -> FaissIndex:
    write_faiss(path, vectors, exact_rows=exact_rows)
    coded = len(vectors) > exact_rows
    return open_faiss(path, n_rows=len(vectors), dimension=vectors.shape[1], coded=coded)


def recall(index: FaissIndex, queries: Vectors, vectors: Vectors) -> float:
    found, true = (each.search(queries, 10)[1] for each in (index, ExactIndex(vectors)))
    return float(np.mean([np.isin(*pair).mean() for pair in zip(true, found, strict=True)]))


def mixed(n: int, dimension: int = 32) -> Vectors:
    """Queries that are near to vectors of `clustered`."""
    queries = 0.8 * clustered(n, dimension=dimension) + 0.2 * clustered(n, seed=1, dimension=dimension)
    return queries / np.linalg.norm(queries, axis=1, keepdims=True)


def test_exact_up_to_the_limit_and_codes_beyond(tmp_path: Path) -> None:
    vectors = clustered(1000)
    assert written(tmp_path / "a.faiss", vectors, exact_rows=1000).codes is None
    assert not (tmp_path / "a.codes").exists()
    assert written(tmp_path / "b.faiss", vectors, exact_rows=999).codes is not None
    assert (tmp_path / "a.faiss").read_bytes() == (tmp_path / "b.faiss").read_bytes()


@pytest.mark.parametrize("case", ["plain", "some numbers stand out"])
def test_codes_propose_nearly_all(tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_index, "rows_to_compare", lambda k: 100 * k // 10)
    vectors, queries = clustered(5000, dimension=128), mixed(200, dimension=128)
    for each in (vectors, queries):
        if case == "far from zero":
            each += 0.3
        elif case == "some numbers stand out":
            each[:, :4] *= 8
        each /= np.linalg.norm(each, axis=1, keepdims=True)
    assert recall(written(tmp_path / "x.faiss", vectors, exact_rows=100), queries, vectors) > 0.99


def test_codes_are_not_asked_for_as_many_rows_as_there_are(tmp_path: Path) -> None:
    vectors = clustered(1210)
    index, exact = written(tmp_path / "x.faiss", vectors, exact_rows=10), ExactIndex(vectors)
    for k in (6, 7, 1210):  # 7: as many are compared as there are
        np.testing.assert_array_equal(index.search(vectors[:5], k)[1], exact.search(vectors[:5], k)[1])


@pytest.mark.parametrize("k", [10, 600])
def test_part_of_an_index_with_codes_is_searched_where_it_is(
    tmp_path: Path, k: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conspectus.storage.vectors.faiss_index.rows_to_compare", lambda k: 200 + 3 * k)
    vectors, queries = clustered(3000), clustered(12, seed=1)
    rows = np.flatnonzero(np.random.default_rng(5).random(3000) < 0.2)
    part = PartOfIndex(written(tmp_path / "x.faiss", vectors, exact_rows=10), rows)
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
    vectors = clustered(1500)
    index = written(tmp_path / "x.faiss", vectors, exact_rows=10)
    path = tmp_path / "x.codes"
    whole = bytearray(path.read_bytes())
    codes = np.frombuffer(whole, np.uint8)[65 : 65 + 12 * 1500].reshape(1500, 12)
    codes[:, 4:] = 255  # the two float32 of a code
    path.write_bytes(whole)
    index = open_faiss(tmp_path / "x.faiss", n_rows=1500, dimension=32, coded=True)
    with pytest.raises(IndexCorrupt, match="no numbers"):
        index.search(vectors[:2], 3)


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_same_vectors_same_bytes(tmp_path: Path, exact_rows: int) -> None:
    vectors, threads = clustered(3000), faiss.omp_get_max_threads()
    files = []
    for name, cores in (("a", 1), ("b", 2), ("c", 2)):
        faiss.omp_set_num_threads(cores)
        with threadpool_limits(cores):
            write_faiss(tmp_path / f"{name}.faiss", vectors, exact_rows=exact_rows)
        files.append([each.read_bytes() for each in sorted(tmp_path.glob(f"{name}.*"))])
    faiss.omp_set_num_threads(threads)
    assert len(files[0]) == 1 + (exact_rows == 10)
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("dimension", [32, 37])
def test_codes_are_written_as_faiss_writes_them(tmp_path: Path, dimension: int) -> None:
    vectors = clustered(40_000, dimension=dimension)  # several blocks, and more than the mean is taken of
    np.save(tmp_path / "mapped.npy", vectors)
    write_faiss(tmp_path / "x.faiss", np.load(tmp_path / "mapped.npy", mmap_mode="r"), exact_rows=0)
    turn = codes._turn(dimension)
    np.testing.assert_allclose(turn @ turn.T, np.eye(dimension), atol=1e-6)
    theirs = faiss.IndexRaBitQ(dimension, faiss.METRIC_INNER_PRODUCT)
    with one_blas_thread():  # on some processors the last bits of a product depend on the number of threads
        mean = vectors[:: len(vectors) // codes._ROWS_OF_MEAN + 1].mean(0, dtype=np.float64) @ turn
        blocks = [vectors[at : at + codes._BLOCK_ROWS] @ turn for at in range(0, len(vectors), codes._BLOCK_ROWS)]
    faiss.copy_array_to_vector(mean.astype(np.float32), theirs.center)
    theirs.is_trained = True
    for block in blocks:
        theirs.add(block)
    faiss.write_index(theirs, str(tmp_path / "theirs"))
    expected = (tmp_path / "theirs").read_bytes()
    assert (tmp_path / "x.codes").read_bytes()[:-24] == expected


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_vectors_come_back_as_they_went_in(tmp_path: Path, exact_rows: int) -> None:
    vectors = clustered(500)
    index = written(tmp_path / "x.faiss", vectors, exact_rows)
    rows = np.array([499, 0, 7, 7])
    np.testing.assert_array_equal(index.vectors(rows), vectors[rows])
    assert index.vectors(np.empty(0, dtype=np.int64)).shape == (0, 32)


def test_an_exact_file_is_what_faiss_writes_and_is_searched_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = clustered(300)
    write_faiss(tmp_path / "x.faiss", vectors, exact_rows=300)
    written = faiss.IndexFlatIP(32)
    written.add(vectors)
    faiss.write_index(written, str(tmp_path / "y.faiss"))
    assert (tmp_path / "x.faiss").read_bytes().startswith((tmp_path / "y.faiss").read_bytes())
    opened = [open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32)]
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 300)
    opened.append(open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32))
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 0)
    monkeypatch.setattr(faiss_index, "has_faiss", lambda: False)
    opened.append(open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32))
    assert [type(each).__name__ for each in opened] == ["FaissIndex", "ExactIndex", "ExactIndex"]
    for found in zip(*(each.search(vectors[:20], 5) for each in opened), strict=True):
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])
    with pytest.raises(MissingPart, match=r"300 vectors needs FAISS: pip install 'conspectus\[local\]'"):
        write_faiss(tmp_path / "z.faiss", vectors, exact_rows=299)


def test_other_counts_than_expected(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    write_faiss(path, clustered(50), exact_rows=100)
    for n_rows, dimension in ((51, 32), (50, 31)):
        with pytest.raises(IndexCorrupt, match="holds 50 vectors of dimension 32"):
            open_faiss(path, n_rows=n_rows, dimension=dimension)


def test_other_kinds_of_faiss_index(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    for kind in (faiss.IndexFlatL2(32), faiss.IndexHNSWFlat(32, 8)):
        kind.add(clustered(50))
        faiss.write_index(kind, str(path))
        with pytest.raises(IndexCorrupt, match="not written by Conspectus"):
            open_faiss(path, n_rows=50, dimension=32)
        faiss_index._end(path)
        with pytest.raises(IndexCorrupt, match="not a FAISS index that Conspectus writes"):
            open_faiss(path, n_rows=50, dimension=32)


KINDS = ["exact", "codes"]


def made(kind: str, folder: Path, vectors: Vectors) -> Path:
    """Write an index of a kind and return the file that makes the kind."""
    write_faiss(folder / "x.faiss", vectors, exact_rows=10 if kind == "codes" else 10_000)
    return folder / ("x.codes" if kind == "codes" else "x.faiss")


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_cut_short_is_corrupt(tmp_path: Path, kind: str) -> None:
    path = made(kind, tmp_path, clustered(1000))
    whole = path.read_bytes()
    for length in [0, 1, 3, 4, 20, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 50)]:
        path.write_bytes(whole[:length])
        with pytest.raises(IndexCorrupt):
            open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=kind == "codes")


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_header_never_ends_in_another_error(tmp_path: Path, kind: str) -> None:
    chance, vectors = random.Random(2), clustered(1000)
    path = made(kind, tmp_path, vectors)
    whole, refused = path.read_bytes(), 0
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[chance.randrange(60)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            index = open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=kind == "codes")
            index.search(vectors[:2], 3)
        except IndexCorrupt:
            refused += 1
    assert refused == 100 if kind == "codes" else refused > 20


@pytest.mark.parametrize(("n_rows", "dimension"), [(999, 32), (1000, 31), (1001, 32)])
def test_codes_of_other_vectors(tmp_path: Path, n_rows: int, dimension: int) -> None:
    write_faiss(tmp_path / "y.faiss", clustered(n_rows, dimension=dimension), exact_rows=10)
    write_faiss(tmp_path / "x.faiss", clustered(1000), exact_rows=1000)
    (tmp_path / "y.codes").rename(tmp_path / "x.codes")
    with pytest.raises(IndexCorrupt, match=r"x\.codes: not the codes of 1000 vectors of dimension 32"):
        open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=True)
    (tmp_path / "x.codes").unlink()
    with pytest.raises(IndexCorrupt, match=r"x\.codes: cannot be read"):
        open_faiss(tmp_path / "x.faiss", n_rows=1000, dimension=32, coded=True)
