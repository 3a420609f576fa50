"""Run the shards of a step on the workers of a Dask scheduler: several machines over one shared folder.

Only paths and counts go through the scheduler. The driver writes the items of each shard as a JSON file next to the
memo; a worker reads it, does the work into a memo of its own, on its own disk, and puts that beside the shard's file
under its final name. The driver adds these memos to the index's memo, in the order of the shards. So one process writes
the index's memo (SQLite), as a network file system requires, and any number of workers gives the same index.

A shard that was on a worker that died is given to another one; its result is the same, and what it left half-done has
another name. Work that calls a server (`in_driver`) is not distributed: limits and budgets are counted in one process.

    dask scheduler                                  # prints tcp://HOST:8786
    dask worker tcp://HOST:8786 --nthreads 1        # on each machine, once a core; the index at the same path
    conspectus index docs --runner dask://HOST:8786
"""

import json
import shutil
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from conspectus.pipelines.runner import Progress, RunHere
from conspectus.storage.errors import MissingPart, SettingsError
from conspectus.storage.memo import Memo

if TYPE_CHECKING:
    from distributed import Future

Item = TypeVar("Item")
Result = TypeVar("Result")

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer."""
NO_WORKERS_SECONDS = 60.0
"""How long a build waits for a worker while there is none."""
KILLS_A_SHARD = 3
"""How often a shard is submitted again after Dask gave it up, which it does when four workers died while on it."""
FOLDER = "shards"
"""The folder of the shards of running steps, next to the memo."""


class RunOnDask:
    """Runs shards on the workers of a Dask scheduler. Use it as a context manager: it holds a connection.

    Args:
        address: `dask://HOST:PORT`, or `dask+tls://HOST:PORT` with the certificates of Dask's own configuration.
        progress: called as shards are done.

    Raises:
        SettingsError: no scheduler answers at the address.
        MissingPart: the package `distributed` is not installed.
    """

    def __init__(self, address: str, progress: Progress) -> None:
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingPart("the runner dask:// needs Dask: pip install 'conspectus[dask]'") from error
        self._address, self._progress = address, progress
        self.in_driver = RunHere(progress)
        scheme, _, place = address.partition("://")
        try:
            self._client: Client = Client(
                f"{'tls' if scheme == 'dask+tls' else 'tcp'}://{place}", timeout=CONNECT_SECONDS, set_as_default=False
            )
        except (OSError, TimeoutError, ValueError) as error:
            raise SettingsError(
                f"no Dask scheduler answers at {address} (build.runner): start one with `dask scheduler`"
            ) from error

    def __enter__(self) -> "RunOnDask":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards of one step.

        Args:
            step: the name of the step.
            work: a partial of a top-level function with the keyword `memo_path`, the memo that it writes to.
            parts: the shards; their items are JSON values.

        Returns:
            What `work` returned for each shard, in their order.

        Raises:
            SettingsError: there is no worker, or a worker does not see the folder of the index.
        """
        if not parts:
            return []
        if not isinstance(work, partial) or "memo_path" not in work.keywords:
            raise TypeError(f"step {step}: the work of a shard is a partial with a memo_path")
        memo = Memo(work.keywords["memo_path"])
        folder = memo.path.resolve().parent / FOLDER / uuid.uuid4().hex
        folder.mkdir(parents=True)
        try:
            for number, part in enumerate(parts):
                (folder / f"{number}.json").write_text(json.dumps(list(part), ensure_ascii=False), "utf-8")
            results = self._on_workers(step, partial(work_on_shard, work, str(folder)), [len(part) for part in parts])
            for number in range(len(parts)):
                memo.add_all_of(folder / f"{number}.memo")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return results

    def _on_workers(self, step: str, work: Callable[[int], Result], sizes: Sequence[int]) -> list[Result]:
        """Run `work` on each shard's number and return the results; start a shard again if its worker died of it."""
        from distributed import KilledWorker, wait

        def submit(number: int) -> "Future[Any]":
            return self._client.submit(work, number, key=f"{step}-{uuid.uuid4().hex}", pure=False)

        running = {submit(number): number for number in range(len(sizes))}
        results: dict[int, Result] = {}
        deaths: Counter[int] = Counter()
        alone_since, done = time.monotonic(), 0
        self._progress(step, 0, sum(sizes))
        while running:
            try:
                with self._client.as_current():
                    finished = wait(list(running), timeout=1, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                finished = set()
            if self._client.scheduler_info()["workers"]:
                alone_since = time.monotonic()
            elif time.monotonic() - alone_since > NO_WORKERS_SECONDS:
                raise SettingsError(
                    f"no worker has joined the Dask scheduler at {self._address} for {NO_WORKERS_SECONDS:.0f} s: "
                    "start one with `dask worker tcp://HOST:PORT --nthreads 1`"
                )
            for future in finished:
                number = running.pop(future)
                try:
                    results[number] = future.result()
                except KilledWorker:
                    deaths[number] += 1
                    if deaths[number] > KILLS_A_SHARD:
                        raise
                    running[submit(number)] = number
                    continue
                done += sizes[number]
                self._progress(step, done, sum(sizes))
        return [results[number] for number in range(len(sizes))]


def work_on_shard(work: "partial[Result]", folder: str, number: int) -> Result:
    """Work on a shard in a worker's process and put the memo with its results beside it.

    Args:
        work: the work, with the keyword `memo_path`.
        folder: the folder of the step, which the driver made.
        number: the number of the shard.

    Raises:
        SettingsError: this machine does not see the folder.
    """
    shard, target = Path(folder, f"{number}.json"), Path(folder, f"{number}.memo")
    try:
        items = json.loads(shard.read_text("utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"a Dask worker does not see {shard.parent}: the index must be in a folder that all machines share"
        ) from error
    with tempfile.TemporaryDirectory() as own:
        memo = Memo(Path(own, "memo.sqlite"))
        result = work.func(items, *work.args, **{**work.keywords, "memo_path": memo.path})
        half = target.with_name(f"{target.name}.{uuid.uuid4().hex}")
        shutil.copyfile(memo.path, half)
        half.replace(target)
    return result
