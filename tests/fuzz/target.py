"""One thing that is fuzzed, and how a case of it is run within bounds of time and memory."""

import contextlib
import resource
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from tests.fuzz.mutations import cases as mutated

MOST_SECONDS = 5.0
MOST_BYTES = 1_000_000_000


@dataclass(frozen=True)
class Target:
    """What takes bytes that somebody else made. `run` swallows our own errors and lets all others through."""

    name: str
    seeds: tuple[bytes, ...]
    run: Callable[[bytes], None]


@dataclass(frozen=True)
class Found:
    """A case that did what none may do."""

    target: str
    number: int
    what: str
    case: bytes


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in the block after so many seconds; compiled code that does not return is not interrupted."""

    def late(*_: object) -> None:
        raise TimeoutError(f"it took more than {seconds:g} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def peak() -> int:
    """Return the most memory that this process has ever held, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def fuzz(target: Target, cases: Iterator[bytes], begun: Callable[[int], None] = lambda _: None) -> Iterator[Found]:
    """Yield every case that raised what is none of our errors, took too long, or too much memory.

    `begun` is told the number of each case before it is run, for those that end the process.
    """
    before = peak()
    for number, case in enumerate(cases):
        begun(number)
        began = time.process_time()
        try:
            with at_most(4 * MOST_SECONDS):  # of the clock: others compute too
                target.run(case)
        except Exception as error:  # noqa: BLE001  (whatever it is, it is what is looked for)
            yield Found(target.name, number, f"{type(error).__name__}: {error}", case)
        took, now = time.process_time() - began, peak()
        if took > MOST_SECONDS:
            yield Found(target.name, number, f"{took:.1f} s", case)
        if now - before > MOST_BYTES:
            yield Found(target.name, number, f"{(now - before) / 1e9:.1f} GB", case)
            before = now


def found(targets: Iterable[Target], count: int) -> list[Found]:
    """Return what so many cases of each target found; they are the same each time."""
    return [each for target in targets for each in fuzz(target, mutated(target.seeds, count, seed=len(target.name)))]
