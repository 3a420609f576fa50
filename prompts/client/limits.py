"""When a call may be sent: calls in flight, requests and tokens per minute, and the waits a server asks for.

There is one `RateLimiter` per server. A call takes a slot and returns it when its reply has arrived or failed. Rejected
calls go before new ones, so that few are rejected twice.

Three things hold calls back:

- the window: no more requests or tokens in `window` seconds than allowed. The limits are those of the settings or,
  if these set none, of the `x-ratelimit-limit-*` headers of the server's replies.
- the gate: closed for all calls until the time given by a rejection (Retry-After).
- the cap on calls in flight: a rejection halves it, then it rises by one per round trip (additive increase,
  multiplicative decrease, as in TCP: Jacobson 1988), more slowly near the last rejection (as in TCP CUBIC: Ha, Rhee
  and Xu 2008), never above `concurrency`.
"""

import asyncio
import heapq
import itertools
import math
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass

_MARGIN = 1.01
"""Windows are lengthened by this factor: what left ours may still count in the server's."""

_DIGITS = 12
"""Numbers in headers with more digits are not limits."""
_CAREFUL_ROUNDS = 10
"""Round trips per increase of the cap near the number of calls at which the server rejected one."""


@dataclass(slots=True)
class Spent:
    """What one call used of a window, and when."""

    at: float
    amount: float
    past: bool = False


class SlidingWindow:
    """At most `limit` units in any `seconds`; None for no limit."""

    def __init__(self, limit: float | None, seconds: float) -> None:
        self.limit = limit
        self._seconds = seconds * _MARGIN
        self._spent: deque[Spent] = deque()
        self._total = 0.0

    def free_at(self, amount: float, now: float) -> float:
        """Return when `amount` may be spent, `now` at the earliest. More than the limit needs an empty window."""
        while self._spent and self._spent[0].at + self._seconds <= now:
            oldest = self._spent.popleft()
            oldest.past = True
            self._total -= oldest.amount
        if self.limit is None or not self._spent or self._total + amount <= self.limit:
            return now
        left = self._total
        for spent in self._spent:
            left -= spent.amount
            if left + amount <= self.limit:
                return spent.at + self._seconds
        return self._spent[-1].at + self._seconds

    def spend(self, amount: float, now: float) -> Spent:
        """Spend `amount` of the window."""
        spent = Spent(now, amount)
        self._spent.append(spent)
        self._total += amount
        return spent

    def correct(self, spent: Spent, amount: float) -> None:
        """Replace an estimate by the actual amount."""
        if not spent.past:
            self._total += amount - spent.amount
        spent.amount = amount


class Slot:
    """The right to one call in flight. Report the outcome of the call before it is returned."""

    def __init__(self, requests: SlidingWindow, tokens: SlidingWindow, n_tokens: float, now: float) -> None:
        self._requests, self._tokens = requests, tokens
        self._request, self._n_tokens = requests.spend(1, now), tokens.spend(n_tokens, now)

    def used(self, tokens: int) -> None:
        """Report the tokens used, which were estimated when the slot was taken."""
        self._tokens.correct(self._n_tokens, tokens)

    def rejected(self) -> None:
        """Report that the server did not take the call: it does not count."""
        self._requests.correct(self._request, 0)
        self._tokens.correct(self._n_tokens, 0)


_Waiting = tuple[int, int, float, asyncio.Future[Slot]]
"""A waiting call: how often it was rejected, below zero; its number; its tokens. The least is the next."""


class RateLimiter:
    """Slots for calls to one server. Not thread-safe: it belongs to one event loop.

    Args:
        concurrency: Most calls in flight.
        requests_per_minute: Most requests in a window; None to learn it from the server.
        tokens_per_minute: Most tokens in a window; None to learn it from the server.
        window: Seconds in a "minute"; tests shorten it.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        requests_per_minute: float | None = None,
        tokens_per_minute: float | None = None,
        window: float = 60.0,
    ) -> None:
        self._most = concurrency
        self._cap = float(concurrency)
        self._rejected_at = math.inf
        self._requests = SlidingWindow(requests_per_minute, window)
        self._tokens = SlidingWindow(tokens_per_minute, window)
        self._gate = 0.0
        self._waiting: list[_Waiting] = []
        self._order = itertools.count()
        self._timer: asyncio.TimerHandle | None = None
        self.in_flight = 0
        """Slots taken and not yet returned."""

    @asynccontextmanager
    async def slot(self, tokens: float, rejections: int = 0) -> AsyncIterator[Slot]:
        """Wait for a slot for a call of about `tokens` tokens that was rejected `rejections` times before."""
        slot = await self._turn(tokens, rejections)
        try:
            yield slot
        finally:
            self.in_flight -= 1
            self._admit()

    def succeeded(self) -> None:
        """Report that a call was answered: the cap on calls in flight rises."""
        if self._cap > self._rejected_at + 1:
            self._rejected_at = math.inf
        rounds = 1 if self._cap < self._rejected_at - 1 else _CAREFUL_ROUNDS
        self._cap = min(self._most, self._cap + 1 / (rounds * self._cap))

    def learn(self, headers: Mapping[str, str]) -> None:
        """Learn limits from the headers of a reply if the settings set none."""
        if self._requests.limit is None:
            self._requests.limit = _count(headers.get("x-ratelimit-limit-requests"))
        if self._tokens.limit is None:
            self._tokens.limit = _count(headers.get("x-ratelimit-limit-tokens"))

    def back_off(self, wait: float | None) -> None:
        """Report that the server rejected a call: wait `wait` seconds (None: unnamed), then allow fewer in flight."""
        now = asyncio.get_running_loop().time()
        if now >= self._gate:  # one reaction per burst
            self._rejected_at = self.in_flight
            self._cap = max(1.0, min(self._cap, self.in_flight / 2))
        self._gate = max(self._gate, now + (wait or 0.0))

    async def _turn(self, tokens: float, rejections: int) -> Slot:
        turn: asyncio.Future[Slot] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (-rejections, next(self._order), tokens, turn))
        self._admit()
        try:
            return await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():  # the slot came at the same moment: return it
                turn.result().rejected()
                self.in_flight -= 1
                self._admit()
            raise

    def _admit(self) -> None:
        """Give slots to waiting calls, and set a timer for the next one."""
        if self._timer:
            self._timer.cancel()
            self._timer = None
        while self._waiting:
            _, _, tokens, turn = self._waiting[0]
            if turn.done():  # cancelled while it waited
                heapq.heappop(self._waiting)
                continue
            if self.in_flight >= max(1, int(self._cap)):
                return  # checked again when a slot is returned
            now = asyncio.get_running_loop().time()
            free = max(self._gate, self._requests.free_at(1, now), self._tokens.free_at(tokens, now))
            if free > now:
                self._timer = asyncio.get_running_loop().call_later(free - now, self._admit)
                return
            heapq.heappop(self._waiting)
            self.in_flight += 1
            turn.set_result(Slot(self._requests, self._tokens, tokens, now))


def _count(header: str | None) -> float | None:
    """Return the limit in a header, None if it is zero or not a number."""
    return float(header) or None if header and header.isdecimal() and len(header) <= _DIGITS else None
