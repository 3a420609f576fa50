import asyncio

import pytest
from conspectus.prompts.client.usage_and_cost import Meter, Spending, TokenBudget, metered, most_prompt_tokens, record
from conspectus.prompts.language_model import Message
from conspectus.storage.errors import BudgetReached, SettingsError
from conspectus.storage.settings import Price
from conspectus.storage.text.tokens import count_tokens
from hypothesis import given, settings
from hypothesis import strategies as st


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


PRICES = {"m": Price(input=1, output=2)}


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.floats(0, 1)), max_size=30),
    st.integers(1, 500),
    st.integers(1, 8),
)
def test_it_is_never_passed_and_used_as_far_as_it_goes(
    calls: list[tuple[int, int, float]], most: int, at_once: int
) -> None:
    async def work() -> None:
        budget = TokenBudget(most, None, {}, ["m"])
        doors = asyncio.Semaphore(at_once)
        took = stopped = 0

        async def call(prompt: int, completion: int, share: float) -> None:
            nonlocal took, stopped
            try:
                async with doors, budget.reserve("m", prompt, completion) as reserve:
                    await asyncio.sleep(0)
                    tokens = round((prompt + completion) * share)
                    reserve.settle(tokens, None)
                    took += tokens
            except BudgetReached:
                stopped += 1

        await asyncio.gather(*(call(*each) for each in calls))
        assert took <= most
        assert not stopped or took > most - 100  # the largest bound of a call: nothing is left unused beyond it

    asyncio.run(work())


def test_dollars_are_bounded_by_the_price_of_each_model() -> None:
    async def work() -> None:
        budget = TokenBudget(None, 3.0, PRICES, ["m"])
        async with budget.reserve("m", 1_000_000, 500_000) as reserve:
            reserve.settle(1_000_000, 1.0)
        async with budget.reserve("m", 2_000_000, 0):
            pass  # not settled: what was set aside may have been spent
        with pytest.raises(BudgetReached, match=r"llm.max_cost is \$3, \$3.0000 .* are spent, the next call may cost"):
            await budget.reserve("m", 1, 0).__aenter__()

    asyncio.run(work())


def test_a_call_waits_for_others_that_may_leave_enough() -> None:
    async def work() -> None:
        budget = TokenBudget(100, None, {}, ["m"])
        order = []

        async def call(name: str, takes: float) -> None:
            async with budget.reserve("m", 60, 0) as reserve:
                order.append(name)
                await asyncio.sleep(takes)
                reserve.settle(20, None)

        await asyncio.gather(call("first", 0.01), call("second", 0))
        assert order == ["first", "second"]
        with pytest.raises(
            BudgetReached, match=r"llm.max_tokens is 100, 40 tokens are spent, the next call may take 61"
        ):
            await budget.reserve("m", 61, 0).__aenter__()

    asyncio.run(work())


def test_a_budget_in_dollars_needs_prices() -> None:
    with pytest.raises(SettingsError, match=r"needs the price of n: set llm.prices, for example \{n: \{input"):
        TokenBudget(None, 1.0, PRICES, ["m", "n"])


@settings(deadline=None)
@given(st.text(max_size=300))
def test_no_tokenizer_over_bytes_makes_more_tokens_than_the_bound(text: str) -> None:
    assert count_tokens(text) <= most_prompt_tokens((Message("user", text),))
