"""The limiter on a clock of its own: a loop whose time passes only when everything waits."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any

import pytest
from conspectus.prompts.client.limits import RateLimiter, SlidingWindow
from hypothesis import given, settings
from hypothesis import strategies as st


class _Skipping(selectors.DefaultSelector):
    """A selector that does not wait: time is moved on instead."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self.now += timeout or 0.0
        return super().select(0)


class Clockwork(asyncio.SelectorEventLoop):
    """An event loop in which an hour takes as long as what happens in it."""

    def __init__(self) -> None:
        self._skipping = _Skipping()
        super().__init__(self._skipping)

    def time(self) -> float:
        return self._skipping.now


def run(work: Coroutine[Any, Any, None]) -> None:
    loop = Clockwork()
    try:
        loop.run_until_complete(asyncio.wait_for(work, 1e6))
    finally:
        loop.close()


def limiter(concurrency: int = 8, **limits: float) -> RateLimiter:
    return RateLimiter(concurrency=concurrency, **limits)


async def sent(limits: RateLimiter, calls: int, *, takes: float = 0.2, tokens: float = 1.0) -> list[float]:
    """Make calls that take a while each; return when each was sent."""
    times = []

    async def call() -> None:
        async with limits.slot(tokens):
            times.append(asyncio.get_running_loop().time())
            await asyncio.sleep(takes)

    await asyncio.gather(*(call() for _ in range(calls)))
    return times


@settings(max_examples=30, deadline=None)
@given(
    per_minute=st.integers(1, 100),
    calls=st.integers(1, 150),
    concurrency=st.integers(1, 40),
    takes=st.floats(0.01, 90),
)
def test_no_minute_has_more_requests_than_allowed(per_minute: int, calls: int, concurrency: int, takes: float) -> None:
    async def work() -> None:
        times = await sent(limiter(concurrency=concurrency, requests_per_minute=per_minute), calls, takes=takes)
        assert len(times) == calls
        for first in range(calls - per_minute):
            assert times[first + per_minute] - times[first] >= 60

    run(work())


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 500), min_size=1, max_size=60))
def test_no_minute_has_more_tokens_than_allowed(amounts: list[int]) -> None:
    async def work() -> None:
        limits = limiter(tokens_per_minute=1000)
        spent: list[tuple[float, int]] = []

        async def call(amount: int) -> None:
            async with limits.slot(amount):
                spent.append((asyncio.get_running_loop().time(), amount))
                await asyncio.sleep(0.1)

        await asyncio.gather(*(call(each) for each in amounts))
        for at, _ in spent:
            assert sum(amount for when, amount in spent if at <= when < at + 60) <= 1000

    run(work())


def test_a_call_larger_than_the_limit_goes_alone_instead_of_never() -> None:
    async def work() -> None:
        assert await sent(limiter(tokens_per_minute=10), 2, tokens=50) == [0, pytest.approx(60, abs=1)]

    run(work())


def test_everyone_waits_as_long_as_a_refusal_asks_and_the_refused_go_first() -> None:
    async def work() -> None:
        limits = limiter(concurrency=4)
        async with limits.slot(1) as slot:
            slot.rejected()
            limits.back_off(30)
        order: list[str] = []

        async def call(name: str, refusals: int) -> None:
            async with limits.slot(1, refusals):
                order.append(f"{name} at {asyncio.get_running_loop().time():.0f}")
                await asyncio.sleep(1)

        await asyncio.gather(call("new", 0), call("newer", 0), call("refused twice", 2), call("refused", 1))
        # One call at a time at first: the cap fell to one, and nothing has succeeded yet.
        assert order == ["refused twice at 30", "refused at 31", "new at 32", "newer at 33"]

    run(work())


def test_what_is_correct_when_its_window_has_passed_changes_no_other() -> None:
    window = SlidingWindow(10, 60)
    old = window.spend(8, 0)
    assert window.free_at(1, 100) == 100
    window.correct(old, 100)
    window.spend(5, 100)
    assert window.free_at(5, 100) == 100


def test_the_cap_halves_once_a_burst_and_grows_by_one_a_round() -> None:
    async def work() -> None:
        limits = limiter(concurrency=32)
        slots = [limits.slot(1) for _ in range(32)]
        for each in slots:
            await each.__aenter__()
        for _ in range(32):
            limits.back_off(1)
        for each in slots:
            await each.__aexit__(None, None, None)
        assert (await at_once(limits)) == 16
        for _ in range(16):
            limits.succeeded()
        assert (await at_once(limits)) in {16, 17}
        for _ in range(1000):
            limits.succeeded()
        assert (await at_once(limits)) == 32

    run(work())


async def at_once(limits: RateLimiter) -> int:
    """Return how many of fifty calls that are made together are in flight together."""
    most = 0

    async def call() -> None:
        nonlocal most
        async with limits.slot(1):
            most = max(most, limits.in_flight)
            await asyncio.sleep(1)

    await asyncio.gather(*(call() for _ in range(50)))
    return most


def test_limits_are_learned_from_the_server_where_the_settings_name_none() -> None:
    async def work() -> None:
        told = {"x-ratelimit-limit-requests": "2", "x-ratelimit-limit-tokens": "9" * 400}
        learned, set_by_hand = limiter(), limiter(requests_per_minute=4)
        learned.learn(told)
        set_by_hand.learn(told)
        assert len([at for at in await sent(learned, 6) if at < 60]) == 2
        start = asyncio.get_running_loop().time()
        assert len([at for at in await sent(set_by_hand, 6) if at < start + 60]) == 4

    run(work())


def test_a_call_that_is_cancelled_while_it_waits_takes_no_slot() -> None:
    async def work() -> None:
        limits = limiter(concurrency=1)

        async def call() -> None:
            async with limits.slot(1):
                await asyncio.sleep(1)

        first, second, third = (asyncio.create_task(call()) for _ in range(3))
        await asyncio.sleep(0.5)
        second.cancel()
        await asyncio.gather(first, second, third, return_exceptions=True)
        assert asyncio.get_running_loop().time() == pytest.approx(2)
        assert limits.in_flight == 0

        # Cancelled in the very moment in which its turn comes.
        holder, waiter = asyncio.create_task(call()), asyncio.create_task(call())
        await asyncio.sleep(0)
        holder.cancel()
        await asyncio.sleep(0)
        waiter.cancel()
        await asyncio.gather(holder, waiter, return_exceptions=True)
        assert limits.in_flight == 0

    run(work())


@given(st.lists(st.tuples(st.floats(0, 50), st.floats(0, 30), st.floats(0, 30)), max_size=30))
def test_a_window_knows_its_total(spent: list[tuple[float, float, float]]) -> None:
    window = SlidingWindow(40, 10)
    now = 0.0
    log: list[tuple[float, float]] = []
    for pause, amount, really in spent:
        now += pause
        free = window.free_at(amount, now)
        assert free >= now
        now = free
        used = sum(each for at, each in log if at + 10.1 > now)
        alone = not [at for at, _ in log if at + 10.1 > now]
        assert alone or used + amount <= 40 + 1e-6
        window.correct(window.spend(amount, now), really)
        log.append((now, really))
