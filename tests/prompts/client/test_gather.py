import asyncio

import pytest
from conspectus.prompts.client.gather import settled, together
from conspectus.storage.errors import BudgetReached, ModelUnavailable


async def after(seconds: float, result: object, done: list[object]) -> object:
    await asyncio.sleep(seconds)
    done.append(result)
    if isinstance(result, Exception):
        raise result
    return result


def test_results_come_in_the_order_of_the_works_which_run_at_once() -> None:
    done: list[object] = []
    assert asyncio.run(together(after(0.01 * (3 - each), each, done) for each in range(3))) == [0, 1, 2]
    assert done == [2, 1, 0]


def test_what_is_under_way_is_finished_before_the_first_error_is_raised() -> None:
    done: list[object] = []
    works = [after(0.02, "late", done), after(0, BudgetReached("first"), done), after(0.01, ValueError("second"), done)]
    with pytest.raises(BudgetReached, match="first"):
        asyncio.run(together(works))
    assert "late" in done


def test_a_models_error_may_stand_in_the_place_of_its_result() -> None:
    done: list[object] = []
    failed = ModelUnavailable("no")
    assert asyncio.run(settled([after(0, 1, done), after(0, failed, done), after(0, 3, done)])) == [1, failed, 3]
    with pytest.raises(BudgetReached):
        asyncio.run(settled([after(0, 1, done), after(0, BudgetReached("no"), done)]))
