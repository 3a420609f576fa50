"""What the server was asked and what it sent, while it runs and in a log that outlives it."""

import json
import os
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request and what became of it.

    `body` is None where it was no JSON object. `headers` are those sent, in lower case, without the key; `bearer` is
    the key (of Authorization or api-key; "***" in the log), None where there was none. Times are seconds since the
    epoch: `arrived` when the request was whole, `replied` just before the last byte of the reply (or when the client
    was gone). `status` is None while there is no reply, and stays None where none was sent. `fault` is what went
    wrong on purpose, `refused` the limit that was reached. `attempt` counts the requests with this very body, from 0.
    Prompt tokens count even where the reply is an error; completion tokens are those of the reply.
    """

    number: int
    path: str
    body: Mapping[str, Any] | None
    headers: Mapping[str, str]
    bearer: str | None
    arrived: float
    replied: float | None = None
    status: int | None = None
    fault: str | None = None
    refused: str | None = None
    attempt: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Measures:
    """What all requests so far come to.

    `statuses` counts by status, "none" where nothing was sent (or not yet); `faults` by kind. `second_429` counts the
    429 sent to bodies that had got one before: a client that is alone and waits as told causes none. `in_flight_mean`
    is weighted by time, from the first request to the last reply; `seconds` is that stretch.
    """

    requests: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    second_429: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    in_flight: int = 0
    in_flight_peak: int = 0
    in_flight_mean: float = 0.0
    seconds: float = 0.0


@dataclass(slots=True)
class _Flight:
    """How many requests are under way, summed over time."""

    now: int = 0
    peak: int = 0
    began: float | None = None
    changed: float = 0.0
    area: float = 0.0

    def change(self, at: float, by: int) -> None:
        if self.began is None:
            self.began = self.changed = at
        self.area += self.now * (at - self.changed)
        self.changed = at
        self.now += by
        self.peak = max(self.peak, self.now)


class Records:
    """All requests in order of arrival. Only the server's thread writes; any thread may read."""

    def __init__(self, log: Path | None = None) -> None:
        self._log = None if log is None else os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        # Times are told in seconds since the epoch but measured on a clock that never jumps.
        self._epoch = time.time() - time.monotonic()
        self._rows: list[Recorded] = []
        self._attempts: dict[bytes, int] = {}
        self._limited: set[bytes] = set()
        self._second_429 = 0
        self._flight = _Flight()

    @property
    def in_flight(self) -> int:
        """How many requests are under way."""
        return self._flight.now

    def rows(self, start: int = 0) -> list[Recorded]:
        """Return the requests from the given number on."""
        return self._rows[start:]

    def arrive(
        self, path: str, raw: bytes, body: Mapping[str, Any] | None, headers: Mapping[str, str], bearer: str | None
    ) -> Recorded:
        """Record a request that has just arrived."""
        now = time.monotonic()
        key = _key(raw)
        attempt = self._attempts.get(key, 0)
        self._attempts[key] = attempt + 1
        row = Recorded(len(self._rows), path, body, headers, bearer, now + self._epoch, attempt=attempt)
        self._rows.append(row)
        self._flight.change(now, 1)
        return row

    def finish(
        self,
        row: Recorded,
        raw: bytes,
        status: int | None,
        fault: str | None = None,
        refused: str | None = None,
        prompt_tokens: int = 0,
        completion_tokens: int = 0,
    ) -> None:
        """Record what became of a request, in the log too: before the last byte of the reply is sent."""
        now = time.monotonic()
        done = replace(
            row,
            replied=now + self._epoch,
            status=status,
            fault=fault,
            refused=refused,
            prompt_tokens=prompt_tokens,
            completion_tokens=completion_tokens,
        )
        self._rows[row.number] = done
        self._flight.change(now, -1)
        if status == 429:
            key = _key(raw)
            self._second_429 += key in self._limited
            self._limited.add(key)
        if self._log is not None:
            # A key is somebody's secret, and a log is kept. One write: a line is there as a whole or not at all.
            line = row_of(done) | {"bearer": None if done.bearer is None else "***"}
            os.write(self._log, json.dumps(line, ensure_ascii=False).encode(errors="replace") + b"\n")

    def measures(self) -> Measures:
        """Return what all requests so far come to."""
        rows = self.rows()
        flight = self._flight
        seconds = 0.0 if flight.began is None else flight.changed - flight.began
        return Measures(
            requests=len(rows),
            statuses=dict(Counter("none" if row.status is None else str(row.status) for row in rows)),
            faults=dict(Counter(row.fault for row in rows if row.fault is not None)),
            second_429=self._second_429,
            prompt_tokens=sum(row.prompt_tokens for row in rows),
            completion_tokens=sum(row.completion_tokens for row in rows),
            in_flight=flight.now,
            in_flight_peak=flight.peak,
            in_flight_mean=flight.area / seconds if seconds > 0 else 0.0,
            seconds=seconds,
        )

    def close(self) -> None:
        """Close the log."""
        if self._log is not None:
            os.close(self._log)
            self._log = None


def row_of(recorded: Recorded) -> dict[str, Any]:
    """Return a record as JSON takes it: its fields by name."""
    return {name: getattr(recorded, name) for name in _FIELDS}


_FIELDS = tuple(each.name for each in fields(Recorded))


def _key(raw: bytes) -> bytes:
    return blake2b(raw, digest_size=16).digest()
