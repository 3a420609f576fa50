from dataclasses import replace
from pathlib import Path

import faiss
import numpy as np
import pytest
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors import codes, faiss_index
from conspectus.storage.vectors.codes import CodedIndex
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import open_faiss, write_faiss
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


def test_codes_are_not_asked_for_as_many_rows_as_there_are(tmp_path: Path) -> None:
    vectors = clustered(1210)
    index, exact = coded(tmp_path / "x.faiss", vectors), ExactIndex(vectors)
    for k in (6, 7, 1210):  # 7: as many are compared as there are
        np.testing.assert_array_equal(index.search(vectors[:5], k)[1], exact.search(vectors[:5], k)[1])


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
