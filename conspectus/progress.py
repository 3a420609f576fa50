"""Progress of long work: a bar on a terminal, plain lines elsewhere. Always on stderr, so that output can be piped."""

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from conspectus.pipelines.runner import Progress

_SECONDS_BETWEEN_LINES = 10.0


@contextmanager
def progress(quiet: bool = False) -> Iterator[Progress]:
    """Yield a function that shows progress; it shows nothing if `quiet`."""
    if quiet:
        yield lambda _what, _done, _total: None
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        with _bars() as report:
            yield report
    else:
        yield _lines()


@contextmanager
def _bars() -> Iterator[Progress]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars

    columns = (TextColumn("{task.description:18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Bars(*columns, console=Console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if total:
                if what not in tasks:
                    tasks[what] = bars.add_task(what, total=total)
                bars.update(tasks[what], completed=done, total=total)

        yield report


def _lines() -> Progress:
    """Write a line when something is done, and in between every ten seconds."""
    last = time.monotonic()

    def report(what: str, done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if total and (done == total or now - last >= _SECONDS_BETWEEN_LINES):
            last = now
            sys.stderr.write(f"{what}: {done} of {total}\n")
            sys.stderr.flush()

    return report
