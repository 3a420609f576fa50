import json

import httpx
import openai
import pytest
from conspectus.prompts.fake import FakeServer, Feature
from conspectus.prompts.fake.refused import FEATURES

from tests.prompts.fake.conftest import Ask, Connect

HELLO = [{"role": "user", "content": "Hello, in JSON"}]
SCHEMA = {
    "type": "json_schema",
    "json_schema": {
        "name": "word",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"word": {"type": "string"}},
            "required": ["word"],
            "additionalProperties": False,
        },
    },
}
USES: dict[str, dict[str, object]] = {
    "json_schema": {"response_format": SCHEMA},
    "json_object": {"response_format": {"type": "json_object"}},
    "logit_bias": {"logit_bias": {"1": 100}},
    "logprobs": {"logprobs": True, "top_logprobs": 2},
    "stream_options": {"stream": True, "stream_options": {"include_usage": True}},
    "max_tokens": {"max_tokens": 3},
    "max_completion_tokens": {"max_completion_tokens": 3},
    "temperature": {"temperature": 0.5},
    "seed": {"seed": 1},
    "tools": {"tools": [{"type": "function", "function": {"name": "f"}}]},
    "n": {"n": 2},
}
TOLD = {
    "json_schema": (
        "response_format",
        None,
        "'response_format' of type 'json_schema' is not supported with this model",
    ),
    "json_object": (
        "response_format",
        None,
        "'response_format' of type 'json_object' is not supported with this model",
    ),
    "logit_bias": ("logit_bias", "unsupported_parameter", "Unsupported parameter: 'logit_bias'"),
    "logprobs": ("logprobs", "unsupported_parameter", "Unsupported parameter: 'logprobs'"),
    "stream_options": (None, None, "Unrecognized request argument supplied: stream_options"),
    "max_tokens": (
        "max_tokens",
        "unsupported_parameter",
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
    ),
    "max_completion_tokens": (None, None, "Unrecognized request argument supplied: max_completion_tokens"),
    "temperature": ("temperature", "unsupported_value", "'temperature' does not support 0.5 with this model"),
    "seed": (None, None, "Unrecognized request argument supplied: seed"),
    "tools": ("tools", "unsupported_parameter", "Unsupported parameter: 'tools'"),
    "n": ("n", "unsupported_value", "Only n = 1"),
}


def test_every_feature_is_tried() -> None:
    assert set(USES) == set(TOLD) == set(FEATURES) - {"usage"}


@pytest.mark.parametrize("feature", USES)
def test_what_a_server_lacks_it_refuses_or_ignores(connect: Connect, feature: Feature) -> None:
    use = USES[feature]
    with FakeServer("one two three four five", without={feature}) as server:
        create = connect(server).chat.completions.create
        with pytest.raises(openai.BadRequestError) as caught:
            create(model="m", messages=HELLO, **use)  # type: ignore
        create(model="m", messages=HELLO)
    param, code, words = TOLD[feature]
    assert (caught.value.param, caught.value.code, caught.value.type) == (param, code, "invalid_request_error")
    assert words in caught.value.message
    with FakeServer("one two three four five", without={feature}, unsupported="ignore") as server:
        reply = connect(server).chat.completions.create(model="m", messages=HELLO, **use)  # type: ignore
        if feature == "stream_options":
            assert all(chunk.usage is None for chunk in reply)
        else:
            assert reply.choices[0].message.content == "one two three four five"
            assert reply.choices[0].logprobs is None
            assert len(reply.choices) == 1
    with FakeServer("one two three four five") as server:
        list(connect(server).chat.completions.create(model="m", messages=HELLO, **use))  # type: ignore


def test_temperature_1_is_taken_where_others_are_not(connect: Connect) -> None:
    with FakeServer(without={"temperature"}) as server:
        connect(server).chat.completions.create(model="m", messages=HELLO, temperature=1)


def test_usage_can_be_missing(connect: Connect) -> None:
    with FakeServer("x", without={"usage"}) as server:
        create = connect(server).chat.completions.create
        assert create(model="m", messages=HELLO).usage is None
        stream = create(model="m", messages=HELLO, stream=True, stream_options={"include_usage": True})
        assert all(chunk.usage is None and chunk.choices for chunk in stream)
    assert server.requests[0].completion_tokens == 1


def test_an_unknown_feature_is_told() -> None:
    with pytest.raises(ValueError, match="No feature is called 'wings'"):
        FakeServer(without={"wings"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("extra", "param"),
    [
        ({"messages": None}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": "hi"}, "messages"),
        ({"messages": [{"role": "friend", "content": "x"}]}, "messages[0].role"),
        ({"messages": [{"role": "user", "content": None}]}, "messages.[0].content"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"max_tokens": "3"}, "max_tokens"),
        ({"temperature": 3}, "temperature"),
        ({"n": 0}, "n"),
        ({"n": 129}, "n"),
        ({"top_logprobs": 2}, "top_logprobs"),
        ({"logit_bias": {"x": 1}}, "logit_bias"),
        ({"logit_bias": {"1": 101}}, "logit_bias"),
        ({"stream_options": {}}, "stream_options"),
        ({"response_format": {"type": "xml"}}, "response_format.type"),
        ({"response_format": {"type": "json_schema"}}, "response_format.json_schema"),
        (
            {"response_format": {"type": "json_schema", "json_schema": {"name": "a b"}}},
            "response_format.json_schema.name",
        ),
        ({"max_tokens": 1, "max_completion_tokens": 1}, None),
    ],
)
def test_wrong_parameters_are_refused(connect: Connect, extra: dict[str, object], param: str | None) -> None:
    with FakeServer() as server, pytest.raises(openai.BadRequestError) as caught:
        connect(server).chat.completions.create(model="m", messages=HELLO, extra_body=extra)
    assert caught.value.param == param


def test_a_json_object_needs_the_word_json(connect: Connect) -> None:
    with FakeServer() as server, pytest.raises(openai.BadRequestError, match="must contain the word 'json'"):
        connect(server).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}], response_format={"type": "json_object"}
        )


@pytest.mark.parametrize(
    ("schema", "told"),
    [
        ({"type": "object", "properties": {}}, "'additionalProperties' is required"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": [], "additionalProperties": False},
            "Missing 'a'",
        ),
        ({"type": "array", "items": {"anyOf": [{"type": "object"}]}}, r"context=\('items', 'anyOf'\)"),
        ({"$ref": "#/$defs/A", "$defs": {"A": {"type": "object"}}}, r"context=\('\$defs', 'A'\)"),
        ({"type": "string", "pattern": "(?=a)"}, "pattern"),
    ],
)
def test_schemas_that_strict_mode_does_not_take(connect: Connect, schema: dict[str, object], told: str) -> None:
    wanted = {"type": "json_schema", "json_schema": {"name": "x", "strict": True, "schema": schema}}
    with FakeServer() as server, pytest.raises(openai.BadRequestError, match=told):
        connect(server).chat.completions.create(model="m", messages=HELLO, response_format=wanted)  # type: ignore


def test_messages_beyond_the_context_are_refused(ask: Ask) -> None:
    with FakeServer("x", context_length=5) as server:
        ask(server, "one two three")
        with pytest.raises(openai.BadRequestError) as caught:
            ask(server, "one two three", max_tokens=3)
    assert caught.value.code == "context_length_exceeded"
    assert "maximum context length is 5 tokens" in caught.value.message


def test_the_wrong_key_is_refused(connect: Connect) -> None:
    with FakeServer("x", api_key="sk-right") as server:
        connect(server, api_key="sk-right").chat.completions.create(model="m", messages=HELLO)
        with pytest.raises(openai.AuthenticationError) as caught:
            connect(server, api_key="sk-wrong-one").chat.completions.create(model="m", messages=HELLO)
        assert caught.value.code == "invalid_api_key"
        assert "wrong-one" not in caught.value.message
        with pytest.raises(openai.AuthenticationError):
            connect(server).models.list()
        assert httpx.post(f"{server.url}/chat/completions", json={}).status_code == 401
    assert [each.bearer for each in server.requests] == ["sk-right", "sk-wrong-one", None]


def test_unknown_models_are_refused(connect: Connect) -> None:
    with FakeServer("x", models=["small", "large"]) as server:
        client = connect(server)
        assert [model.id for model in client.models.list()] == ["small", "large"]
        client.chat.completions.create(model="large", messages=HELLO)
        with pytest.raises(openai.NotFoundError, match="`huge` does not exist") as caught:
            client.chat.completions.create(model="huge", messages=HELLO)
        with pytest.raises(openai.NotFoundError):
            client.embeddings.create(model="huge", input="x")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff\xfe{}", b"nul"])
def test_bodies_that_are_no_json_object_are_refused(body: bytes) -> None:
    with FakeServer() as server:
        reply = httpx.post(f"{server.url}/chat/completions", content=body)
    assert reply.status_code == 400
    assert "could not parse the JSON body" in reply.json()["error"]["message"]
    assert server.requests[0].body is None


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("POST", "/v1/completions", 404),
        ("POST", "/chat/completions", 404),
        ("GET", "/", 404),
        ("GET", "/v1/chat/completions", 405),
        ("POST", "/openai/deployments/mine/chat/completions", 404),
        ("POST", "/openai/deployments/mine/nothing?api-version=1", 404),
    ],
)
def test_paths_that_lead_nowhere(method: str, path: str, status: int) -> None:
    with FakeServer() as server:
        reply = httpx.request(method, f"{server.origin}{path}", json={} if method == "POST" else None)
    assert reply.status_code == status
    assert set(reply.json()["error"]) == {"message", "type", "param", "code"}
    assert [each.status for each in server.requests] == [status]


def test_azure_clients_are_served() -> None:
    with FakeServer("x", api_key="key", models=["mine"]) as server:
        options = {"azure_endpoint": server.origin, "api_version": "2024-10-21", "api_key": "key", "max_retries": 0}
        with openai.AzureOpenAI(**options) as client:  # type: ignore[arg-type]
            assert client.chat.completions.create(model="mine", messages=HELLO).choices[0].message.content == "x"
            assert client.embeddings.create(model="mine", input="x").data
            with pytest.raises(openai.NotFoundError) as caught:
                client.chat.completions.create(model="other", messages=HELLO)
        assert caught.value.code == "DeploymentNotFound"
        body = {"model": "mine", "messages": HELLO}
        reply = httpx.post(f"{server.origin}/openai/v1/chat/completions", json=body, headers={"api-key": "key"})
        assert reply.status_code == 200
    first = server.requests[0]
    assert first.path == "/openai/deployments/mine/chat/completions?api-version=2024-10-21"
    assert first.bearer == "key"
    assert "key" not in json.dumps(dict(first.headers)).replace("api-key", "")
