import asyncio
import json

import openai
import pytest
from conspectus.prompts.fake import FakeReply, FakeServer, Rule, ToolCall, count_tokens, forced_choice
from conspectus.prompts.fake.tokens import _TOKEN, cut, pieces
from hypothesis import given
from hypothesis import strategies as st

from tests.prompts.fake.conftest import Ask, Connect

HELLO = [{"role": "user", "content": "Hello there, all of you."}]


def test_a_reply_comes_with_its_tokens_counted(connect: Connect) -> None:
    with FakeServer("Paris is it.") as server:
        reply = connect(server).chat.completions.create(model="gpt-4o", messages=HELLO)
    assert reply.choices[0].message.content == "Paris is it."
    assert (reply.choices[0].finish_reason, reply.model, reply.object) == ("stop", "gpt-4o", "chat.completion")
    assert reply.usage is not None
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (7, 4, 11)
    (recorded,) = server.requests
    assert (recorded.prompt_tokens, recorded.completion_tokens, recorded.bearer) == (7, 4, "sk-test")
    assert recorded.body is not None
    assert recorded.body["messages"] == HELLO
    assert not {"authorization", "api-key"} & recorded.headers.keys()


@pytest.mark.clock
def test_async_clients_are_answered_at_the_same_time() -> None:
    async def run(server: FakeServer) -> list[str | None]:
        async with openai.AsyncOpenAI(base_url=server.url, api_key="any", max_retries=0) as client:
            calls = [
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(i)}])
                for i in range(20)
            ]
            return [reply.choices[0].message.content for reply in await asyncio.gather(*calls)]

    with FakeServer(lambda request: request.last * 2, latency=0.5) as server:
        assert asyncio.run(run(server)) == [str(i) * 2 for i in range(20)]
    assert server.measures.in_flight_peak == 20
    assert server.measures.seconds < 5


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens"])
def test_replies_are_cut_at_the_most_tokens(connect: Connect, name: str) -> None:
    with FakeServer("one two, three four") as server:
        reply = connect(server).chat.completions.create(model="m", messages=HELLO, **{name: 3})
        whole = connect(server).chat.completions.create(model="m", messages=HELLO, **{name: 5})
    assert (reply.choices[0].message.content, reply.choices[0].finish_reason) == ("one two,", "length")
    assert reply.usage is not None
    assert reply.usage.completion_tokens == 3
    assert whole.choices[0].finish_reason == "stop"


def test_another_count_of_tokens_cuts_too(ask: Ask) -> None:
    with FakeServer("abcdefghij", count=len) as server:
        assert ask(server, "x", max_tokens=4) == "abcd"


def test_stop_sequences_end_a_reply(ask: Ask) -> None:
    with FakeServer("one. two. three") as server:
        assert ask(server, "x", stop=[" three", " two"]) == "one."


def test_n_choices_are_drawn_one_by_one(connect: Connect) -> None:
    with FakeServer() as server:
        reply = connect(server).chat.completions.create(model="m", messages=HELLO, n=3)
    assert [choice.index for choice in reply.choices] == [0, 1, 2]
    assert len({choice.message.content for choice in reply.choices}) == 3


def test_tools_are_called(connect: Connect) -> None:
    calls = (ToolCall("weather", {"city": "Paris"}), ToolCall("time", '{"zone": "CET"}'))
    tool = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}
    with FakeServer(FakeReply(None, calls)) as server:
        client = connect(server)
        reply = client.chat.completions.create(model="m", messages=HELLO, tools=[tool])  # type: ignore
        stream = client.chat.completions.create(model="m", messages=HELLO, tools=[tool], stream=True)  # type: ignore
        deltas = [call for chunk in stream for call in chunk.choices[0].delta.tool_calls or ()]
    choice = reply.choices[0]
    assert (choice.finish_reason, choice.message.content) == ("tool_calls", None)
    assert choice.message.tool_calls is not None
    made = [(call.function.name, json.loads(call.function.arguments)) for call in choice.message.tool_calls]
    assert made == [("weather", {"city": "Paris"}), ("time", {"zone": "CET"})]
    assert len({call.id for call in choice.message.tool_calls}) == 2
    streamed = ["".join(d.function.arguments for d in deltas if d.index == i) for i in range(2)]
    assert [json.loads(each) for each in streamed] == [{"city": "Paris"}, {"zone": "CET"}]


def test_a_stream_is_the_reply_in_pieces(connect: Connect) -> None:
    text = "It was the best of times, it was the worst of times — ünïcödé."
    with FakeServer(text, piece=7) as server:
        client = connect(server)
        options = {"include_usage": True}
        chunks = list(
            client.chat.completions.create(model="m", messages=HELLO, stream=True, stream_options=options)  # type: ignore
        )
        plain = list(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices) == text
    assert chunks[0].choices[0].delta.role == "assistant"
    assert max(len(chunk.choices[0].delta.content or "") for chunk in chunks if chunk.choices) == 7
    finishes = [chunk.choices[0].finish_reason for chunk in chunks if chunk.choices]
    assert finishes == [None] * (len(finishes) - 1) + ["stop"]
    last = chunks[-1]
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.completion_tokens == count_tokens(text)
    assert all(chunk.usage is None for chunk in chunks[:-1])
    assert all(chunk.choices and chunk.usage is None for chunk in plain)


def test_streams_of_several_choices_and_cut_ones(connect: Connect) -> None:
    with FakeServer("one two three") as server:
        stream = connect(server).chat.completions.create(model="m", messages=HELLO, stream=True, n=2, max_tokens=2)
        chunks = list(stream)
    for place in (0, 1):
        mine = [chunk.choices[0] for chunk in chunks if chunk.choices[0].index == place]
        assert "".join(each.delta.content or "" for each in mine) == "one two"
        assert mine[-1].finish_reason == "length"


def test_log_probabilities_are_those_of_the_text(connect: Connect) -> None:
    with FakeServer("Yes, it is.") as server:
        create = connect(server).chat.completions.create
        reply = create(model="m", messages=HELLO, logprobs=True, top_logprobs=3)
        stream = list(create(model="m", messages=HELLO, logprobs=True, stream=True))
    told = reply.choices[0].logprobs
    assert told is not None
    assert told.content is not None
    assert "".join(each.token for each in told.content) == "Yes, it is."
    for each in told.content:
        values = [top.logprob for top in each.top_logprobs]
        assert (len(values), values) == (3, sorted(values, reverse=True))
        assert values[0] == each.logprob <= 0
        assert bytes(each.bytes or ()).decode() == each.token
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream) == "Yes, it is."
    tokens = [chunk.choices[0].logprobs.content[0].token for chunk in stream if chunk.choices[0].logprobs]
    assert tokens == pieces("Yes, it is.")


def test_a_strong_bias_forces_a_choice(ask: Ask) -> None:
    vocabulary = {9642: "YES", 9173: "NO"}
    with FakeServer([forced_choice(vocabulary), Rule("free")]) as server:
        said = {ask(server, f"Question {i}?", logit_bias={"9642": 100, "9173": 100}) for i in range(20)}
        assert said == {"YES", "NO"}
        assert ask(server, "Question?", logit_bias={"9173": 100}) == "NO"
        assert ask(server, "Question?", logit_bias={"9173": 1}) == "free"
        assert ask(server, "Question?", logit_bias={"17": 100}) == "free"


def test_a_refusal_stands_in_its_own_field(connect: Connect) -> None:
    with FakeServer(FakeReply(None, refusal="I cannot.")) as server:
        create = connect(server).chat.completions.create
        message = create(model="m", messages=HELLO).choices[0].message
        streamed = [chunk.choices[0].delta.refusal for chunk in create(model="m", messages=HELLO, stream=True)]
    assert (message.content, message.refusal) == (None, "I cannot.")
    assert "I cannot." in streamed


def test_a_finish_reason_and_a_latency_can_be_set(connect: Connect) -> None:
    with FakeServer(FakeReply("x", finish="content_filter", latency=0.15)) as server:
        assert connect(server).chat.completions.create(model="m", messages=HELLO).choices[0].finish_reason == (
            "content_filter"
        )
    (recorded,) = server.requests
    assert recorded.replied is not None
    assert recorded.replied - recorded.arrived >= 0.149


def test_messages_in_parts_are_read(ask: Ask, connect: Connect) -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    with FakeServer(lambda request: request.prompt) as server:
        messages = [{"role": "system", "content": "zero"}, {"role": "user", "content": parts}]
        reply = connect(server).chat.completions.create(model="m", messages=messages)  # type: ignore
    assert reply.choices[0].message.content == "zero\none\ntwo"


@given(st.text())
def test_tokens_are_counted_and_cut_as_stated(text: str) -> None:
    found = _TOKEN.findall(text)
    assert count_tokens(text) == len(found)
    assert "".join(pieces(text)) == text
    for limit in range(len(found) + 2):
        assert count_tokens(cut(text, limit)) == min(limit, len(found))
        assert text.startswith(cut(text, limit, lambda each: count_tokens(each)))
