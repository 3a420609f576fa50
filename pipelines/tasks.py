"""The Prefect flow `index`, whose tasks are the shards of a step. No other module imports Prefect.

`prefect deployment run index/index` runs `index` below; the command line runs the same steps in its own process
unless a Prefect API is configured. A task covers a shard of many items. Prefect persists no results: a task leaves its
results in the memo and returns what it could not do.

Two ways deploy it without a checkout, from any folder: `prefect deploy` with a prefect.yaml that names the entrypoint
`conspectus.pipelines.tasks:index` and a work pool; or in Python `index.deploy(name="index", work_pool_name="...",
entrypoint_type=EntrypointType.MODULE_PATH)` (EntrypointType is in prefect.deployments.runner). `index.serve()` runs it
without a work pool. `Flow.from_source` is for flows in a repository, and does not find an installed module.
"""

import logging
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, cast
from urllib.parse import urlsplit

from conspectus.pipelines.build_report import summary
from conspectus.pipelines.index import build_index
from conspectus.storage.errors import ConspectusError, SettingsError, UsageError
from conspectus.storage.settings import Settings, load_settings
from prefect import State, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

Item = TypeVar("Item")
Result = TypeVar("Result")

RETRIES = 2
"""Times Prefect runs a failed shard again."""
_NO_PICKLE = "json"
"""How Prefect would write the exception that ends a run, which it does even where results are not persisted."""


class RunAsTasks:
    """Runs the shards of a step as Prefect tasks, submitted together, with retries."""

    def __init__(self, retries: int) -> None:
        self._retries = retries

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Submit every shard and wait for all; a shard that still fails after its retries fails the run."""
        shard = task(
            name=step,
            task_run_name=f"{step} {{number}}/{{total}}",
            retries=self._retries,
            retry_delay_seconds=1,
            persist_result=False,
            result_serializer=_NO_PICKLE,
            cache_policy=NO_CACHE,
        )(work_on_shard)
        futures = [shard.submit(work, part, number, len(parts)) for number, part in enumerate(parts, start=1)]
        return [future.result() for future in futures]


def work_on_shard(work: Callable[[Sequence[Item]], Result], part: Sequence[Item], number: int, total: int) -> Result:  # noqa: ARG001  (the run's name)
    """Run one shard; `number` of `total` is for the run's name."""
    return work(part)


@flow(
    name="index",
    persist_result=False,
    result_serializer=_NO_PICKLE,
    # Prefect's own default is a thread for every task that was submitted, however many they are.
    task_runner=ThreadPoolTaskRunner(max_workers=os.cpu_count() or 1),  # type: ignore[arg-type]  # invariant
)
def index(
    inputs: list[str],
    index: str,
    settings_file: str | None = None,
    settings: dict[str, dict[str, Any]] | None = None,
    retry_failed: bool = False,
) -> dict[str, Any] | State[Any]:
    """Make the index at `index` equal to the documents in `inputs`.

    Paths are those of the machine that the flow runs on. `settings` ({section: {key: value}}) outweighs
    `settings_file`. `retry_failed` tries again what had failed, and asks a model again for replies that lost
    something. Returns what was done; the failures themselves are rows of the index. What the user can put
    right ends the run as failed, with the error's message and no stack trace.
    """
    logging.getLogger("bm25s").propagate = False  # it sets itself to DEBUG, which Prefect's handler would show
    try:
        chosen = load_settings(Path(settings_file) if settings_file else None, settings)
        report = build_index(inputs, Path(index), chosen, RunAsTasks(RETRIES), retry_failed=retry_failed)
    except ConspectusError as error:
        return Failed(message=str(error), data=error)
    done = summary(report)
    get_run_logger().info("%s version %s: %s", "unchanged" if report.unchanged else "published", report.version, done)
    return done


def run_flow(
    inputs: Sequence[str | Path], index_folder: Path, settings: Settings, *, retry_failed: bool = False
) -> dict[str, Any]:
    """Run the flow in this process, under the Prefect API that is configured; SettingsError if none answers.

    UsageError for a URL that holds a password: Prefect keeps and shows what a flow is given.
    """
    if any(urlsplit(str(name)).password for name in inputs):
        raise UsageError(
            "an input's URL holds a password, which Prefect would show; "
            "give it by the environment (as s3fs and others read it), or unset PREFECT_API_URL"
        )
    with get_client(sync_client=True) as client:
        problem = client.api_healthcheck()
        if problem:
            raise SettingsError(
                f"no Prefect server answers at {client.api_url} (PREFECT_API_URL): {problem}; "
                f"start it with `prefect server start`, or unset the variable to index without Prefect"
            )
    done = index(
        [str(name) for name in inputs],
        str(index_folder),
        settings=settings.model_dump(mode="json"),
        retry_failed=retry_failed,
    )
    return cast(dict[str, Any], done)
