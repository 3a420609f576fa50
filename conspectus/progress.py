"""Progress of long operations as lines, on a terminal one that is written over; on stderr, so output can be piped."""

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conspectus.render.terminal import duration

if TYPE_CHECKING:
    from conspectus.pipelines.runner import Progress

_SECONDS_BETWEEN_LINES, _SECONDS_BETWEEN_FRAMES = 10.0, 0.1
_SECONDS_OF_A_RATE = 1.0
"""Seconds after which a rate and the remaining time are shown."""
_ITEMS = {
    "read": "files",
    "extract": "passages",
    "embed chunks": "passages",
    "embed names": "names",
    "embed entities": "names",
    "embed relations": "relations",
    "embed predicates": "predicates",
    "embed reports": "reports",
}
"""The items of each step of a build."""


@contextmanager
def progress(quiet: bool = False) -> "Iterator[Progress]":
    """Yield a function that reports progress; it shows nothing if `quiet`. Ctrl-C is raised by it if it was lost."""
    from conspectus.pipelines.runner import interruptible, no_progress  # imports asyncio, which --help does not need

    lines = _Lines(live=sys.stderr.isatty() and os.environ.get("TERM") != "dumb")
    try:
        with interruptible(no_progress if quiet else lines) as report:
            yield report
    finally:
        lines.close()


@dataclass(slots=True)
class _Step:
    """The progress of a step. A step whose items are not counted has a total of 0 until it ends."""

    name: str
    began: float = field(default_factory=lambda: time.monotonic())
    done: int = 0
    total: int = 0
    counted: bool = False
    updated: float = 0.0

    def update(self, done: int, total: int) -> None:
        self.counted = self.counted or (total > 0 and (done, total) != (1, 1)) or self.name in _ITEMS
        self.done, self.total, self.updated = done, total, time.monotonic()

    @property
    def has_ended(self) -> bool:
        return 0 < self.total <= self.done

    def __str__(self) -> str:
        """Return the progress in words: `128 of 415 passages, 2.1/s, 2 min 17 s left`."""
        now = time.monotonic()
        passed = (self.updated if self.has_ended else now) - self.began
        parts = []
        if self.counted and self.total:
            parts.append(f"{self.done:,} of {self.total:,} {_ITEMS.get(self.name, '')}".rstrip())
        worked = self.updated - self.began
        if self.counted and self.done and worked >= _SECONDS_OF_A_RATE:
            rate = self.done / worked
            parts.append(f"{rate:.3g}/s")
            if not self.has_ended:
                left = max((self.total - self.done) / rate - (now - self.updated), 0.0)
                return ", ".join([*parts, f"{duration(round(left))} left"])
        return ", ".join([*parts, duration(passed)])


def _is_message(what: str, done: int, total: int) -> bool:
    """Return whether a first report is no step, which is reported when it begins, but a sentence for the user."""
    return (done, total) == (1, 1) and what not in _ITEMS


class _Lines:
    """Writes a line when a step ends, and every ten seconds in between; a `live` one is written over by the next.

    For a step whose items are not counted, it writes a line after ten seconds, and at the end if it took a second.
    """

    def __init__(self, *, live: bool) -> None:
        self._between = _SECONDS_BETWEEN_FRAMES if live else _SECONDS_BETWEEN_LINES
        self._live = live
        self._steps: dict[str, _Step] = {}
        self._timers: dict[str, threading.Timer] = {}
        self._last = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        if what not in self._steps and _is_message(what, done, total):
            self._write(what, stays=True)
        step = self._steps.setdefault(what, _Step(what))
        step.update(done, total)
        if timer := self._timers.pop(what, None):
            timer.cancel()
        if step.has_ended:
            if step.counted or step.updated - step.began >= _SECONDS_OF_A_RATE:
                self._write(f"{step.name}: {step}", stays=True)
        elif not total:
            timer = self._timers[what] = threading.Timer(self._between, lambda: self._write(f"{step.name}: {step}"))
            timer.daemon = True
            timer.start()
        elif time.monotonic() - self._last >= self._between:
            self._write(f"{step.name}: {step}")

    def _write(self, line: str, *, stays: bool = False) -> None:
        self._last = time.monotonic()
        sys.stderr.write(f"\r\x1b[K{line}{chr(10) * stays}" if self._live else f"{line}\n")
        sys.stderr.flush()

    def close(self) -> None:
        """Stop writing."""
        for timer in self._timers.values():
            timer.cancel()
        if self._live:
            sys.stderr.write("\r\x1b[K")
