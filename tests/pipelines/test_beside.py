import threading

import pytest

from pipelines.beside import beside


def test_beside_what_waits_work_is_done_in_a_thread_and_in_order() -> None:
    done: list[str] = []
    with beside(True) as later:
        first = later(lambda name: done.append(name) or threading.current_thread().name, "a")
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
