"""Only so many threads compute at a time, in a fair order; those that wait for something else give up their turn."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor

import pytest
from conspectus.storage.turns import Turns, away

from tests.waiting import LIMIT, wait_until


class Counted:
    """How many threads are inside at the same time, and how many were at most."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = 0

    def __enter__(self) -> None:
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self.now -= 1


def run(turns: Turns, work: Callable[[], Coroutine[None, None, object]]) -> object:
    with asyncio.Runner(loop_factory=turns.loop) as runner:
        return runner.run(work())


def test_two_of_eight_compute_at_a_time_and_all_of_them_wait_together() -> None:
    turns, computing, waiting, two = Turns(2), Counted(), Counted(), threading.Barrier(2)

    async def part() -> None:  # a task of its own takes turns too
        with computing:
            time.sleep(0.001)

    async def work() -> None:
        for round_ in range(3):
            with computing:
                if round_ == 0:  # each meets once: in a later round the last one may be alone
                    two.wait(LIMIT)
            await asyncio.gather(part(), part())
            with waiting:
                while waiting.most <= 2:
                    await asyncio.sleep(0.01)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: run(turns, work), range(8)))
    assert computing.most == 2
    assert waiting.most > 2


def test_callers_take_turns_round_robin_and_threads_of_a_caller_in_their_order() -> None:
    turns, order = Turns(1), []
    turns.take()  # everybody waits
    came = ["a1", "a2", "a3", "b1", "c1", "b2"]

    def thread(name: str) -> None:
        turns.take(name[0])
        order.append(name)
        turns.give()

    threads = []
    for number, name in enumerate(came, 1):
        threads.append(threading.Thread(target=thread, args=(name,), daemon=True))
        threads[-1].start()
        wait_until(lambda number=number: sum(map(len, turns._waiting.values())) == number)
    turns.give()
    for each in threads:
        each.join(LIMIT)
    assert order == ["a1", "b1", "c1", "a2", "b2", "a3"]


def test_a_request_that_has_begun_goes_on_before_later_ones_begin() -> None:
    """Whoever waits for the next step of an earlier request is first, even if it came last."""
    turns, order = Turns(1), []
    turns.take()  # everybody waits

    def thread(request: int) -> None:
        turns.take("a", request)
        order.append(request)
        turns.give()

    threads = []
    for number, request in enumerate([7, 9, 8, 2], 1):
        threads.append(threading.Thread(target=thread, args=(request,), daemon=True))
        threads[-1].start()
        wait_until(lambda number=number: sum(map(len, turns._waiting.values())) == number)
    turns.give()
    for each in threads:
        each.join(LIMIT)
    assert order == [2, 7, 8, 9]


def test_who_waits_under_a_lock_does_not_wait_for_a_turn_too() -> None:
    turns, lock = Turns(1), threading.Lock()

    async def work() -> None:
        with lock, away():  # while one waits here, the next computes and wants the lock
            time.sleep(0.02)

    with ThreadPoolExecutor(4) as pool:
        ends = [pool.submit(run, turns, work) for _ in range(4)]
        for end in ends:
            end.result(timeout=LIMIT)
    assert turns._free == 1


def test_results_errors_and_cancellation_pass_through() -> None:
    turns = Turns(1)

    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("it failed")

    async def catches() -> str:
        with pytest.raises(ValueError, match="it failed"):
            await asyncio.create_task(fails())
        task = asyncio.create_task(asyncio.sleep(LIMIT))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        try:
            await asyncio.wait_for(asyncio.sleep(LIMIT), 0.01)
        except TimeoutError:
            return "done"
        return "not cancelled"

    assert run(turns, catches) == "done"
    assert turns._free == 1
