"""Faults that a fake server injects, and its rate limits."""

import math
import random
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, get_args

from benchmarks.fake_server.replies import FakeRequest

FaultKind = Literal["429", "500", "502", "503", "529", "html_502", "bad_json", "timeout", "drop", "cut", "slow"]
FAULT_KINDS: tuple[str, ...] = get_args(FaultKind)


@dataclass(frozen=True, slots=True)
class Faults:
    """Failures to inject: `Faults({"429": 0.1, "timeout": 0.01})` or `Faults(script={"Ashgrove": "500"})`.

    The kinds: 429, 500, 502, 503 and 529 are errors in the API's format; html_502 is a proxy's error page; bad_json
    is a broken body with status 200; timeout never answers; drop closes the connection before the headers; cut closes
    it in the middle of a body or stream; slow sends the body in ten parts.

    Args:
        rates: Probability of each kind, at most 1 in total.
        script: Kinds by request number (from 0) or by a regular expression searched in the prompt. One kind strikes
            every time. A list gives one kind per attempt at the same request (None for no fault), then no fault.
            The script takes precedence over the rates.
        by: "number" draws by request number, repeatable if requests arrive in the same order. "prompt" draws by
            path, prompt and attempt, repeatable in any order.
        retry_after: Seconds in the Retry-After header of 429, 502, 503 and 529.
        slow_seconds: Duration of a slow body.
        spoilers: Custom kinds, as functions from the text of a good reply to a spoilt one (None: null content).

    Raises:
        ValueError: On an unknown kind, or rates that are not probabilities.
    """

    rates: Mapping[str, float] = field(default_factory=dict)
    script: Mapping[int | str, str | Sequence[str | None]] = field(default_factory=dict)
    by: Literal["number", "prompt"] = "number"
    retry_after: float = 1.0
    slow_seconds: float = 1.0
    spoilers: Mapping[str, Callable[[str], str | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        scripted = [[kinds] if isinstance(kinds, str) else kinds for kinds in self.script.values()]
        known = {*FAULT_KINDS, *self.spoilers}
        for kind in [*self.rates, *(kind for kinds in scripted for kind in kinds if kind is not None)]:
            if kind not in known:
                raise ValueError(f"unknown fault {kind!r}; choose from {', '.join(sorted(known))}")
        if any(rate < 0 for rate in self.rates.values()) or sum(self.rates.values()) > 1 + 1e-9:
            raise ValueError("fault rates must be probabilities: none below 0, at most 1 in total")

    def draw(self, request: FakeRequest, seed: int) -> str | None:
        """Return the fault to inject into a request, None for no fault."""
        for key, kinds in self.script.items():
            if key == request.number if isinstance(key, int) else re.search(key, request.prompt):
                if isinstance(kinds, str):
                    return kinds
                return kinds[request.attempt] if request.attempt < len(kinds) else None
        drawn_for = request.number if self.by == "number" else (request.path, request.prompt, request.attempt)
        left = random.Random(repr((seed, drawn_for))).random()
        for kind, rate in self.rates.items():
            left -= rate
            if left < 0:
                return kind
        return None


@dataclass(frozen=True, slots=True)
class Limits:
    """Rate limits, answered with 429 when reached: `Limits(requests_per_minute=60)`. None means no limit.

    Rejected requests do not count. A completion's tokens count when it is sent, so it may exceed the limit;
    later requests then wait longer.

    Args:
        requests_per_minute: Requests in one window.
        tokens_per_minute: Prompt and completion tokens in one window.
        in_flight: Requests at the same time.
        window: Seconds in a "minute"; tests shorten it.
        shape: "sliding" applies to every window; "fixed" to consecutive windows from the first request on; "bucket" is
            a token bucket that starts full and refills evenly.

    Raises:
        ValueError: If a limit is below 1, or the window is not above 0.
    """

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    in_flight: int | None = None
    window: float = 60.0
    shape: Literal["sliding", "fixed", "bucket"] = "sliding"

    def __post_init__(self) -> None:
        limits = (self.requests_per_minute, self.tokens_per_minute, self.in_flight)
        if any(limit is not None and limit < 1 for limit in limits) or self.window <= 0:
            raise ValueError("a limit must be at least 1 (None for no limit), and the window above 0 seconds")


@dataclass(frozen=True, slots=True)
class Rejection:
    """The limit that was reached, and the seconds until the request fits; None if it never will."""

    limit: Literal["requests", "tokens", "in_flight"]
    retry_after: float | None


class _Window:
    """At most `limit` units in a sliding window, or in consecutive fixed ones."""

    def __init__(self, limit: int, seconds: float, fixed: bool) -> None:
        self._limit, self._seconds, self._fixed = limit, seconds, fixed
        self._start: float | None = None
        self._spent: deque[tuple[float, int]] = deque()  # when it expires, how much

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until `amount` fits, 0 for now."""
        while self._spent and self._spent[0][0] <= now:
            self._spent.popleft()
        over = sum(spent for _, spent in self._spent) + amount - self._limit
        expires = now
        for expires, spent in self._spent if over > 0 else ():  # noqa: B007 - used after the loop
            over -= spent
            if over <= 0:
                break
        return expires - now

    def add(self, now: float, amount: int) -> None:
        """Spend `amount`."""
        self._start = now if self._start is None else self._start
        passed = math.floor((now - self._start) / self._seconds)
        self._spent.append((self._start + (passed + 1) * self._seconds if self._fixed else now + self._seconds, amount))


class _Bucket:
    """A bucket of `limit` units that starts full and refills in `seconds`."""

    def __init__(self, limit: int, seconds: float) -> None:
        self._limit, self._rate = limit, limit / seconds
        self._level, self._at = float(limit), 0.0

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until `amount` fits, 0 for now."""
        self._level = min(float(self._limit), self._level + (now - self._at) * self._rate)
        self._at = now
        # After a wait of exactly these seconds the level may be a rounding error short.
        return max(0.0, (amount - self._level - 1e-6) / self._rate)

    def add(self, now: float, amount: int) -> None:
        """Spend `amount`."""
        self.wait(now, 0)
        self._level -= amount


class Limiter:
    """Accepts or rejects requests by `Limits`. `now` is in seconds on a monotonic clock."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._requests = self._meter(limits.requests_per_minute)
        self._tokens = self._meter(limits.tokens_per_minute)

    def _meter(self, limit: int | None) -> _Window | _Bucket | None:
        if limit is None:
            return None
        window, shape = self._limits.window, self._limits.shape
        return _Bucket(limit, window) if shape == "bucket" else _Window(limit, window, shape == "fixed")

    def take(self, now: float, tokens: int, in_flight: int) -> Rejection | None:
        """Accept a request of `tokens` prompt tokens in addition to `in_flight` others, or return why not."""
        limits = self._limits
        if limits.in_flight is not None and in_flight >= limits.in_flight:
            return Rejection("in_flight", min(1.0, limits.window / 60))
        if limits.tokens_per_minute is not None and tokens > limits.tokens_per_minute:
            return Rejection("tokens", None)
        requests_wait = self._requests.wait(now, 1) if self._requests else 0.0
        tokens_wait = self._tokens.wait(now, tokens) if self._tokens else 0.0
        if requests_wait or tokens_wait:
            return Rejection("requests" if requests_wait > tokens_wait else "tokens", max(requests_wait, tokens_wait))
        if self._requests:
            self._requests.add(now, 1)
        self.completed(now, tokens)
        return None

    def completed(self, now: float, tokens: int) -> None:
        """Count tokens that were used."""
        if self._tokens:
            self._tokens.add(now, tokens)

    def headers(self) -> dict[str, str]:
        """Return OpenAI's headers for the limits that are set."""
        limits = {"requests": self._limits.requests_per_minute, "tokens": self._limits.tokens_per_minute}
        return {f"x-ratelimit-limit-{name}": str(limit) for name, limit in limits.items() if limit is not None}
