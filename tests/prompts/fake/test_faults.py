import asyncio
import itertools
import json
import time
from collections import Counter
from email.utils import parsedate_to_datetime

import openai
import pytest
from conspectus.prompts.fake import FakeRequest, FakeServer, Faults
from conspectus.prompts.fake.faults import TRANSPORT_FAULTS, FaultKind, RetryStyle
from hypothesis import given
from hypothesis import strategies as st

from tests.prompts.fake.conftest import Ask, Connect

HELLO = [{"role": "user", "content": "Hello"}]


def always(kind: FaultKind, **options: object) -> Faults:
    return Faults({kind: 1.0}, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["429", "500", "502", "503", "529"])
def test_errors_come_with_their_status(ask: Ask, kind: FaultKind) -> None:
    with FakeServer(faults=always(kind)) as server, pytest.raises(openai.APIStatusError) as caught:
        ask(server, "x")
    assert caught.value.status_code == int(kind)
    assert caught.value.response.headers.get("retry-after") == (None if kind == "500" else "1")
    assert set(caught.value.body) == {"message", "type", "param", "code"}  # type: ignore[arg-type]
    (recorded,) = server.requests
    assert (recorded.status, recorded.fault) == (int(kind), kind)


@pytest.mark.parametrize("style", ["seconds", "date", "ms", "missing"])
def test_when_to_try_again_is_told_in_every_style(ask: Ask, style: RetryStyle) -> None:
    faults = always("429", retry_after=2.5, retry_style=style)
    with FakeServer(faults=faults) as server, pytest.raises(openai.RateLimitError) as caught:
        ask(server, "x")
    after, ms = (caught.value.response.headers.get(name) for name in ("retry-after", "retry-after-ms"))
    if style == "date":
        assert after is not None
        assert 1.5 < parsedate_to_datetime(after).timestamp() - time.time() <= 3.5
    else:
        assert (after, ms) == {"seconds": ("2.5", None), "ms": (None, "2500"), "missing": (None, None)}[style]


def test_a_proxy_answers_with_a_page(ask: Ask) -> None:
    with FakeServer(faults=always("html_502")) as server, pytest.raises(openai.InternalServerError) as caught:
        ask(server, "x")
    assert caught.value.status_code == 502
    assert caught.value.response.headers["content-type"] == "text/html"
    assert "<html>" in caught.value.response.text


def test_a_broken_body_comes_with_status_200(connect: Connect) -> None:
    with FakeServer("text", faults=always("bad_json")) as server:
        response = connect(server).chat.completions.with_raw_response.create(model="m", messages=HELLO)
        with pytest.raises(json.JSONDecodeError):
            response.parse()
    assert server.requests[0].status == 200


def test_a_server_that_never_answers(connect: Connect) -> None:
    with FakeServer(faults=always("timeout")) as server:
        with pytest.raises(openai.APITimeoutError):
            connect(server, timeout=0.1).chat.completions.create(model="m", messages=HELLO)
        deadline = time.monotonic() + 2
        while server.measures.in_flight and time.monotonic() < deadline:
            time.sleep(0.005)
        (recorded,) = server.requests
    assert recorded.status is None
    assert recorded.replied is not None
    assert recorded.replied - recorded.arrived >= 0.09


@pytest.mark.parametrize("kind", ["drop", "cut_body"])
def test_connections_that_break(ask: Ask, kind: FaultKind) -> None:
    with FakeServer("a text of some length", faults=always(kind)) as server, pytest.raises(openai.APIConnectionError):
        ask(server, "x")
    assert server.requests[0].status == (None if kind == "drop" else 200)


@pytest.mark.parametrize("kind", ["cut_stream", "cut_body"])
def test_a_stream_that_breaks_in_the_middle(connect: Connect, kind: FaultKind) -> None:
    text = "one two three four five six seven"
    got = ""
    with FakeServer(text, faults=always(kind), piece=3) as server:
        stream = connect(server).chat.completions.create(model="m", messages=HELLO, stream=True)
        with pytest.raises(openai.APIConnectionError):  # noqa: PT012 - the error comes while reading
            for chunk in stream:
                got += chunk.choices[0].delta.content or ""
    assert got
    assert text.startswith(got)
    assert got != text


def test_a_slow_body_takes_its_time(ask: Ask) -> None:
    with FakeServer("text", faults=always("slow", slow_seconds=0.2)) as server:
        begun = time.perf_counter()
        assert ask(server, "x") == "text"
        assert time.perf_counter() - begun >= 0.19


def test_async_clients_see_the_same() -> None:
    wanted = {
        "429": openai.RateLimitError,
        "500": openai.InternalServerError,
        "drop": openai.APIConnectionError,
        "cut_body": openai.APIConnectionError,
    }

    async def run(server: FakeServer) -> None:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            for kind, error in wanted.items():
                with pytest.raises(error):
                    await client.chat.completions.create(model="m", messages=[{"role": "user", "content": kind}])

    with FakeServer(faults=Faults(script={f"^{kind}$": kind for kind in wanted})) as server:  # type: ignore[misc]
        asyncio.run(run(server))


def test_embeddings_fail_too(connect: Connect) -> None:
    with FakeServer(faults=always("500")) as server, pytest.raises(openai.InternalServerError):
        connect(server).embeddings.create(model="m", input="x")


def test_the_openai_package_retries_as_told(connect: Connect) -> None:
    faults = Faults(script={"": ("429", "503", None)}, retry_after=0.1)
    with FakeServer("done", faults=faults) as server:
        client = connect(server, max_retries=3)
        assert client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "done"
    times = [each.arrived for each in server.requests]
    assert [each.status for each in server.requests] == [429, 503, 200]
    assert [each.attempt for each in server.requests] == [0, 1, 2]
    assert all(after - before >= 0.1 for before, after in itertools.pairwise(times))


def test_a_script_strikes_by_number_and_by_prompt(ask: Ask) -> None:
    with FakeServer("fine", faults=Faults(script={1: "500", "poison": "503"})) as server:
        assert ask(server, "a") == "fine"
        with pytest.raises(openai.InternalServerError):
            ask(server, "a")
        for _ in range(2):
            with pytest.raises(openai.InternalServerError):
                ask(server, "poison")
        assert ask(server, "a") == "fine"
    assert [each.fault for each in server.requests] == [None, "500", "503", "503", None]


def asked(number: int, prompt: str = "x", attempt: int = 0) -> FakeRequest:
    return FakeRequest("/v1/chat/completions", {"messages": [{"role": "user", "content": prompt}]}, {}, number, attempt)


def test_rates_are_met() -> None:
    faults = Faults({"429": 0.2, "timeout": 0.05})
    drawn = Counter(faults.draw(asked(i), 7) for i in range(4000))
    assert drawn["429"] == pytest.approx(800, abs=100)
    assert drawn["timeout"] == pytest.approx(200, abs=60)
    assert drawn[None] == pytest.approx(3000, abs=120)


@given(st.integers(), st.permutations(range(30)))
def test_draws_repeat(seed: int, order: list[int]) -> None:
    by_number = Faults({"429": 0.5})
    by_prompt = Faults({"429": 0.5}, by="prompt")
    plain = [by_number.draw(asked(i), seed) for i in range(30)]
    assert [by_number.draw(asked(i), seed) for i in order] == [plain[i] for i in order]
    prompts = [by_prompt.draw(asked(i, f"p{i}"), seed) for i in range(30)]
    assert [by_prompt.draw(asked(99 - i, f"p{i}"), seed) for i in order] == [prompts[i] for i in order]


def test_another_attempt_is_another_draw() -> None:
    faults = Faults({"429": 0.5}, by="prompt")
    assert {faults.draw(asked(0, "x", i), 0) for i in range(20)} == {"429", None}


@pytest.mark.parametrize(
    "wrong",
    [
        {"rates": {"419": 0.1}},
        {"rates": {"429": -0.1}},
        {"rates": {"429": 0.6, "500": 0.6}},
        {"script": {"a": ["odd"]}},
    ],
)
def test_wrong_faults_are_told(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"No fault is called|probabilities"):
        Faults(**wrong)  # type: ignore[arg-type]


def test_every_fault_leaves_the_server_answering(ask: Ask, connect: Connect) -> None:
    script = dict(enumerate(TRANSPORT_FAULTS))
    with FakeServer("fine", faults=Faults(script=script, slow_seconds=0.05)) as server:  # type: ignore[arg-type]
        for _ in script:
            response = None
            try:
                create = connect(server, timeout=0.3).chat.completions.with_raw_response.create
                response = create(model="m", messages=HELLO)
            except openai.APIError:
                continue
            assert response.status_code == 200
        assert ask(server, "x") == "fine"
    assert [each.fault for each in server.requests[:-1]] == list(TRANSPORT_FAULTS)
