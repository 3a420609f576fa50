"""The model client against a server that plays along, and one that does not."""

import asyncio
import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from conspectus.prompts.client.client import ModelClient
from conspectus.prompts.client.completions import TokenRate, read_completion
from conspectus.prompts.client.reply_cache import KIND, reply_key
from conspectus.prompts.language_model import Message, Reply, Request
from conspectus.prompts.replies.structured import ask_for
from conspectus.storage.errors import (
    BadAnswer,
    BudgetReached,
    IndexUnusable,
    ModelError,
    ModelRefused,
    ModelUnavailable,
    NeedsModel,
    SettingsError,
)
from conspectus.storage.memo import Memo
from conspectus.storage.settings import LlmSettings, Price, load_settings
from pydantic import BaseModel

from benchmarks.fake_server import FakeReply, FakeRequest, FakeServer, Faults
from tests.waiting import HELD, LIMIT, Together


def ask(text: str, **changes: Any) -> Request:  # noqa: ANN401  (fields of a request)
    return Request((Message("user", text),), **{"step": "test", **changes})


def client(server: FakeServer, memo: Memo | None = None, **settings: Any) -> ModelClient:  # noqa: ANN401
    return ModelClient(LlmSettings(model="m", base_url=server.url, **settings), memo)


def complete(model: ModelClient, *texts: str) -> list[Reply | BaseException]:
    async def all_of_them() -> list[Reply | BaseException]:
        return await asyncio.gather(*(model.complete(ask(each)) for each in texts), return_exceptions=True)

    return asyncio.run(all_of_them())


def texts_of(replies: list[Reply | BaseException]) -> list[str]:
    return [each.text if isinstance(each, Reply) else repr(each) for each in replies]


def echo(request: FakeRequest) -> str:
    return f"echo {request.last}"


@pytest.fixture
def memo(tmp_path: Path) -> Memo:
    return Memo(tmp_path / "memo.sqlite")


def test_a_reply_and_what_it_took() -> None:
    with FakeServer("Paris, in France.") as server:
        model = client(server, prices={"m": Price(input=1_000_000, output=10)})
        (reply,) = complete(model, "Where is the Eiffel Tower?")
        assert isinstance(reply, Reply)
        assert (reply.text, reply.model, reply.finish) == ("Paris, in France.", "m", "stop")
        (spent,) = model.meter.spending()
        assert (spent.step, spent.model, spent.calls, spent.attempts) == ("test", "m", 1, 1)
        assert (spent.prompt_tokens, spent.completion_tokens) == (reply.prompt_tokens, reply.completion_tokens)
        assert spent.cost == reply.prompt_tokens + reply.completion_tokens / 100_000
        assert not spent.estimated

        (sent,) = server.requests
        assert sent.body == {
            "model": "m",
            "messages": [{"role": "user", "content": "Where is the Eiffel Tower?"}],
            "max_tokens": 4096,
            "temperature": 0.0,
            "stream": True,
            "stream_options": {"include_usage": True},
        }


def test_steps_can_have_models_of_their_own() -> None:
    with FakeServer(lambda request: request.model) as server:
        model = client(server, step_models={"extract": "small"})
        replies = [asyncio.run(model.complete(ask("a", step=step))) for step in ("extract", "answer")]
        assert [each.text for each in replies] == ["small", "m"]
        assert [(each.step, each.model) for each in model.meter.spending()] == [("answer", "m"), ("extract", "small")]


def test_nothing_is_paid_twice(memo: Memo) -> None:
    with FakeServer(echo, latency=0.05) as server:
        replies = complete(client(server, memo), "a", "b", "a", "a")
        assert texts_of(replies) == ["echo a", "echo b", "echo a", "echo a"]
        assert len(server.requests) == 2
        again = client(server, memo)
        (reply,) = complete(again, "a")
        assert reply == replace(replies[0], remembered=True)  # type: ignore[type-var]
        assert again.meter.total() == replace(again.meter.total(), calls=0, remembered=1, prompt_tokens=0, cost=0)
        assert texts_of(complete(again, "b")) == ["echo b"]
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    "other",
    [
        ask("b"),
        ask("a", sample=1),
        ask("a", temperature=0.5),
        ask("a", max_tokens=9),
        Request((Message("system", "a"),), "test"),
    ],
)
def test_another_question_is_another_reply(memo: Memo, other: Request) -> None:
    with FakeServer(echo) as server:
        model = client(server, memo)
        asyncio.run(model.complete(ask("a")))
        asyncio.run(model.complete(other))
        assert len(server.requests) == 2
        asyncio.run(model.complete(ask("a", step="elsewhere", sources=("x",))))
        assert len(server.requests) == 2


def test_what_a_reply_was_made_from_is_remembered_with_it(memo: Memo) -> None:
    with FakeServer(echo) as server:
        asyncio.run(client(server, memo).complete(ask("a", sources=("chunk1", "chunk2"))))
        ((kind, key),) = memo.made_from("chunk1")
        assert memo.made_from("chunk2") == [(kind, key)]
        assert b"echo a" in memo.get_many(kind, [key])[key]
        assert memo.made_from("chunk3") == []


def test_a_stream_that_breaks_off_is_asked_for_again() -> None:
    faults = Faults(script={"count": ["cut", None], "early": ["drop", None]})
    with FakeServer("one two three four five six seven", piece=5, faults=faults) as server:
        assert texts_of(complete(client(server), "count", "early")) == ["one two three four five six seven"] * 2


def test_a_stream_that_nobody_waits_for_any_more_gives_its_slot_back() -> None:
    with FakeServer("word " * 200, piece=5, piece_delay=0.01) as server:
        model = client(server, concurrency=1)

        with pytest.raises(TimeoutError):
            asyncio.run(asyncio.wait_for(model.complete(ask("long")), 0.2))
        server.change(replies="short")
        assert texts_of(complete(model, "short")) == ["short"]


class Person(BaseModel):
    name: str
    born: int


def test_a_form_that_the_settings_insist_on_is_not_given_up() -> None:
    with FakeServer("x", without=["json_schema"]) as server:
        model = client(server, structured_output="json_schema")
        with pytest.raises(ModelRefused, match="json_schema"):
            asyncio.run(model.complete(ask("a", schema=Person)))


def test_a_cut_off_reply_is_never_a_whole_one() -> None:
    with FakeServer('{"name": "Ada", "born": 1815}') as server, pytest.raises(BadAnswer, match="cut off"):
        asyncio.run(ask_for(client(server, max_output_tokens=5), ask("who"), Person))


def test_the_key_comes_from_the_environment_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-very-secret")
    with FakeServer("x", api_key="sk-other") as server:
        settings = LlmSettings(model="m", base_url=server.url, api_key_variable="OUR_KEY")
        with pytest.raises(ModelRefused) as refused:
            asyncio.run(ModelClient(settings).complete(ask("a")))
        assert server.requests[0].bearer == "sk-very-secret"
        assert "very-secret" not in str(refused.value)
        assert "very-secret" not in repr(settings)


@pytest.mark.parametrize("key", ["sk-very-secret\r", " sk-very-secret\n"])
def test_a_line_break_around_the_key_is_no_part_of_it(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OUR_KEY", key)
    with FakeServer("x", api_key="sk-very-secret") as server:
        assert texts_of(complete(client(server, api_key_variable="OUR_KEY"), "a")) == ["x"]


@pytest.mark.parametrize("key", ["sk-very\nsecret", "sk-vérysecret"])
def test_a_key_that_cannot_be_one_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("OUR_KEY", key)
    with FakeServer("x") as server, pytest.raises(SettingsError, match="OUR_KEY contains characters") as refused:
        client(server, api_key_variable="OUR_KEY")
    assert "secret" not in str(refused.value)


def test_a_key_that_a_server_sends_back_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "sk-very-secret")
    for status in (401, 400, 500):
        with FakeServer(FakeReply("your key sk-very-secret is wrong", status=status)) as server:
            model = client(server, api_key_variable="OUR_KEY", attempts=1)
            (error,) = complete(model, "a")
            assert isinstance(error, ModelError)
            assert "your key *** is wrong" in str(error)


def test_a_reply_keeps_its_words_where_the_key_is_one_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "ollama")  # what people set for a server that needs no key
    with FakeServer("ollama is a server") as server:
        assert texts_of(complete(client(server, api_key_variable="OUR_KEY"), "a")) == ["ollama is a server"]


def test_azure_is_asked_by_its_own_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUR_KEY", "azure-key")
    with FakeServer("x", api_key="azure-key") as server:
        settings = LlmSettings(
            model="gpt", base_url=server.origin, api_version="2024-10-21", api_key_variable="OUR_KEY"
        )
        assert asyncio.run(ModelClient(settings).complete(ask("a"))).text == "x"
        assert server.requests[0].path.startswith("/openai/deployments/gpt/chat/completions")


def test_no_model_and_no_key_are_said_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NeedsModel, match=r"set llm\.model"):
        ModelClient(LlmSettings())
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(SettingsError, match=r"OPENAI_API_KEY holds no key for https://api\.openai\.com/v1"):
        ModelClient(LlmSettings(model="m"))


def test_a_server_that_is_not_there() -> None:
    settings = LlmSettings(model="m", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(ModelUnavailable, match=r"^nothing listens at http://127.0.0.1:9/v1 \(connection refused\)"):
        asyncio.run(ModelClient(settings).complete(ask("a")))
    settings = LlmSettings(model="m", base_url="http://nowhere.invalid:9/v1", attempts=2)
    with pytest.raises(ModelUnavailable, match=r"gave up after 2 tries: no connection to http://nowhere.invalid:9/v1"):
        asyncio.run(ModelClient(settings).complete(ask("a")))


def test_all_are_answered_although_one_in_ten_tries_fails(memo: Memo) -> None:
    rates = {"429": 0.02, "500": 0.02, "timeout": 0.01, "drop": 0.02, "cut": 0.01, "html_502": 0.01, "bad_json": 0.01}
    faults = Faults(rates, retry_after=0.05)
    with FakeServer(echo, latency=0.01, faults=faults, seed=5) as server:
        model = client(server, memo, timeout=2)
        replies = complete(model, *(str(each) for each in range(300)))
        assert texts_of(replies) == [f"echo {each}" for each in range(300)]
        struck = server.measures.faults
        assert set(struck) == set(rates)
        spent = model.meter.total()
        assert spent.calls == 300
        # On a busy machine a try may time out before the server has seen it.
        assert spent.attempts >= len(server.requests) >= 300 + sum(struck.values())
        lost = sum(struck[each] for each in ("timeout", "drop", "cut", "bad_json"))  # type: ignore[index]
        assert spent.unconfirmed_tokens > lost * 4096


def test_a_server_that_tells_no_usage_cannot_make_a_budget_be_passed() -> None:
    with FakeServer("", without=["usage"]) as server:
        model = client(server, max_tokens=10_000, max_output_tokens=1000)
        replies = complete(model, *(str(each) for each in range(50)))
        assert sum(isinstance(each, Reply) for each in replies) <= 9
        assert any(isinstance(each, BudgetReached) for each in replies)


def test_tries_of_which_no_reply_came_count_against_the_budget() -> None:
    with FakeServer(echo, faults=Faults({"drop": 1.0})) as server:
        model = client(server, max_tokens=5000, max_output_tokens=1000, attempts=20)
        (error,) = complete(model, "a")
        assert isinstance(error, BudgetReached)
        assert len(server.requests) <= 5
        assert model.meter.total().unconfirmed_tokens >= 1000 * len(server.requests)


def test_a_server_that_does_not_stream_answers_whole() -> None:
    async def whole(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        body = json.dumps({"choices": [{"message": {"content": "all at once"}, "finish_reason": "stop"}]}).encode()
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n")
        writer.write(b"content-length: %d\r\n\r\n" % len(body) + body)
        await writer.drain()
        writer.close()

    async def ask_it() -> str:
        async with await asyncio.start_server(whole, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            model = ModelClient(LlmSettings(model="m", base_url=f"http://127.0.0.1:{port}/v1", attempts=1))
            return (await model.complete(ask("a"))).text

    assert asyncio.run(ask_it()) == "all at once"


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -5, "completion_tokens": 3},
        {"prompt_tokens": True, "completion_tokens": 3},
        {"prompt_tokens": 10**400, "completion_tokens": 3},
        {"prompt_tokens": "5", "completion_tokens": None},
        "none",
    ],
)
def test_usage_that_cannot_be_is_estimated(usage: object) -> None:
    body = {"choices": [{"message": {"content": "four words of text"}}], "usage": usage}
    reply = read_completion(body, "m", 100, TokenRate())
    assert reply.estimated
    assert 0 < reply.prompt_tokens < 100


def test_a_damaged_row_of_the_memo_is_told_and_harms_no_other(memo: Memo) -> None:
    with FakeServer(echo) as server:
        complete(client(server, memo), "a", "b")
        key = reply_key(ask("a"), "m", 4096, "", {})
        with sqlite3.connect(memo.path) as connection:
            connection.execute("UPDATE results SET value = ? WHERE kind = ? AND key = ?", (b"[1,2,3,4,5,6]", KIND, key))
        damaged, good = complete(client(server, memo), "a", "b")
        assert isinstance(damaged, IndexUnusable)
        assert "damaged reply" in str(damaged)
        assert texts_of([good]) == ["echo b"]


def test_what_cannot_be_kept_is_not_bought_any_more(memo: Memo) -> None:
    with FakeServer(echo) as server:
        model = client(server, memo, concurrency=1)
        with sqlite3.connect(memo.path) as connection:
            connection.execute(
                "CREATE TRIGGER full BEFORE INSERT ON results BEGIN SELECT RAISE(ABORT, 'disk full'); END"
            )
        replies = complete(model, *(str(each) for each in range(300)))
        assert all(isinstance(each, IndexUnusable) for each in replies)
        assert len(server.requests) < 100, "the others were not sent"


def test_a_request_that_timed_out_is_not_sent_again_unchanged() -> None:
    with FakeServer(echo, faults=Faults({"timeout": 1.0})) as server:
        (error,) = complete(client(server, timeout=0.5), "a")
        assert isinstance(error, ModelUnavailable)
        assert "no sign of life" in str(error)
        first, second = (each.body for each in server.requests)
        assert first["messages"] == second["messages"]
        assert (first["temperature"], second["temperature"]) == (0.0, 0.7)
        assert second["frequency_penalty"] > 0


def test_a_call_may_wait_longer_than_the_timeout_while_the_server_works_on_others() -> None:
    def say(request: FakeRequest) -> FakeReply:
        late = request.last == "b"
        return FakeReply("late" if late else "word " * 40, latency=2 if late else 0)

    with FakeServer(say, piece=5, piece_delay=0.1) as server:
        assert texts_of(complete(client(server, timeout=1), "a", "b")) == ["word " * 40, "late"]
        assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("thought", "loops"),
    [("I think of it. " * 3000, True), ("".join(f"Is it {number}? " for number in range(300)), False)],
)
def test_a_reply_that_is_all_reasoning_is_told_and_counted(
    thought: str, loops: bool, caplog: pytest.LogCaptureFixture
) -> None:
    replies = {"b$": FakeReply("Nine.", reasoning="Let me count. "), "": FakeReply("", reasoning=thought)}
    with FakeServer(replies, piece=20) as server:
        model = client(server)
        only, both = (complete(model, text)[0] for text in ("a", "b"))
        assert isinstance(only, Reply)
        assert isinstance(both, Reply)
        assert only.reasoning_tokens == only.completion_tokens > 0
        assert only.is_cut_off == loops, "a loop of thoughts ends early"
        assert (both.text, both.reasoning_tokens, both.completion_tokens) == ("Nine.", 4, 6)
        assert [each.message for each in caplog.records if "has only thought" in each.message] == [
            f"step test: m has only thought, {only.completion_tokens} tokens without an answer (llm.max_output_tokens, "
            "llm.extra)"
        ]
        total = model.meter.total()
        assert total.reasoning_tokens == only.completion_tokens + 4
        with pytest.raises(BadAnswer, match="all reasoning"):
            asyncio.run(ask_for(model, ask("a"), Person))


def test_a_reply_that_trickles_in_is_given_up() -> None:
    with FakeServer("word " * 100, faults=Faults({"slow": 1.0}, slow_seconds=20)) as server:
        model = client(server, timeout=0.6, attempts=1)
        (error,) = complete(model, "a")
        assert isinstance(error, ModelUnavailable)


def remembered(memo: Path) -> int:
    """The replies in another process's memo."""
    try:
        with closing(sqlite3.connect(f"file:{memo}?mode=ro", uri=True)) as connection:
            count: int = connection.execute("SELECT count(*) FROM results").fetchone()[0]
            return count
    except sqlite3.OperationalError:  # it has not been made yet
        return 0


def test_callers_on_many_loops_and_threads_share_one_pool_and_its_limits() -> None:
    with FakeServer(echo) as server:
        server.change(latency=Together(server, 4))
        model = client(server, concurrency=4)

        async def some(name: str) -> None:
            await asyncio.gather(*(model.complete(ask(f"{name}{each}")) for each in range(10)))

        async def both() -> None:
            await asyncio.gather(*(asyncio.to_thread(asyncio.run, some(name)) for name in "abc"))

        asyncio.run(both())
        asyncio.run(some("d"))
        assert server.measures.in_flight_peak == 4


def test_a_caller_that_gives_up_frees_its_slot() -> None:
    with FakeServer(echo, latency=lambda request: HELD if request.last == "slow" else 0.0) as server:
        model = client(server, concurrency=1)

        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(model.complete(ask("slow")), 0.2)
            assert (await asyncio.wait_for(model.complete(ask("quick")), LIMIT)).text == "echo quick"

        asyncio.run(give_up())


def test_a_request_has_the_members_and_headers_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_TOKEN", "Bearer secret")
    with FakeServer(echo) as server:
        model = client(server, extra={"reasoning_effort": "low"}, headers={"Authorization": "$A_TOKEN"})
        assert texts_of(complete(model, "one")) == ["echo one"]
        (sent,) = server.requests
    assert sent.body
    assert sent.body["reasoning_effort"] == "low"
    assert sent.bearer == "secret"
    monkeypatch.delenv("A_TOKEN")
    with pytest.raises(SettingsError, match="A_TOKEN"):
        client(server, headers={"Authorization": "$A_TOKEN"})
    with pytest.raises(SettingsError, match="max_tokens cannot be set here"):
        load_settings(overrides={"llm": {"extra": {"max_tokens": 3}}})
