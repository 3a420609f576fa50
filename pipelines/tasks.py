"""All that is known of Prefect: the flow `index`, and how a step's shards become its tasks.

`prefect deployment run index/index` runs `index` below; the command line runs the same steps in its own process
unless a Prefect API is configured. One task covers a shard of many items. Results are never persisted by Prefect
(its default serialiser is pickle): a task leaves its results in the memo and returns what it could not do.
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

os.environ.setdefault("PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS", "120")  # 20 s is short on two busy cores

from prefect import flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE

from pipelines.index import build_index, summary
from storage.settings import load_settings

Item = TypeVar("Item")
Result = TypeVar("Result")


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
            cache_policy=NO_CACHE,
        )(work_on_shard)
        futures = [shard.submit(work, part, number, len(parts)) for number, part in enumerate(parts, start=1)]
        return [future.result() for future in futures]


def work_on_shard(work: Callable[[Sequence[Item]], Result], part: Sequence[Item], number: int, total: int) -> Result:
    """Run one shard; `number` of `total` is for the run's name."""
    return work(part)


@flow(name="index", persist_result=False)
def index(
    inputs: list[str],
    index: str,
    settings_file: str | None = None,
    settings: dict[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Make the index at `index` equal to the documents in `inputs`.

    Paths are those of the machine that the flow runs on. `settings` ({section: {key: value}}) outweighs
    `settings_file`. Returns what was done; the failures themselves are rows of the index.
    """
    chosen = load_settings(Path(settings_file) if settings_file else None, settings)
    report = build_index(inputs, Path(index), chosen, RunAsTasks(chosen.build.retries))
    done = summary(report)
    get_run_logger().info("%s version %s: %s", "unchanged" if report.unchanged else "published", report.version, done)
    return done
