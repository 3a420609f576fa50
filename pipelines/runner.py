"""How the shards of a step are run. A step gives its work to a Runner and does not know what is behind it."""

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[str, int, int], None]
"""Told (step, shards done, shards in all) as work goes on."""


class Runner(Protocol):
    """Runs `work` on every shard and returns the results in the order of the shards.

    `work` must be picklable (a top-level function or a partial of one), because a shard may run in another
    process or on another machine. Running a shard twice does no harm: its results are remembered by content.
    """

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run one step's shards."""
        ...


def no_progress(step: str, done: int, total: int) -> None:
    """Say nothing."""


class RunHere:
    """Runs shards one after the other in this process."""

    def __init__(self, progress: Progress = no_progress) -> None:
        self._progress = progress

    def __call__(
        self, step: str, work: Callable[[Sequence[Item]], Result], parts: Sequence[Sequence[Item]]
    ) -> list[Result]:
        """Run the shards in order."""
        results = []
        for done, part in enumerate(parts):
            self._progress(step, done, len(parts))
            results.append(work(part))
        self._progress(step, len(parts), len(parts))
        return results


def shards(items: Sequence[Item], size: int) -> list[Sequence[Item]]:
    """Cut items into runs of `size`, the last one shorter.

    >>> shards("abcde", 2)
    ['ab', 'cd', 'e']
    """
    return [items[start : start + size] for start in range(0, len(items), size)]
