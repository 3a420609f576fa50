import json
from typing import Any, Literal

import pytest
from conspectus.pipelines.evaluation.judge import Verdict
from conspectus.pipelines.steps.reports.cite import ReportAnswer
from conspectus.prompts.client.capabilities import Capabilities, schema_text
from conspectus.prompts.language_model import Message, Request
from conspectus.query.methods.graphrag.drift import DriftReply
from conspectus.query.methods.gretriever.answer import OwnReply, ReasonedReply, SubgraphReply
from pydantic import BaseModel

ASKED = (Message("system", "Be brief."), Message("user", "Who?"))


class Part(BaseModel):
    title: str
    weight: float = 1.0


class Whole(BaseModel):
    kind: Literal["a", "b"]
    parts: list[Part]
    note: str | None = None


def body(capabilities: Capabilities, schema: type[BaseModel] | None = None) -> dict[str, Any]:
    return capabilities.body(Request(ASKED, "test", schema=schema), "m", 50)


def test_schemas_are_closed_and_every_key_is_required() -> None:
    schema = json.loads(schema_text(Whole))
    assert schema["required"] == ["kind", "parts", "note"]
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["Part"]["required"] == ["title", "weight"]
    assert set(schema["$defs"]["Part"]["properties"]) == {"title", "weight"}
    assert "default" not in json.dumps(schema)


def test_a_model_writes_in_the_order_in_which_it_should_think() -> None:
    """Review of GraphRAG and HippoRAG, A2: sorted keys had the judge decide before it gave a reason."""
    order = {
        Verdict: ["reason", "better"],
        ReportAnswer: ["title", "summary", "rating_explanation", "rating", "findings"],
        DriftReply: ["answer", "score", "follow_ups"],
        ReasonedReply: ["thoughts", "answer", "names", "nodes", "edges"],
        SubgraphReply: ["answer", "names", "nodes", "edges"],
        OwnReply: ["answer", "names"],
    }
    for form, keys in order.items():
        schema = json.loads(schema_text(form))
        assert list(schema["properties"]) == keys
        assert form.__doc__
        assert form.__doc__.split("\n")[0] not in schema_text(form), "a docstring is no instruction"


def test_json_is_asked_for_as_the_server_knows_it() -> None:
    assert "response_format" not in body(Capabilities())
    asked = body(Capabilities(), schema=Whole)
    assert asked["response_format"]["json_schema"]["schema"] == json.loads(schema_text(Whole))
    assert [each["content"] for each in asked["messages"]] == ["Be brief.", "Who?"]

    asked = body(Capabilities("json_object"), schema=Whole)
    assert asked["response_format"] == {"type": "json_object"}
    assert asked["messages"][-1]["content"].startswith("Who?\n\nReply with one JSON value")
    assert schema_text(Whole) in asked["messages"][-1]["content"]

    asked = body(Capabilities("none"), schema=Whole)
    assert "response_format" not in asked
    assert len(asked["messages"]) == 2
    after_answer = Request((*ASKED, Message("assistant", "I.")), "test", schema=Whole)
    assert [each["role"] for each in Capabilities("none").body(after_answer, "m", 50)["messages"]][-1] == "user"


def test_lowering_ends() -> None:
    capabilities: Capabilities | None = Capabilities()
    seen = []
    while capabilities:
        seen.append(capabilities)
        capabilities = capabilities.lowered("unsupported: max_tokens response_format temperature stream_options system")
    assert len(seen) == 7
    asked = body(seen[-1], schema=Whole)
    assert set(asked) == {"model", "messages", "max_completion_tokens"}


def test_rules_stand_before_the_question_where_a_chat_template_has_no_system_role() -> None:
    asked = Request((Message("system", "Be brief."), Message("user", "Who?"), Message("assistant", "Ada.")), "test")
    plain = Capabilities(system_role=False).body(asked, "m", 50)["messages"]
    assert [each["role"] for each in plain] == ["user", "assistant"]
    assert plain[0]["content"] == "Be brief.\n\nWho?"
    assert [each["role"] for each in Capabilities().body(asked, "m", 50)["messages"]] == ["system", "user", "assistant"]


def test_a_stream_asks_for_its_usage_where_the_server_knows_how() -> None:
    asked = Capabilities().body(Request(ASKED, "test"), "m", 50, stream=True)
    assert asked["stream"]
    assert asked["stream_options"] == {"include_usage": True}
    assert "stream_options" not in Capabilities(stream_usage=False).body(Request(ASKED, "t"), "m", 50, stream=True)


def test_a_member_of_the_settings_that_is_refused_is_left_out_and_named(caplog: pytest.LogCaptureFixture) -> None:
    lowered = Capabilities(extra={"seed": 1, "reasoning_effort": "low"}).lowered("Unknown argument: reasoning_effort")
    assert lowered
    assert body(lowered)["seed"] == 1
    assert "reasoning_effort" not in body(lowered)
    assert "reasoning_effort" in caplog.text
