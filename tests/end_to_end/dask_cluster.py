"""A Dask scheduler and worker processes for tests and benchmarks; workers can be killed."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

from conspectus.storage.index import StoredIndex
from distributed import Client

from tests.waiting import LIMIT, wait_until

DASK = [sys.executable, "-m", "dask"]


class Cluster:
    """A scheduler and worker processes, each of which can be killed."""

    def __init__(self, address: str, start: Callable[[], subprocess.Popen[bytes]]) -> None:
        self.address = address
        self._start = start
        self.workers: list[subprocess.Popen[bytes]] = []

    @property
    def runner(self) -> str:
        return self.address.replace("tcp://", "dask://")

    def add_worker(self) -> None:
        self.workers.append(self._start())

    def kill_worker(self, which: int) -> None:
        worker = self.workers.pop(which)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()


@contextmanager
def cluster(folder: Path, n_workers: int) -> Iterator[Cluster]:
    """Start a scheduler on a free port and workers, and stop them."""
    file = folder / "scheduler.json"
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"}
    with ExitStack() as stack:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [*DASK, *words, "--scheduler-file", str(file), "--no-dashboard"],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )

            def stop() -> None:
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait()

            stack.callback(stop)
            return process

        start("scheduler", "--host", "127.0.0.1", "--port", "0")
        wait_until(lambda: file.is_file() and file.stat().st_size)
        with Client(scheduler_file=str(file), set_as_default=False) as client:
            made = Cluster(client.scheduler.address, lambda: start("worker", "--nthreads", "1", "--no-nanny"))
            for _ in range(n_workers):
                made.add_worker()
            if n_workers:
                client.wait_for_workers(n_workers, timeout=LIMIT)
            yield made


@contextmanager
def killing(dask: Cluster, most: int, random: Random) -> Iterator[list[float]]:
    """Kill a worker at random moments and start another, up to `most` times; give the times of the kills.

    A worker is killed only while all have joined: a machine under load would else never finish a shard.
    """
    over = threading.Event()
    killed: list[float] = []
    n_workers = len(dask.workers)

    def kill_some() -> None:
        with Client(dask.address, set_as_default=False) as client:
            while len(killed) < most and not over.wait(random.uniform(0, 1)):
                if len(client.scheduler_info()["workers"]) == n_workers:
                    dask.kill_worker(random.randrange(n_workers))
                    dask.add_worker()
                    killed.append(time.monotonic())

    killer = threading.Thread(target=kill_some)
    killer.start()
    try:
        yield killed
    finally:
        over.set()
        killer.join()


def checksums(index: Path) -> dict[str, str]:
    """Return the checksum of every file of the current version."""
    return {name: str(facts["sha256"]) for name, facts in StoredIndex.open(index).manifest.files.items()}
