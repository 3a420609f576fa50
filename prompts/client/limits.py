"""When a call may be sent: calls in flight, requests and tokens a minute, and a server's own wish to wait.

One `Limiter` stands before one server. A call asks for a slot and gives it back when its reply is in, whatever
became of it. Calls that the server refused once go before new ones, so that few are refused twice.

Three things hold calls back:

- the window: in no `window` seconds are more requests, or more tokens, sent than allowed. Limits are those of the
  settings; where these name none, those that the server tells in the `x-ratelimit-limit-*` headers of its replies.
- the gate: closed for everyone until the time that a refusal names (Retry-After).
- the cap on calls in flight: after a refusal half of what was in flight, then one more a round (additive increase,
  multiplicative decrease, as TCP does: Jacobson 1988), more slowly where the last refusal came (as TCP CUBIC does:
  Ha, Rhee and Xu 2008), never above `concurrency`.
"""

import asyncio
import heapq
import itertools
import math
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_MARGIN = 1.01
"""A window is taken this much longer than it is: what left our clock's window may still stand in the server's."""

_DIGITS = 12
"""Longer numbers in headers are no limits."""
_CAREFUL_ROUNDS = 10
"""Rounds in which the cap on calls in flight rises by one near the number at which the server refused."""


@dataclass(slots=True)
class Spent:
    """What one call took of a window, and when."""

    at: float
    amount: float
    past: bool = False


class Window:
    """At most `limit` units in any `seconds`; None for no limit."""

    def __init__(self, limit: float | None, seconds: float) -> None:
        self.limit = limit
        self._seconds = seconds * _MARGIN
        self._spent: deque[Spent] = deque()
        self._total = 0.0

    def free_at(self, amount: float, now: float) -> float:
        """Return when `amount` more may be spent: `now` or later. A call larger than the limit goes when alone."""
        while self._spent and self._spent[0].at + self._seconds <= now:
            oldest = self._spent.popleft()
            oldest.past = True
            self._total -= oldest.amount
        if self.limit is None or not self._spent or self._total + amount <= self.limit:
            return now
        left = self._total
        for each in self._spent:
            left -= each.amount
            if left + amount <= self.limit:
                return each.at + self._seconds
        return self._spent[-1].at + self._seconds

    def spend(self, amount: float, now: float) -> Spent:
        """Take `amount` of the window."""
        spent = Spent(now, amount)
        self._spent.append(spent)
        self._total += amount
        return spent

    def put_right(self, spent: Spent, amount: float) -> None:
        """Say what was really taken."""
        if not spent.past:
            self._total += amount - spent.amount
        spent.amount = amount


class Slot:
    """The right to one call in flight. Tell it what came of the call before it is given back."""

    def __init__(self, requests: Window, tokens: Window, n_tokens: float, now: float) -> None:
        self._requests, self._tokens = requests, tokens
        self._request, self._n_tokens = requests.spend(1, now), tokens.spend(n_tokens, now)

    def used(self, tokens: int) -> None:
        """Put the tokens right that were estimated when the slot was taken."""
        self._tokens.put_right(self._n_tokens, tokens)

    def refused(self) -> None:
        """The server did not take the call: it counts for nothing."""
        self._requests.put_right(self._request, 0)
        self._tokens.put_right(self._n_tokens, 0)


@dataclass(order=True, slots=True)
class _Waiting:
    """A call that waits; those refused more often come first, then those that asked first."""

    rank: tuple[int, int]
    tokens: float = field(compare=False)
    turn: "asyncio.Future[Slot]" = field(compare=False)


class Limiter:
    """Slots for one server. Not thread-safe: it belongs to one event loop.

    `window` is the length in seconds of the "minute" that the limits are counted in (tests shorten it).
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        window: float = 60.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._most = concurrency
        self._cap = float(concurrency)
        self._refused_at = math.inf
        self._requests = Window(requests_per_minute, window)
        self._tokens = Window(tokens_per_minute, window)
        self._gate = 0.0
        self._clock = clock
        self._waiting: list[_Waiting] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self.in_flight = 0
        """Slots taken and not given back."""

    @asynccontextmanager
    async def slot(self, tokens: float, refusals: int = 0) -> AsyncIterator[Slot]:
        """Wait for a slot for a call of about `tokens` tokens that was refused `refusals` times before."""
        slot = await self._turn(tokens, refusals)
        try:
            yield slot
        finally:
            self.in_flight -= 1
            self._admit()

    def succeeded(self) -> None:
        """A call was answered: the cap on calls in flight rises by one a round, or in ten where it was too high."""
        if self._cap > self._refused_at + 1:
            self._refused_at = math.inf
        rounds = 1 if self._cap < self._refused_at - 1 else _CAREFUL_ROUNDS
        self._cap = min(self._most, self._cap + 1 / (rounds * self._cap))

    def learn(self, headers: Mapping[str, str]) -> None:
        """Take the limits that a server tells with its replies, where the settings name none."""
        if self._requests.limit is None:
            self._requests.limit = _count(headers.get("x-ratelimit-limit-requests"))
        if self._tokens.limit is None:
            self._tokens.limit = _count(headers.get("x-ratelimit-limit-tokens"))

    def pushed_back(self, wait: float | None) -> None:
        """The server refused a call: nobody calls for `wait` seconds (None: it named no time), then fewer at once."""
        now = self._clock()
        if now >= self._gate:  # the other calls of one burst are refused for the same reason: once is enough
            self._refused_at = self.in_flight
            self._cap = max(1.0, min(self._cap, self.in_flight / 2))
        self._gate = max(self._gate, now + (wait or 0.0))

    async def _turn(self, tokens: float, refusals: int) -> Slot:
        turn: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, _Waiting((-refusals, next(self._order)), tokens, turn))
        self._admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came in the same moment: give it back
                turn.result().refused()
                self.in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        """Give slots to those whose turn it is; come back when the next one's is."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            first = self._waiting[0]
            if first.turn.done():  # cancelled while it waited
                heapq.heappop(self._waiting)
                continue
            if self.in_flight >= max(1, int(self._cap)):
                return  # the next slot given back looks again
            now = self._clock()
            free = max(self._gate, self._requests.free_at(1, now), self._tokens.free_at(first.tokens, now))
            if free > now:
                self._timer = asyncio.get_running_loop().call_later(free - now, self._admit)
                return
            heapq.heappop(self._waiting)
            self.in_flight += 1
            first.turn.set_result(Slot(self._requests, self._tokens, first.tokens, now))


def _count(header: str | None) -> float | None:
    """Return a limit that a header names; zero and what is no number name none."""
    return float(header) or None if header and header.isdecimal() and len(header) <= _DIGITS else None
