"""Requests that a fake server recorded, in this process or in another."""

import json
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(slots=True)
class Recorded:
    """One request and its outcome.

    `bearer` is the API key that was sent. Times are seconds since the epoch; `replied` is just before the last byte was
    sent, or when the client disconnected. `status` stays None if no reply was sent. `fault` is the injected fault,
    `rejected` the rate limit that was reached. `attempt` counts earlier requests with the body, `key` is its hash.
    """

    number: int
    path: str
    body: Mapping[str, Any] | None
    bearer: str | None
    arrived: float
    attempt: int
    replied: float | None = None
    status: int | None = None
    fault: str | None = None
    rejected: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    key: str = ""


@dataclass(frozen=True, slots=True)
class Measures:
    """Totals over all requests so far.

    `statuses` counts by status, "none" for requests without a reply so far. `second_429` counts the 429s sent to bodies
    that had already received one, `paid_again` whole replies beyond the first to one body. `in_flight` counts running
    requests; its mean is weighted by time over `seconds`.
    """

    requests: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    second_429: int = 0
    paid_again: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    in_flight_peak: int = 0
    in_flight_mean: float = 0.0
    seconds: float = 0.0

    @classmethod
    def of(cls, rows: Sequence[Recorded]) -> "Measures":
        """Return the totals over requests."""
        changes = sorted([(row.arrived, 1) for row in rows] + [(row.replied, -1) for row in rows if row.replied])
        in_flight = peak = 0
        area = last = 0.0
        for at, change in changes:
            area, last = area + in_flight * (at - last), at
            in_flight += change
            peak = max(peak, in_flight)
        seconds = last - changes[0][0] if changes else 0.0
        refused = Counter(row.key for row in rows if row.status == 429)
        paid = Counter(row.key for row in rows if row.status == 200 and row.fault is None)
        return cls(
            requests=len(rows),
            statuses=dict(Counter("none" if row.status is None else str(row.status) for row in rows)),
            faults=dict(Counter(row.fault for row in rows if row.fault is not None)),
            second_429=refused.total() - len(refused),
            paid_again=paid.total() - len(paid),
            prompt_tokens=sum(row.prompt_tokens for row in rows),
            completion_tokens=sum(row.completion_tokens for row in rows),
            in_flight=in_flight,
            in_flight_peak=peak,
            in_flight_mean=area / seconds if seconds > 0 else 0.0,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True)
class FakeProcess:
    """A fake server in another process: its base URL and the process."""

    url: str
    process: subprocess.Popen[str]

    def requests(self, start: int = 0) -> list[Recorded]:
        """Return the requests from number `start` on."""
        return [Recorded(**row) for row in self._recorded(start)["records"]]

    def measures(self) -> Measures:
        """Return the totals over all requests so far."""
        return Measures(**self._recorded(sys.maxsize)["measures"])

    def _recorded(self, start: int) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/fake/requests?from={start}", timeout=60) as reply:  # noqa: S310
            recorded: dict[str, Any] = json.load(reply)
        return recorded


@contextmanager
def fake_process(*arguments: str) -> Iterator[FakeProcess]:
    """Run `python -m benchmarks.fake_server` with these arguments until the block ends.

        with fake_process("--latency", "0.2", "--rpm", "600") as server:
            ...  # server.url, server.measures()

    Raises:
        ChildProcessError: It did not start; the reason is on stderr.
    """
    command = [sys.executable, "-m", "benchmarks.fake_server", *arguments]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise ChildProcessError(f"the fake server did not start; it ended with status {process.wait()}")
            yield FakeProcess(url, process)
        finally:
            process.terminate()
