"""A build on a real Dask scheduler with worker processes gives the index of a build without one."""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random

import pytest
from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.dask_runner import FOLDER, work_on_shard
from conspectus.storage.errors import SettingsError
from conspectus.storage.settings import Settings, load_settings
from distributed import Client

from benchmarks.fake_server import FakeServer
from tests.command_line import conspectus
from tests.end_to_end.dask_cluster import Cluster, checksums, cluster
from tests.waiting import LIMIT

NAMES = ("Aldis", "Brenna", "Corvin", "Dagny", "Edda", "Falk", "Greta", "Hauke")


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents that make about thirty shards."""
    folder = tmp_path_factory.mktemp("notes")
    random = Random(5)
    for number in range(90):
        first, second = random.sample(NAMES, 2)
        text = f"{first} Nordal met {second} Vik at pier {number}. They repaired the ferry Petrel in {1900 + number}."
        (folder / f"{number}.txt").write_text(text, "utf-8")
    return folder


def settings(**build: object) -> Settings:
    return load_settings(None, {"build": {"shard_size": 5, **build}})


@pytest.fixture(scope="module")
def without_dask(notes: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    index = tmp_path_factory.mktemp("here") / "index"
    build_index([notes], index, settings())
    return checksums(index)


@pytest.fixture(scope="module")
def dask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler, to which tests add the workers that they need."""
    with cluster(tmp_path_factory.mktemp("dask"), 0) as made:
        yield made


def with_workers(dask: Cluster, number: int) -> Client:
    """Return a client of the scheduler once it has so many workers."""
    while len(dask.workers) < number:
        dask.add_worker()
    client = Client(dask.address, set_as_default=False)
    client.wait_for_workers(number, timeout=LIMIT)
    return client


def test_without_workers_a_build_ends_with_what_to_start(
    dask: Cluster, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not dask.workers, "this test comes first"
    monkeypatch.setattr("conspectus.pipelines.dask_runner.NO_WORKERS_SECONDS", 1.5)
    with pytest.raises(SettingsError, match="start one with `dask worker"):
        build_index([notes], tmp_path / "index", settings(runner=dask.runner))


def test_calls_of_a_server_are_made_by_the_driver_and_once(dask: Cluster, notes: Path, tmp_path: Path) -> None:
    with FakeServer() as server, with_workers(dask, 1):
        chosen = load_settings(
            None,
            {
                "build": {"shard_size": 5, "runner": dask.runner},
                "extraction": {"pipeline": "regex"},
                "embedding": {"provider": "endpoint", "model": "m"},
                "embedding_server": {"base_url": server.url},
            },
        )
        build_index([notes], tmp_path / "index", chosen)
        texts = [text for row in server.requests for text in (row.body or {})["input"]]
    assert texts
    assert len(texts) == len(set(texts))


def test_a_build_outlives_workers_that_are_killed(
    dask: Cluster, notes: Path, without_dask: dict[str, str], tmp_path: Path
) -> None:
    with with_workers(dask, 2) as client:
        killed: list[int] = []
        told: list[tuple[str, int, int]] = []

        def kill(step: str, done: int, total: int) -> None:
            """Kill a worker twice when shards are done and others are under way, once all have joined."""
            told.append((step, done, total))
            if step == "extract" and 0 < done < total and len(killed) < 2:
                dask.kill_worker(len(killed) % 2)
                dask.add_worker()
                killed.append(done)
                client.wait_for_workers(2, timeout=LIMIT)

        build_index([notes], tmp_path / "index", settings(runner=dask.runner), None, kill)
    assert len(killed) == 2
    assert checksums(tmp_path / "index") == without_dask
    assert ("extract", 90, 90) in told
    assert not list((tmp_path / "index" / "cache" / FOLDER).iterdir()), "files of shards are deleted"


def test_a_scheduler_that_is_not_there_is_one_clear_error(
    notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conspectus.pipelines.dask_runner.CONNECT_SECONDS", 0.5)
    done = conspectus("index", str(notes), "--index", str(tmp_path / "index"), "--runner", "dask://127.0.0.1:9")
    assert done.status == 2
    assert done.err.strip().endswith(
        "no Dask scheduler answers at dask://127.0.0.1:9 (build.runner): start one with `dask scheduler`"
    )


def test_a_worker_that_does_not_see_the_folder_says_so(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="a folder that all machines share"):
        work_on_shard(partial(_nothing, memo_path=tmp_path), str(tmp_path / "not mounted"), 0)


def _nothing(items: Sequence[str], memo_path: Path) -> None:
    """Do nothing with a shard."""
