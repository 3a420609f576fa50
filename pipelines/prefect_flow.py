"""The Prefect flow `index`, whose tasks are the shards of a step. No other module imports Prefect.

`prefect deployment run index/index` runs `index` below; the command line runs the same steps in its own process
unless a Prefect API is configured. A task covers a shard of many items. Prefect persists no results: a task leaves its
results in the memo and returns its failures.

Two ways deploy it without a checkout, from any folder: `prefect deploy` with a prefect.yaml that names the entrypoint
`conspectus.pipelines.prefect_flow:index` and a work pool; or in Python `index.deploy(name="index", work_pool_name="…",
entrypoint_type=EntrypointType.MODULE_PATH)` (EntrypointType is in prefect.deployments.runner). `index.serve()` runs it
without a work pool. `Flow.from_source` is for flows in a repository, and does not find an installed module.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from conspectus.pipelines.build_index import build_index
from conspectus.pipelines.build_report import summary
from conspectus.pipelines.incremental import change_documents
from conspectus.pipelines.remote_index.local_copy import written
from conspectus.pipelines.runner import Progress, Runner, callers_progress, no_progress, open_runner, progress_for_calls
from conspectus.storage.errors import ConspectusError, SettingsError, UsageError
from conspectus.storage.settings import Settings, load_settings
from prefect import State, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 2
"""How often Prefect retries a failed shard."""
_NO_PICKLE = "json"
"""Serializer for the exception that ends a run, which Prefect writes even if results are not persisted."""


class RunAsTasks:
    """Runs the shards of a step as Prefect tasks, submitted together, with retries.

    With a runner below it (Dask), a step is one task: the runner distributes the shards.
    """

    def __init__(self, retries: int, below: Runner | None = None, progress: Progress = no_progress) -> None:
        self._retries = retries
        self._below = below
        self._progress = progress
        if below is not None:
            self.in_driver = RunAsTasks(retries, progress=progress)

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Submit every shard and wait for all; a shard that still fails after its retries fails the run."""
        if self._below is not None:
            return cast(list[Result], self._task(step, step)(self._below).submit(step, work, parts).result())
        shard = self._task(step, f"{step} {{number}}/{{total}}")(work_on_shard)
        futures = [shard.submit(work, part, number, len(parts)) for number, part in enumerate(parts, start=1)]
        results, done, total = [], 0, sum(map(len, parts))
        for part, future in zip(parts, futures, strict=True):
            self._progress(step, done, total)
            results.append(future.result())
            done += len(part)
        if total:
            self._progress(step, total, total)
        return results

    def _task(self, name: str, run_name: str) -> Callable[[Callable[..., Result]], Task[..., Result]]:
        return task(
            name=name,
            task_run_name=run_name,
            retries=self._retries,
            retry_delay_seconds=1,
            persist_result=False,
            result_serializer=_NO_PICKLE,
            cache_policy=NO_CACHE,
        )


def work_on_shard(work: Callable[[Sequence[Item]], Result], part: Sequence[Item], number: int, total: int) -> Result:  # noqa: ARG001  (the run's name)
    """Run one shard; `number` of `total` appear in the run's name."""
    return work(part)


@flow(
    name="index",
    persist_result=False,
    result_serializer=_NO_PICKLE,
    # Prefect's default is a thread for every submitted task.
    task_runner=ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1),  # type: ignore[arg-type]  # invariant
)
def index(
    inputs: list[str],
    index: str,
    settings_file: str | None = None,
    settings: dict[str, dict[str, Any]] | None = None,
    retry_failed: bool = False,
    keep: bool = False,
    remove: list[str] | None = None,
) -> dict[str, Any] | State[Any]:
    """Make the index at `index` equal to the documents in `inputs`.

    With `keep` the documents that the index holds stay, except those that `remove` names, and `inputs` are added to
    them, as by `conspectus add` and `conspectus remove`.

    Paths are those of the machine that runs the flow. `settings` ({section: {key: value}}) override `settings_file`.
    `retry_failed` retries failures, and asks a model again for incomplete replies. Returns the report of the build; the
    failures themselves are rows of the index. An error that the user can fix ends the run as failed, with the error's
    message and no stack trace.
    """
    try:
        chosen = load_settings(Path(settings_file) if settings_file else None, settings)
        progress = callers_progress()
        with written(index, wait=chosen.build.wait) as folder, open_runner(chosen.build.runner, progress) as run:
            tasks = RunAsTasks(RETRIES, run if chosen.build.runner else None, progress)
            change = partial(change_documents, inputs, remove or ()) if keep else partial(build_index, inputs)
            report = change(folder, chosen, tasks, progress, retry_failed=retry_failed)
    except ConspectusError as error:
        return Failed(message=str(error), data=error)
    done = {**summary(report), "index": index}
    get_run_logger().info("%s version %s: %s", "unchanged" if report.unchanged else "published", report.version, done)
    return done


def run_flow(
    inputs: Sequence[str | Path],
    index_folder: str | Path,
    settings: Settings,
    *,
    retry_failed: bool = False,
    keep: bool = False,
    remove: Sequence[str] = (),
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Run the flow in this process, under the Prefect API that is configured; SettingsError if none answers.

    UsageError for a URL that contains a password: Prefect stores and shows the parameters of a flow.
    """
    if any(urlsplit(str(name)).password for name in (*inputs, index_folder)):
        raise UsageError(
            "a URL contains a password, which Prefect would show; "
            "give it by the environment (as the library of the store reads it), or unset PREFECT_API_URL"
        )
    with get_client(sync_client=True) as client:
        problem = client.api_healthcheck()
        if problem:
            raise SettingsError(
                f"no Prefect server answers at {client.api_url} (PREFECT_API_URL): {problem}; "
                f"start it with `prefect server start`, or unset the variable to index without Prefect"
            )
    with progress_for_calls(progress):
        done = index(
            [str(name) for name in inputs],
            str(index_folder),
            settings=settings.model_dump(mode="json"),
            retry_failed=retry_failed,
            keep=keep,
            remove=list(remove),
        )
    return cast(dict[str, Any], done)
