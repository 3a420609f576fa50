import asyncio
import threading
import time

import pytest
from conspectus.pipelines.runner import beside
from conspectus.prompts.client.event_loop import wait_for


def test_beside_what_waits_work_is_done_in_a_thread_and_in_order() -> None:
    done: list[str] = []

    def work(name: str) -> str:
        done.append(name)
        return threading.current_thread().name

    with beside(True) as later:
        first = later(work, "a")
        second = later(done.append, "b")
    assert first().startswith("beside")
    assert second() is None
    assert done == ["a", "b"]


def test_otherwise_it_is_done_once_when_it_is_asked_for() -> None:
    done: list[str] = []
    with beside(False) as later:
        first = later(done.append, "a")
        assert done == []
        first()
        first()
    assert done == ["a"]


@pytest.mark.parametrize("waits", [True, False])
def test_what_it_raises_comes_with_the_result(waits: bool) -> None:
    with beside(waits) as later:
        result = later(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        result()


def test_an_interrupted_block_waits_for_no_server() -> None:
    begun = threading.Event()

    async def long() -> None:
        begun.set()
        await asyncio.sleep(60)

    def block() -> None:
        with beside(True) as later:
            later(lambda: wait_for(long()))
            later(lambda: wait_for(long()))
            begun.wait(10)
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        block()
    assert time.monotonic() - began < 20


def test_what_is_under_way_is_finished_where_an_error_ends_the_block() -> None:
    begun, done = threading.Event(), []

    async def work() -> None:
        begun.set()
        await asyncio.sleep(0.1)
        done.append("it is paid")

    def block() -> None:
        with beside(True) as later:
            later(lambda: wait_for(work()))
            later(done.append, "it is not begun")
            begun.wait(10)
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        block()
    assert done == ["it is paid"]
