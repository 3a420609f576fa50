import asyncio

from conspectus.prompts.client.usage import Meter, Spending, metered, record


def test_spending_adds_up_by_step_and_model() -> None:
    meter = Meter()
    meter.add(Spending("answer", "m", calls=1, attempts=2, prompt_tokens=10, completion_tokens=5, cost=0.5))
    meter.add(Spending("answer", "m", remembered=1))
    meter.add(Spending("extract", "n", calls=1, attempts=1, prompt_tokens=1, cost=None, estimated=True))
    answer, extract = meter.spending()
    assert (answer.calls, answer.attempts, answer.remembered, answer.cost) == (1, 2, 1, 0.5)
    assert extract.cost is None
    assert meter.total() == Spending(
        "", "", calls=2, attempts=3, remembered=1, prompt_tokens=11, completion_tokens=5, cost=None, estimated=True
    )
    assert Meter().total() == Spending("", "")


def test_each_answer_is_metered_apart_and_the_tasks_it_starts_with_it() -> None:
    async def answer(calls: int) -> int:
        async def call() -> None:
            await asyncio.sleep(0)
            record(Spending("answer", "m", calls=1))

        with metered() as meter:
            await asyncio.gather(*(call() for _ in range(calls)))
        record(Spending("answer", "m", calls=100))  # nobody counts this
        return meter.total().calls

    async def both() -> list[int]:
        return await asyncio.gather(answer(2), answer(3))

    assert asyncio.run(both()) == [2, 3]
