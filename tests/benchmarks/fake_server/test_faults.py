import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.fake_server import FakeRequest, FakeServer, Faults, Limits
from benchmarks.fake_server.faults import Limiter
from tests.benchmarks.fake_server.conftest import Ask

WINDOW = 10.0
# Times that land on, and just beside, the edges of windows.
GAPS = st.lists(st.one_of(st.floats(0, 15), st.sampled_from([0.0, WINDOW, WINDOW / 2, 0.1])), max_size=60)
COSTS = st.lists(st.integers(1, 40), min_size=60, max_size=60)


def test_a_script_strikes_by_number_and_by_prompt(ask: Ask) -> None:
    with FakeServer("fine", faults=Faults(script={1: "500", "poison": "503"})) as server:
        for prompt in ("a", "a", "poison", "poison", "a"):
            try:
                assert ask(server, prompt) == "fine"
            except openai.InternalServerError:
                continue
    assert [request.fault for request in server.requests] == [None, "500", "503", "503", None]


def request(number: int, prompt: str = "x", attempt: int = 0) -> FakeRequest:
    return FakeRequest("/v1/chat/completions", {"messages": [{"role": "user", "content": prompt}]}, number, attempt)


@given(st.integers(), st.permutations(range(30)))
def test_draws_repeat(seed: int, order: list[int]) -> None:
    by_number, by_prompt = Faults({"429": 0.5}), Faults({"429": 0.5}, by="prompt")
    plain = [by_number.draw(request(number), seed) for number in range(30)]
    assert [by_number.draw(request(number), seed) for number in order] == [plain[number] for number in order]
    prompts = [by_prompt.draw(request(number, f"p{number}"), seed) for number in range(30)]
    assert [by_prompt.draw(request(99 - i, f"p{i}"), seed) for i in order] == [prompts[i] for i in order]
    assert {by_prompt.draw(request(0, "x", attempt), seed) for attempt in range(40)} == {"429", None}


def accepted(limiter: Limiter, gaps: list[float], costs: list[int]) -> list[tuple[float, int]]:
    """The times and the tokens of the accepted requests."""
    now, found = 100.0, []
    for gap, cost in zip(gaps, costs, strict=False):
        now += gap
        if limiter.take(now, cost, 0) is None:
            found.append((now, cost))
    return found


@given(GAPS, COSTS, st.sampled_from(["sliding", "fixed", "bucket"]), st.integers(1, 4), st.integers(40, 60))
def test_a_request_is_accepted_after_the_wait_and_not_before(
    gaps: list[float], costs: list[int], shape: str, requests: int, tokens: int
) -> None:
    now, limiter = 100.0, Limiter(Limits(requests, tokens, window=WINDOW, shape=shape))  # type: ignore[arg-type]
    for gap, cost in zip(gaps, costs, strict=False):
        now += gap
        rejection = limiter.take(now, cost, 0)
        if rejection is not None:
            assert rejection.retry_after is not None
            if rejection.retry_after > 1e-3:
                assert limiter.take(now + rejection.retry_after * 0.5, cost, 0) is not None
            now += rejection.retry_after + 1e-6
            assert limiter.take(now, cost, 0) is None


def test_limits_are_told_in_headers_and_can_change(ask: Ask) -> None:
    with FakeServer("fine", limits=Limits(requests_per_minute=3)) as server:
        for _ in range(3):
            ask(server, "x")
        with pytest.raises(openai.RateLimitError) as error:
            ask(server, "x")
        headers = error.value.response.headers
        assert 0 < float(headers["retry-after"]) <= 60
        assert headers["x-ratelimit-limit-requests"] == "3"
        server.change(limits=Limits(1))
        for _ in range(2):
            with pytest.raises(openai.RateLimitError):  # noqa: PT012 - the first of them may be accepted
                ask(server, "y")
                ask(server, "y")
    assert [request.status for request in server.requests] == [200, 200, 200, 429, 200, 429, 429]
    assert server.measures.second_429 == 1


def test_a_whole_reply_to_the_same_body_is_paid_again(ask: Ask) -> None:
    with FakeServer("fine", forgets=True, faults=Faults(script={0: "cut"})) as server:
        with pytest.raises(openai.APIError):
            ask(server, "x")
        ask(server, "x")
        assert server.measures.paid_again == 0
        ask(server, "y")
        ask(server, "x")
    assert server.measures.paid_again == 1
    assert {each.body for each in server.requests} == {None}
