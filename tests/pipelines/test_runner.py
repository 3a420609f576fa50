import asyncio
import signal
import sys
import threading
import time
import weakref
from collections.abc import Sequence

import pytest
from conspectus.pipelines.runner import Overlap, RunHere, announced, interruptible, no_progress, shards
from conspectus.prompts.client.event_loop import wait_for

from tests.waiting import HELD, LIMIT, wait_until


def test_progress_counts_items_and_not_shards() -> None:
    told: list[tuple[str, int, int]] = []
    run = RunHere(lambda *args: told.append(args))
    assert run("embed", len, shards("abcde", 2)) == [2, 2, 1]
    assert run("embed", len, []) == [], "without work nothing is reported"
    assert told == [("embed", 0, 5), ("embed", 2, 5), ("embed", 4, 5), ("embed", 5, 5)]
    assert announced(lambda *args: told.append(args), "graph", len)("abc") == 3
    assert told[4:] == [("graph", 0, 0), ("graph", 1, 1)]


def test_in_the_background_steps_run_in_one_thread_and_in_order() -> None:
    done: list[str] = []

    def work(name: str) -> str:
        done.append(name)
        return threading.current_thread().name

    with Overlap(True) as overlap:
        first = overlap.start(work, "a")
        second = overlap.start(done.append, "b")
    assert first.result().startswith("overlap")
    assert second.result() is None
    assert done == ["a", "b"]


def test_otherwise_a_step_runs_once_when_its_result_is_needed_or_at_the_end() -> None:
    done: list[str] = []
    with Overlap(False) as overlap:
        first = overlap.start(done.append, "a")
        overlap.start(done.append, "b")
        assert done == []
        first.result()
        first.result()
        assert done == ["a"]
    assert done == ["a", "b"]


@pytest.mark.parametrize("background", [True, False])
def test_what_has_settled_is_kept_only_by_those_who_have_it(background: bool) -> None:
    class Large:
        pass

    with Overlap(background) as overlap:
        result = overlap.start(Large)
        overlap.start(id, result)
        held = weakref.ref(result.result())
        overlap.run(int)
        overlap.settle()
        assert held() is result.result()
        del result
        if background:  # the thread lets go of its last work when it takes another
            wait_until(lambda: overlap.run(int) == 0 and held() is None)
        assert held() is None


def test_what_fails_before_it_settles_is_raised_at_the_end_in_the_background() -> None:
    def block() -> None:
        with Overlap(True) as overlap:
            overlap.start(int, "no number")
            wait_until(lambda: overlap._futures[0].done())
            overlap.settle()
            done.append("the rest")

    done: list[str] = []
    with pytest.raises(ValueError, match="no number"):
        block()
    assert done == ["the rest"]


def test_an_interrupted_block_waits_for_no_server() -> None:
    begun = threading.Event()

    async def long() -> None:
        begun.set()
        await asyncio.sleep(HELD)

    def block() -> None:
        with Overlap(True) as overlap:
            overlap.start(lambda: wait_for(long()))
            overlap.start(lambda: wait_for(long()))
            begun.wait(LIMIT)
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        block()
    assert time.monotonic() - began < HELD


def test_an_interrupted_block_leaves_a_step_that_does_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conspectus.pipelines.runner._SECONDS_TO_STOP", 0.1)
    begun, released = threading.Event(), threading.Event()

    def stuck() -> None:
        begun.set()
        released.wait(60)

    def block() -> None:
        with Overlap(True) as overlap:
            overlap.start(stuck)
            overlap.start(stuck)
            begun.wait(60)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        block()
    assert not released.is_set()
    released.set()


def test_a_ctrl_c_that_a_destructor_lost_comes_with_the_next_report(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    lost: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda ignored: lost.append(ignored.exc_type))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible(no_progress) as report:
            report("read", 1, 3)
            held = Held()
            del held
            assert lost == [KeyboardInterrupt]
            with pytest.raises(KeyboardInterrupt):
                report("read", 2, 3)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_is_under_way_is_finished_where_an_error_ends_the_block() -> None:
    begun, done = threading.Event(), []

    async def work() -> None:
        begun.set()
        while not (len(overlap._futures) > 1 and overlap._futures[1].cancelled()):  # the block has failed
            await asyncio.sleep(0.01)
        done.append("it is paid")

    overlap = Overlap(True)

    def block() -> None:
        with overlap:
            overlap.start(lambda: wait_for(work()))
            overlap.start(done.append, "it is not begun")
            begun.wait(LIMIT)
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        block()
    assert done == ["it is paid"]


def test_a_step_beside_runs_on_another_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    begun = threading.Event()
    with Overlap(False) as overlap:
        number = overlap.beside(lambda: begun.set() or 42)
        assert begun.wait(LIMIT)
        assert number.result() == 42
        assert overlap.start(str, number).result() == "42"


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_shards_beside_a_block_that_fails_are_not_begun(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    begun, done = threading.Event(), []

    def shard(items: Sequence[int]) -> None:
        begun.set()
        wait_until(lambda: overlap._cancellation_beside.cancelled)  # the block has failed
        done.extend(items)

    overlap = Overlap(False)

    def block() -> None:
        with overlap:
            overlap.beside(RunHere(), "step", shard, [[1], [2], [3]])
            begun.wait(LIMIT)
            raise error

    with pytest.raises(error):
        block()
    assert done == [1]
