import random
import threading
from pathlib import Path

import faiss
import numpy as np
import pytest
from conspectus.storage.arrays import Vectors
from conspectus.storage.errors import IndexCorrupt, MissingPart
from conspectus.storage.vectors import faiss_index
from conspectus.storage.vectors.exact import ExactIndex
from conspectus.storage.vectors.faiss_index import FaissIndex, open_faiss, write_faiss


@pytest.fixture(autouse=True)
def every_file_with_faiss(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 0)


def clustered(n: int, seed: int = 0, dimension: int = 32) -> Vectors:
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((n // 20 + 1, dimension))
    rows = centres[chance.integers(0, len(centres), n)] + 0.5 * chance.standard_normal((n, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def written(path: Path, vectors: Vectors, exact_rows: int, probes: int = 8) -> FaissIndex:
    write_faiss(path, vectors, exact_rows=exact_rows, seed=7)
    return open_faiss(path, n_rows=len(vectors), dimension=vectors.shape[1], probes=probes)


def finish(path: Path) -> None:
    """End a foreign file as ours end."""
    ours = path.with_name("ours.faiss")
    write_faiss(ours, clustered(50), exact_rows=100, seed=7)
    path.write_bytes(path.read_bytes() + ours.read_bytes()[-24:-8] + path.stat().st_size.to_bytes(8, "big"))


def test_exact_up_to_the_limit_and_lists_beyond(tmp_path: Path) -> None:
    vectors = clustered(1000)
    assert written(tmp_path / "a.faiss", vectors, exact_rows=1000).lists == 0
    assert written(tmp_path / "b.faiss", vectors, exact_rows=999).lists == 126


def test_lists_find_nearly_all(tmp_path: Path) -> None:
    vectors = clustered(5000)
    queries = clustered(200)[:, ::1] * 0.8 + clustered(200, seed=1) * 0.2
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    _, found = written(tmp_path / "x.faiss", vectors, exact_rows=100, probes=32).search(queries, 10)
    _, true = ExactIndex(vectors).search(queries, 10)
    recall = np.mean([len(set(a) & set(b)) / 10 for a, b in zip(found, true, strict=True)])
    assert recall > 0.97


def test_lists_that_hold_too_few_are_not_the_end(tmp_path: Path) -> None:
    vectors = clustered(400)
    scores, rows = written(tmp_path / "x.faiss", vectors, exact_rows=10, probes=1).search(vectors[:5], 400)
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(400), (5, 1)))
    assert (np.diff(scores, axis=1) <= 0).all()


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_same_vectors_same_bytes(tmp_path: Path, exact_rows: int) -> None:
    vectors, threads = clustered(3000), faiss.omp_get_max_threads()
    files = []
    for name, cores in (("a", 1), ("b", 2), ("c", 2)):
        faiss.omp_set_num_threads(cores)
        write_faiss(tmp_path / name, vectors, exact_rows=exact_rows, seed=7)
        assert faiss.omp_get_max_threads() == cores
        files.append((tmp_path / name).read_bytes())
    faiss.omp_set_num_threads(threads)
    assert files[0] == files[1] == files[2]


@pytest.mark.parametrize("rows", ["all", "few lists are used", "more than are sampled"])
def test_lists_are_written_as_faiss_writes_them(tmp_path: Path, rows: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if rows == "more than are sampled":
        monkeypatch.setattr(faiss_index, "_TRAINING_ROWS_PER_LIST", 2)
    vectors = np.repeat(clustered(4), 300, axis=0) if rows == "few lists are used" else clustered(3000)
    np.save(tmp_path / "mapped.npy", vectors)
    write_faiss(tmp_path / "ours", np.load(tmp_path / "mapped.npy", mmap_mode="r"), exact_rows=0, seed=7)
    dimension, lists = vectors.shape[1], round(4 * len(vectors) ** 0.5)
    theirs = faiss.IndexIVFFlat(faiss.IndexFlatIP(dimension), dimension, lists, faiss.METRIC_INNER_PRODUCT)
    theirs.cp.seed, theirs.cp.niter, theirs.cp.spherical = 7, faiss_index._TRAINING_ROUNDS, True
    theirs.cp.max_points_per_centroid, theirs.cp.min_points_per_centroid = faiss_index._TRAINING_ROWS_PER_LIST, 1
    with faiss_index._one_thread():
        theirs.train(vectors)
        theirs.add(vectors)
    theirs.make_direct_map(True)
    faiss.write_index(theirs, str(tmp_path / "theirs"))
    written = (tmp_path / "theirs").read_bytes()
    assert (b"sprs" in written) == (rows == "few lists are used")
    assert (tmp_path / "ours").read_bytes()[: len(written)] == written


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_vectors_come_back_as_they_went_in(tmp_path: Path, exact_rows: int) -> None:
    vectors = clustered(500)
    index = written(tmp_path / "x.faiss", vectors, exact_rows)
    rows = np.array([499, 0, 7, 7])
    np.testing.assert_array_equal(index.vectors(rows), vectors[rows])
    assert index.vectors(np.empty(0, dtype=np.int64)).shape == (0, 32)


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_threads_share_an_open_index(tmp_path: Path, exact_rows: int) -> None:
    vectors = clustered(2000)
    index = written(tmp_path / "x.faiss", vectors, exact_rows)
    alone = index.search(vectors[:40], 5)
    found: list[tuple[Vectors, np.ndarray]] = []
    threads = [threading.Thread(target=lambda: found.append(index.search(vectors[:40], 5))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 6
    for scores, rows in found:
        np.testing.assert_array_equal(scores, alone[0])
        np.testing.assert_array_equal(rows, alone[1])


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(IndexCorrupt, match=r"gone\.faiss: cannot be read: No such file"):
        open_faiss(tmp_path / "gone.faiss", n_rows=1, dimension=2, probes=1)


@pytest.mark.parametrize("exact_rows", [10, 1])
def test_unwritable_place(tmp_path: Path, exact_rows: int) -> None:
    with pytest.raises(OSError, match="no folder"):
        write_faiss(tmp_path / "no folder" / "x.faiss", clustered(5), exact_rows=exact_rows, seed=7)


def test_an_exact_file_is_what_faiss_writes_and_is_searched_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    vectors = clustered(300)
    write_faiss(tmp_path / "x.faiss", vectors, exact_rows=300, seed=7)
    written = faiss.IndexFlatIP(32)
    written.add(vectors)
    faiss.write_index(written, str(tmp_path / "y.faiss"))
    assert (tmp_path / "x.faiss").read_bytes().startswith((tmp_path / "y.faiss").read_bytes())
    opened = [open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32, probes=1)]
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 300)
    opened.append(open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32, probes=1))
    monkeypatch.setattr(faiss_index, "_ROWS_WITHOUT_FAISS", 0)
    monkeypatch.setattr(faiss_index, "has_faiss", lambda: False)
    opened.append(open_faiss(tmp_path / "x.faiss", n_rows=300, dimension=32, probes=1))
    assert [type(each).__name__ for each in opened] == ["FaissIndex", "ExactIndex", "ExactIndex"]
    for found in zip(*(each.search(vectors[:20], 5) for each in opened), strict=True):
        np.testing.assert_array_equal(found[1], found[0])
        np.testing.assert_array_equal(found[2], found[0])
    with pytest.raises(MissingPart, match=r"300 vectors needs FAISS: pip install 'conspectus\[local\]'"):
        write_faiss(tmp_path / "z.faiss", vectors, exact_rows=299, seed=7)


def test_other_counts_than_expected(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    write_faiss(path, clustered(50), exact_rows=100, seed=7)
    for n_rows, dimension in ((51, 32), (50, 31)):
        with pytest.raises(IndexCorrupt, match="holds 50 vectors of dimension 32"):
            open_faiss(path, n_rows=n_rows, dimension=dimension, probes=1)


def test_other_kinds_of_faiss_index(tmp_path: Path) -> None:
    path = tmp_path / "x.faiss"
    for kind in (faiss.IndexFlatL2(32), faiss.IndexHNSWFlat(32, 8)):
        kind.add(clustered(50))
        faiss.write_index(kind, str(path))
        with pytest.raises(IndexCorrupt, match="not written by Conspectus"):
            open_faiss(path, n_rows=50, dimension=32, probes=1)
        finish(path)
        with pytest.raises(IndexCorrupt, match="not a FAISS index that Conspectus writes"):
            open_faiss(path, n_rows=50, dimension=32, probes=1)
    lists = faiss.IndexIVFFlat(faiss.IndexFlatL2(32), 32, 1, faiss.METRIC_L2)
    lists.train(clustered(50))
    lists.add(clustered(50))
    faiss.write_index(lists, str(path))
    finish(path)
    with pytest.raises(IndexCorrupt, match="inner product"):
        open_faiss(path, n_rows=50, dimension=32, probes=1)


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_a_file_cut_short_is_corrupt(tmp_path: Path, exact_rows: int) -> None:
    path = tmp_path / "x.faiss"
    write_faiss(path, clustered(300), exact_rows=exact_rows, seed=7)
    whole = path.read_bytes()
    for length in [0, 1, 3, 4, 20, len(whole) - 1, *random.Random(1).sample(range(len(whole)), 50)]:
        path.write_bytes(whole[:length])
        with pytest.raises(IndexCorrupt):
            open_faiss(path, n_rows=300, dimension=32, probes=4)


@pytest.mark.parametrize("exact_rows", [10_000, 10])
def test_a_damaged_header_never_ends_in_another_error(tmp_path: Path, exact_rows: int) -> None:
    path, chance = tmp_path / "x.faiss", random.Random(2)
    vectors = clustered(300)
    write_faiss(path, vectors, exact_rows=exact_rows, seed=7)
    whole, refused = path.read_bytes(), 0
    for _ in range(100):
        damaged = bytearray(whole)
        damaged[chance.randrange(60)] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        try:
            index = open_faiss(path, n_rows=300, dimension=32, probes=4)
            index.search(vectors[:2], 3)
        except IndexCorrupt:
            refused += 1
    assert refused > 20
