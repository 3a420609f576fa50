import asyncio
import os
import threading
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextvars import copy_context

import pytest
from conspectus.prompts.client.event_loop import cached_per_process, gather_all, gather_settled, wait_for
from conspectus.storage.cancellation import Cancellation
from conspectus.storage.errors import BudgetReached, ModelUnavailable

from tests.waiting import HELD, LIMIT


def test_a_forked_process_makes_its_own_even_where_another_thread_was_making_it() -> None:
    began, go_on = threading.Event(), threading.Event()

    @cached_per_process
    def make() -> int:
        if not began.is_set():
            began.set()
            go_on.wait(LIMIT)
        return os.getpid()

    with ThreadPoolExecutor(1) as other:
        first = other.submit(make)
        began.wait(LIMIT)
        child = os.fork()
        if child == 0:
            os._exit(0 if make() == os.getpid() else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert os.waitstatus_to_exitcode(status) == 0
        assert first.result() == os.getpid()


def test_what_another_thread_waits_for_can_be_cancelled() -> None:
    cancellation, begun, ended = Cancellation(), threading.Event(), threading.Event()

    async def long() -> None:
        begun.set()
        try:
            await asyncio.sleep(HELD)
        finally:
            ended.set()

    context = copy_context()
    context.run(cancellation.enter)
    with ThreadPoolExecutor(1) as other:
        waiting = other.submit(context.run, lambda: wait_for(long()))
        begun.wait(LIMIT)
        cancellation.cancel()
        with pytest.raises(CancelledError):
            waiting.result(LIMIT)
        assert ended.wait(LIMIT), "it is cancelled on the loop"
        with pytest.raises(CancelledError):  # what it would wait for next is not waited for
            other.submit(context.run, lambda: wait_for(long())).result(LIMIT)
    assert wait_for(asyncio.sleep(0, "others go on")) == "others go on"


async def after(seconds: float, result: object, done: list[object]) -> object:
    await asyncio.sleep(seconds)
    done.append(result)
    if isinstance(result, Exception):
        raise result
    return result


def test_where_the_caller_is_cancelled_the_works_are_too() -> None:
    ended: list[int] = []

    async def work(number: int, caller: asyncio.Task[None]) -> None:
        if number == 2:
            caller.cancel()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            ended.append(number)

    async def cancelled() -> None:
        caller = asyncio.current_task()
        assert caller
        await gather_all(work(number, caller) for number in range(5))

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancelled())
    assert ended == [0, 1, 2], "the others were not started"


def test_what_is_under_way_is_finished_before_the_first_error_is_raised() -> None:
    done: list[object] = []
    works = [after(0.02, "late", done), after(0, BudgetReached("first"), done), after(0.01, ValueError("second"), done)]
    with pytest.raises(BudgetReached, match="first"):
        asyncio.run(gather_all(works))
    assert "late" in done


def test_a_models_error_may_stand_in_the_place_of_its_result() -> None:
    done: list[object] = []
    failed = ModelUnavailable("no")
    assert asyncio.run(gather_settled([after(0, 1, done), after(0, failed, done), after(0, 3, done)])) == [1, failed, 3]
    with pytest.raises(BudgetReached):
        asyncio.run(gather_settled([after(0, 1, done), after(0, BudgetReached("no"), done)]))
