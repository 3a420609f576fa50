import asyncio
import threading
from collections.abc import Sequence

from conspectus.prompts.client.reply_cache import MicroBatcher, SingleFlight

from tests.waiting import HELD


def test_work_is_done_once_for_all_who_ask_while_it_is_under_way() -> None:
    async def work() -> None:
        shared: SingleFlight[int] = SingleFlight()
        done = 0

        async def start() -> int:
            nonlocal done
            done += 1
            await asyncio.sleep(0.01)
            return done

        assert sorted(await asyncio.gather(*(shared.get("a", start) for _ in range(3)))) == [
            (1, False),
            (1, False),
            (1, True),
        ]
        assert await shared.get("a", start) == (2, True)

    asyncio.run(work())


def test_one_that_is_cancelled_does_not_take_it_from_the_others_and_the_last_ends_it() -> None:
    async def work() -> None:
        shared: SingleFlight[str] = SingleFlight()
        ended, takes = [], 0.02

        async def start() -> str:
            try:
                await asyncio.sleep(takes)
            except asyncio.CancelledError:
                ended.append("cancelled")
                raise
            ended.append("done")
            return "x"

        first, second = (asyncio.create_task(shared.get("a", start)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert (await second)[0] == "x"

        takes = HELD
        third = asyncio.create_task(shared.get("a", start))
        await asyncio.sleep(0.001)
        third.cancel()
        await asyncio.sleep(0.001)
        assert ended == ["done", "cancelled"]
        takes = 0.0
        assert await shared.get("a", start) == ("x", True)

    asyncio.run(work())


def test_work_that_was_given_up_does_not_end_what_was_begun_since() -> None:
    async def work() -> None:
        shared: SingleFlight[int] = SingleFlight()
        begun, go_on = 0, asyncio.Event()

        async def start() -> int:
            nonlocal begun
            begun += 1
            await go_on.wait()
            return begun

        first = asyncio.create_task(shared.get("a", start))
        await asyncio.sleep(0)
        first.cancel()
        second = asyncio.create_task(shared.get("a", start))
        await asyncio.sleep(0.01)
        third = asyncio.create_task(shared.get("a", start))
        await asyncio.sleep(0.01)
        go_on.set()
        assert (await second)[0] == (await third)[0] == 2
        assert begun == 2

    asyncio.run(work())


def test_what_comes_together_is_done_together_and_never_two_batches_at_once() -> None:
    batches: list[list[int]] = []
    under_way = threading.Lock()

    def work(items: Sequence[int]) -> list[int]:
        assert under_way.acquire(blocking=False)
        batches.append(list(items))
        under_way.release()
        return [each * 2 for each in items]

    async def ask() -> None:
        batched = MicroBatcher(work)
        assert await asyncio.gather(*(batched(each) for each in range(100))) == [each * 2 for each in range(100)]
        assert await batched(7) == 14

    asyncio.run(ask())
    assert [each for batch in batches for each in batch] == [*range(100), 7]
    assert len(batches) == 2
