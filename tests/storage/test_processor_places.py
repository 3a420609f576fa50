"""Only so many threads work at a time; those that wait for something else leave their place."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from conspectus.storage.processor_places import ProcessorPlaces, away

from tests.waiting import LIMIT


class Counted:
    """How many threads work at the same time, and how many did at most."""

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


def run(places: ProcessorPlaces, work) -> None:  # noqa: ANN001  (a coroutine function)
    with places.taken() as loop, asyncio.Runner(loop_factory=loop) as runner:
        runner.run(work())


def test_two_of_eight_work_at_a_time_and_all_of_them_wait_together() -> None:
    places, working, waiting, two = ProcessorPlaces(2), Counted(), Counted(), threading.Barrier(2)

    async def work() -> None:
        for round_ in range(3):
            with working:
                if round_ == 0:  # each meets once: in a later round the last one may be alone
                    two.wait(LIMIT)  # it holds its place
            with waiting:
                while waiting.most <= 2:
                    await asyncio.sleep(0.01)  # it leaves its place

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: run(places, work), range(8)))
    assert working.most == 2
    assert waiting.most > 2


def test_who_waits_under_a_lock_does_not_wait_for_a_place_too() -> None:
    places, lock = ProcessorPlaces(1), threading.Lock()

    async def work() -> None:
        with lock, away():  # while one waits here, the next takes its place and wants the lock
            time.sleep(0.02)

    with ThreadPoolExecutor(4) as pool:
        ends = [pool.submit(run, places, work) for _ in range(4)]
        for end in ends:
            end.result(timeout=LIMIT)


def test_away_means_nothing_to_other_threads() -> None:
    with away():
        pass
