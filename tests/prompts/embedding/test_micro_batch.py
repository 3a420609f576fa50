import asyncio
import threading
from collections.abc import Sequence

import pytest
from conspectus.prompts.embedding.micro_batch import Batched


def test_what_comes_together_is_done_together_and_never_two_batches_at_once() -> None:
    batches: list[list[int]] = []
    under_way = threading.Lock()

    def work(items: Sequence[int]) -> list[int]:
        assert under_way.acquire(blocking=False)
        batches.append(list(items))
        under_way.release()
        return [each * 2 for each in items]

    async def ask() -> None:
        batched = Batched(work)
        assert await asyncio.gather(*(batched(each) for each in range(100))) == [each * 2 for each in range(100)]
        assert await batched(7) == 14

    asyncio.run(ask())
    assert [each for batch in batches for each in batch] == [*range(100), 7]
    assert len(batches) == 2


def test_everyone_in_a_batch_gets_what_it_raises_and_the_next_batch_goes_on() -> None:
    def work(items: Sequence[int]) -> Sequence[int]:
        if 13 in items:
            raise ValueError("unlucky")
        return items

    async def ask() -> None:
        batched = Batched(work)
        found = await asyncio.gather(batched(12), batched(13), return_exceptions=True)
        assert [str(each) for each in found] == ["unlucky", "unlucky"]
        assert await batched(12) == 12

    asyncio.run(ask())


def test_one_that_is_cancelled_leaves_the_others_alone() -> None:
    async def ask() -> None:
        batched: Batched[int, int] = Batched(list)
        first, second = asyncio.create_task(batched(1)), asyncio.create_task(batched(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == 2
        with pytest.raises(asyncio.CancelledError):
            await first

    asyncio.run(ask())
