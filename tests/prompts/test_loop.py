import os
import threading
import time
from concurrent.futures import ThreadPoolExecutor

from prompts.loop import once_a_process


def test_threads_that_ask_at_the_same_moment_get_the_same() -> None:
    made = []

    @once_a_process
    def make() -> object:
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    with ThreadPoolExecutor(8) as threads:
        got = list(threads.map(lambda _: make(), range(8)))
    assert len(made) == 1
    assert set(got) == set(made)


def test_a_forked_process_makes_its_own_even_where_another_thread_was_making_it() -> None:
    began, go_on = threading.Event(), threading.Event()

    @once_a_process
    def make() -> int:
        if not began.is_set():
            began.set()
            go_on.wait(10)
        return os.getpid()

    with ThreadPoolExecutor(1) as other:
        first = other.submit(make)
        began.wait(10)
        child = os.fork()
        if child == 0:
            os._exit(0 if make() == os.getpid() else 1)
        _, status = os.waitpid(child, 0)
        go_on.set()
        assert os.waitstatus_to_exitcode(status) == 0
        assert first.result() == os.getpid()
