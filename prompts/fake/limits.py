"""How many requests and tokens a server takes, and when it takes more."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

from pydantic import ConfigDict

Shape = Literal["sliding", "fixed", "bucket"]


@dataclass(frozen=True, slots=True)
class Limits:
    """What is taken before 429 is answered: `Limits(requests_per_minute=60, window=1.0)`; None is no limit.

    window          the seconds of a "minute", so that tests need not wait for one
    shape           "sliding": never more than the limit in any window. "fixed": in windows that follow one another
                    from the first request on. "bucket": a bucket that starts full and refills evenly.
    tokens          what counts against tokens_per_minute. "used": the prompt on arrival, the completion once it is
                    known (it may go over the limit, and later requests wait for it). "asked": the prompt and
                    max_tokens on arrival, as OpenAI counts.
    whole_seconds   round Retry-After up to whole seconds, as many servers do

    A refused request does not count.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    in_flight: int | None = None
    window: float = 60.0
    shape: Shape = "sliding"
    tokens: Literal["used", "asked"] = "used"
    whole_seconds: bool = False

    def __post_init__(self) -> None:
        given = (self.requests_per_minute, self.tokens_per_minute, self.in_flight)
        if any(limit is not None and limit < 1 for limit in given) or self.window <= 0:
            raise ValueError("A limit is at least 1 (None for no limit), and the window is above 0 seconds.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is not taken, and the seconds after which it would be; None where it never would be."""

    limit: Literal["requests", "tokens", "in_flight"]
    retry_after: float | None


class Meter(Protocol):
    """One limit over time. Times are seconds on a clock that never goes back."""

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until so much more is taken, 0 for now."""
        ...

    def add(self, now: float, amount: int) -> None:
        """Count what was taken."""
        ...

    def left(self, now: float) -> int:
        """Return how much is left."""
        ...

    def reset(self, now: float) -> float:
        """Return the seconds until all is left again."""
        ...


class Sliding:
    """At most `limit` in any stretch of `window` seconds."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._window = limit, window
        self._taken: deque[tuple[float, int]] = deque()
        self._sum = 0

    def _forget(self, now: float) -> None:
        while self._taken and self._taken[0][0] + self._window <= now:
            self._sum -= self._taken.popleft()[1]

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until so much more is taken, 0 for now."""
        self._forget(now)
        over = self._sum + amount - self._limit
        if over <= 0:
            return 0.0
        for taken, spent in self._taken:
            over -= spent
            if over <= 0:
                return taken + self._window - now
        return self._window

    def add(self, now: float, amount: int) -> None:
        """Count what was taken."""
        self._taken.append((now, amount))
        self._sum += amount

    def left(self, now: float) -> int:
        """Return how much is left."""
        self._forget(now)
        return max(0, self._limit - self._sum)

    def reset(self, now: float) -> float:
        """Return the seconds until all is left again."""
        self._forget(now)
        return self._taken[-1][0] + self._window - now if self._taken else 0.0


class Fixed:
    """At most `limit` in each window; windows follow one another from the first request on."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._window = limit, window
        self._start: float | None = None
        self._sum = 0

    def _turn(self, now: float) -> float:
        """Begin a new window where the last is over; return when this one ends."""
        if self._start is None:
            self._start = now
        passed = math.floor((now - self._start) / self._window)
        if passed >= 1:
            self._start += passed * self._window
            self._sum = 0
        return self._start + self._window

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until so much more is taken, 0 for now."""
        end = self._turn(now)
        return 0.0 if self._sum + amount <= self._limit else end - now

    def add(self, now: float, amount: int) -> None:
        """Count what was taken."""
        self._turn(now)
        self._sum += amount

    def left(self, now: float) -> int:
        """Return how much is left."""
        self._turn(now)
        return max(0, self._limit - self._sum)

    def reset(self, now: float) -> float:
        """Return the seconds until all is left again."""
        return self._turn(now) - now if self._sum else 0.0


class Bucket:
    """A bucket that holds `limit`, starts full and refills in `window` seconds."""

    def __init__(self, limit: int, window: float) -> None:
        self._limit, self._rate = limit, limit / window
        self._level = float(limit)
        self._last: float | None = None

    def _fill(self, now: float) -> None:
        if self._last is not None:
            self._level = min(float(self._limit), self._level + (now - self._last) * self._rate)
        self._last = now

    def wait(self, now: float, amount: int) -> float:
        """Return the seconds until so much more is taken, 0 for now."""
        self._fill(now)
        # What refills in a wait of exactly the seconds told may fall short by a rounding error.
        return max(0.0, (amount - self._level - 1e-6) / self._rate)

    def add(self, now: float, amount: int) -> None:
        """Count what was taken."""
        self._fill(now)
        self._level -= amount

    def left(self, now: float) -> int:
        """Return how much is left."""
        self._fill(now)
        return max(0, math.floor(self._level + 1e-6))

    def reset(self, now: float) -> float:
        """Return the seconds until all is left again."""
        self._fill(now)
        return max(0.0, (self._limit - self._level) / self._rate)


_METERS: dict[Shape, Callable[[int, float], Meter]] = {"sliding": Sliding, "fixed": Fixed, "bucket": Bucket}


class Limiter:
    """Takes or refuses requests by `Limits`; times are seconds on a clock that never goes back."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        make = _METERS[limits.shape]
        requests, tokens = limits.requests_per_minute, limits.tokens_per_minute
        self._requests = make(requests, limits.window) if requests else None
        self._tokens = make(tokens, limits.window) if tokens else None

    def take(self, now: float, prompt: int, asked: int, in_flight: int) -> Refusal | None:
        """Take a request, or return why not.

        `prompt` and `asked` are its tokens and the most it may make; `in_flight` is how many others are under way.
        """
        limits = self.limits
        if limits.in_flight is not None and in_flight >= limits.in_flight:
            return Refusal("in_flight", min(1.0, limits.window / 60))
        tokens = prompt + (asked if limits.tokens == "asked" else 0)
        if limits.tokens_per_minute is not None and tokens > limits.tokens_per_minute:
            return Refusal("tokens", None)
        waits: list[tuple[float, Literal["requests", "tokens"]]] = []
        if self._requests is not None:
            waits.append((self._requests.wait(now, 1), "requests"))
        if self._tokens is not None:
            waits.append((self._tokens.wait(now, tokens), "tokens"))
        if waits and max(waits)[0] > 0:
            return Refusal(max(waits)[1], max(waits)[0])
        if self._requests is not None:
            self._requests.add(now, 1)
        if self._tokens is not None:
            self._tokens.add(now, tokens)
        return None

    def completed(self, now: float, completion: int) -> None:
        """Count the tokens of a reply, where used tokens are what counts."""
        if self._tokens is not None and self.limits.tokens == "used":
            self._tokens.add(now, completion)

    def headers(self, now: float) -> tuple[tuple[str, str], ...]:
        """Return OpenAI's x-ratelimit headers for the limits that are set."""
        found: list[tuple[str, str]] = []
        limits = self.limits
        for name, limit, meter in (
            ("requests", limits.requests_per_minute, self._requests),
            ("tokens", limits.tokens_per_minute, self._tokens),
        ):
            if meter is not None:
                found.append((f"x-ratelimit-limit-{name}", str(limit)))
                found.append((f"x-ratelimit-remaining-{name}", str(meter.left(now))))
                found.append((f"x-ratelimit-reset-{name}", duration(meter.reset(now))))
        return tuple(found)

    def retry_headers(self, seconds: float) -> tuple[tuple[str, str], ...]:
        """Return Retry-After (rounded up: to milliseconds, or to seconds where limits say so) and retry-after-ms."""
        if self.limits.whole_seconds:
            seconds = float(math.ceil(seconds))
        ms = math.ceil(seconds * 1000)
        return (
            ("retry-after", f"{ms / 1000:g}" if ms < 1_000_000 else str(math.ceil(ms / 1000))),
            ("retry-after-ms", str(ms)),
        )


def duration(seconds: float) -> str:
    """Return seconds as OpenAI writes them in its headers.

    >>> duration(0.0123), duration(7.66), duration(366), duration(0)
    ('13ms', '7.66s', '6m6s', '0s')
    """
    if 0 < seconds < 1:
        return f"{math.ceil(seconds * 1000)}ms"
    minutes, rest = divmod(seconds, 60)
    told = f"{round(rest, 3):g}s"
    return f"{int(minutes)}m{told}" if minutes else told
