import json
import re
import time
from collections.abc import Callable

import openai
import pytest
from conspectus.prompts.fake import FakeServer, Limits
from conspectus.prompts.fake.limits import Limiter, Shape, duration
from hypothesis import given
from hypothesis import strategies as st

from tests.prompts.fake.conftest import Ask, Connect, Wire

WINDOW = 10.0
# Times that land on, and just beside, the edges of windows.
GAPS = st.lists(st.one_of(st.floats(0, 15), st.sampled_from([0.0, WINDOW, WINDOW / 2, 0.1])), max_size=60)
COSTS = st.lists(st.integers(1, 40), min_size=60, max_size=60)
SHAPES: list[Shape] = ["sliding", "fixed", "bucket"]


def taken(limiter: Limiter, gaps: list[float], costs: list[int]) -> list[tuple[float, int]]:
    """The times and the tokens of the requests that are taken."""
    now, found = 100.0, []
    for gap, cost in zip(gaps, costs, strict=False):
        now += gap
        if limiter.take(now, cost, 0, 0) is None:
            found.append((now, cost))
    return found


@given(GAPS, COSTS, st.integers(1, 6), st.integers(40, 90))
def test_a_sliding_window_never_holds_more(gaps: list[float], costs: list[int], requests: int, tokens: int) -> None:
    found = taken(Limiter(Limits(requests, tokens, window=WINDOW)), gaps, costs)
    for end, _ in found:
        inside = [cost for at, cost in found if at <= end and not at + WINDOW <= end]
        assert len(inside) <= requests
        assert sum(inside) <= tokens


@given(GAPS, COSTS, st.integers(1, 6), st.integers(40, 90))
def test_a_fixed_window_never_holds_more(gaps: list[float], costs: list[int], requests: int, tokens: int) -> None:
    found = taken(Limiter(Limits(requests, tokens, window=WINDOW, shape="fixed")), gaps, costs)
    start = 100.0 + (gaps[0] if gaps else 0.0)
    windows: dict[int, list[int]] = {}
    for at, cost in found:
        # A hair's breadth is left to rounding at the edges of windows.
        windows.setdefault(int((at - start) / WINDOW + 1e-9), []).append(cost)
    for inside in windows.values():
        assert len(inside) <= requests
        assert sum(inside) <= tokens


@given(GAPS, COSTS, st.integers(1, 6), st.integers(40, 90))
def test_a_bucket_never_gives_more_than_it_holds_and_got(
    gaps: list[float], costs: list[int], requests: int, tokens: int
) -> None:
    found = taken(Limiter(Limits(requests, tokens, window=WINDOW, shape="bucket")), gaps, costs)
    for i, (begin, _) in enumerate(found):
        for j in range(i, len(found)):
            passed = found[j][0] - begin
            assert j - i + 1 <= requests * (1 + passed / WINDOW) + 1e-3
            assert sum(cost for _, cost in found[i : j + 1]) <= tokens * (1 + passed / WINDOW) + 1e-3


@given(GAPS, COSTS, st.sampled_from(SHAPES), st.integers(1, 4), st.integers(40, 60))
def test_who_waits_as_told_is_taken_and_not_before(
    gaps: list[float], costs: list[int], shape: Shape, requests: int, tokens: int
) -> None:
    now, limits = 100.0, Limits(requests, tokens, window=WINDOW, shape=shape)
    limiter = Limiter(limits)
    for gap, cost in zip(gaps, costs, strict=False):
        now += gap
        refusal = limiter.take(now, cost, 0, 0)
        if refusal is not None:
            assert refusal.retry_after is not None
            if refusal.retry_after > 1e-3:
                assert limiter.take(now + refusal.retry_after * 0.5, cost, 0, 0) is not None
            now += refusal.retry_after + 1e-6
            assert limiter.take(now, cost, 0, 0) is None


def test_a_request_that_never_fits_is_told_so(ask: Ask) -> None:
    with (
        FakeServer(limits=Limits(tokens_per_minute=3)) as server,
        pytest.raises(openai.RateLimitError, match="too large") as caught,
    ):
        ask(server, "one two three four")
    assert "retry-after" not in caught.value.response.headers


def test_used_tokens_count_once_they_are_known(ask: Ask) -> None:
    with FakeServer("one two three four five", limits=Limits(tokens_per_minute=8)) as server:
        ask(server, "x y")
        ask(server, "x")
        with pytest.raises(openai.RateLimitError):
            ask(server, "x")
    assert [each.refused for each in server.requests] == [None, None, "tokens"]


def test_asked_tokens_count_on_arrival(ask: Ask) -> None:
    with FakeServer("yes", limits=Limits(tokens_per_minute=20, tokens="asked")) as server:
        ask(server, "x", max_tokens=15)
        with pytest.raises(openai.RateLimitError):
            ask(server, "x", max_tokens=15)
        ask(server, "x", max_tokens=3)


def test_the_server_refuses_and_tells_when_to_come_back(ask: Ask) -> None:
    with FakeServer("fine", limits=Limits(requests_per_minute=3, window=0.8)) as server:
        for _ in range(3):
            ask(server, "x")
        with pytest.raises(openai.RateLimitError) as caught:
            ask(server, "x")
        headers = caught.value.response.headers
        assert 0 < float(headers["retry-after"]) <= 0.8
        assert float(headers["retry-after-ms"]) == pytest.approx(float(headers["retry-after"]) * 1000)
        assert (headers["x-ratelimit-limit-requests"], headers["x-ratelimit-remaining-requests"]) == ("3", "0")
        assert headers["x-ratelimit-reset-requests"].endswith("ms")
        assert caught.value.code == "rate_limit_exceeded"
        time.sleep(float(headers["retry-after"]))
        ask(server, "x")
    assert [each.status for each in server.requests] == [200, 200, 200, 429, 200]
    assert server.measures.second_429 == 0


def test_headers_count_down(connect: Connect) -> None:
    with FakeServer("a b", limits=Limits(10, 100)) as server:
        create = connect(server).chat.completions.with_raw_response.create
        left = []
        for _ in range(2):
            headers = create(model="m", messages=[{"role": "user", "content": "one two"}]).headers
            left.append([headers[f"x-ratelimit-remaining-{name}"] for name in ("requests", "tokens")])
    assert left == [["9", "98"], ["8", "94"]]


def test_whole_seconds_are_rounded_up(ask: Ask) -> None:
    with FakeServer(limits=Limits(1, window=7.3, whole_seconds=True)) as server:
        ask(server, "x")
        with pytest.raises(openai.RateLimitError) as caught:
            ask(server, "x")
    assert caught.value.response.headers["retry-after"] in ("7", "8")


def test_so_many_at_the_same_time(wire: Callable[[FakeServer], Wire]) -> None:
    body = json.dumps({"model": "m", "messages": [{"role": "user", "content": "x"}]}).encode()
    with FakeServer("fine", latency=30, limits=Limits(in_flight=4)) as server:
        lines = [wire(server) for _ in range(5)]
        for number, line in enumerate(lines):
            line.post(body)
            while len(server.requests) <= number:
                time.sleep(0.001)
        assert b"429 Too Many Requests" in lines[4].read(b"}}")
        lines[0].close()
        while server.measures.in_flight == 4:
            time.sleep(0.001)
        lines[4].post(body)
        while server.measures.in_flight < 4:
            time.sleep(0.001)
    assert server.measures.statuses == {"none": 5, "429": 1}
    assert [each.refused for each in server.requests] == [None] * 4 + ["in_flight", None]


def test_a_second_429_is_counted(ask: Ask) -> None:
    with FakeServer(limits=Limits(1)) as server:
        for prompt in ("a", "b", "b", "b", "c"):
            try:
                ask(server, prompt)
            except openai.RateLimitError:
                continue
    assert server.measures.second_429 == 2


def test_limits_can_change_while_it_runs(ask: Ask) -> None:
    with FakeServer(limits=Limits(1)) as server:
        ask(server, "x")
        server.change(limits=Limits(2))
        ask(server, "x")
        ask(server, "x")
        with pytest.raises(openai.RateLimitError):
            ask(server, "x")


@pytest.mark.parametrize("wrong", [{"requests_per_minute": 0}, {"window": 0.0}, {"in_flight": -1}])
def test_wrong_limits_are_told(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Limits(**wrong)  # type: ignore[arg-type]


@given(st.floats(0, 10_000))
def test_durations_are_written_as_openai_does(seconds: float) -> None:
    found = re.fullmatch(r"(?:(\d+)m)?([\d.]+)s|(\d+)ms", duration(seconds))
    assert found, duration(seconds)
    told = int(found[3]) / 1000 if found[3] else int(found[1] or 0) * 60 + float(found[2])
    assert told == pytest.approx(seconds, abs=2e-3)
