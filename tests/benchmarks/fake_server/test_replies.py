import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from conspectus.storage.errors import InputError
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from benchmarks.fake_server import FakeReply, FakeRequest, Replies, Rule, made_up
from benchmarks.fake_server.replies import fake_token_count, truncated


def request(text: str, **body: object) -> FakeRequest:
    return FakeRequest("/v1/chat/completions", {"messages": [{"role": "user", "content": text}], **body})


def reply(replies: Replies, text: str, **body: object) -> str | None:
    return replies.answer(request(text, **body)).text


def test_what_replies_can_be_made_of() -> None:
    turns = Replies.of(["one", FakeReply("two")])
    assert [reply(turns, "x") for _ in range(3)] == ["one", "two", "two"]
    assert reply(Replies.of("text"), "x") == "text"
    assert reply(Replies.of({"mill": "yes", "": "no"}), "the mill") == "yes"
    assert reply(Replies.of(lambda asked: asked.last.upper()), "x") == "X"
    assert reply(Replies.of([Rule("rule")]), "x") == "rule"
    assert reply(Replies.of(None), "x") == made_up(request("x"))


def test_a_script_is_rules_one_a_line(tmp_path: Path) -> None:
    script = tmp_path / "script.jsonl"
    script.write_text('{"match": "France", "reply": "Paris"}\n\n{"match": "JSON", "reply": {"a": []}, "times": 1}\n')
    replies = Replies.read(script)
    assert (reply(replies, "France?"), reply(replies, "JSON")) == ("Paris", '{"a": []}')
    for wrong in ('{"match": "("}', '{"colour": "red"}', "no JSON", '{"status": 99}'):
        script.write_text(wrong)
        with pytest.raises(InputError, match=r"script\.jsonl"):
            Replies.read(script)
    with pytest.raises(InputError, match="nowhere"):
        Replies.read(tmp_path / "nowhere")


class Leaf(BaseModel):
    kind: Literal["leaf"]
    value: Annotated[int, Field(ge=3, le=5)]
    parent: "Leaf | None" = None


class Report(BaseModel):
    title: Annotated[str, Field(max_length=20)]
    rating: Annotated[float, Field(ge=0, le=10)]
    leaves: Annotated[list[Leaf], Field(min_length=2, max_length=9)]
    is_open: bool | None


@given(st.text())
def test_made_up_replies_follow_the_schema_and_depend_on_the_prompt_only(text: str) -> None:
    form = {"type": "json_schema", "json_schema": {"schema": Report.model_json_schema()}}
    made = made_up(request(text, response_format=form))
    Report.model_validate_json(made)
    assert made == made_up(request(text, response_format=form, model="another", temperature=1))
    assert json.loads(made_up(request(text, response_format={"type": "json_object"})))["reply"] == made_up(
        request(text)
    )


@given(st.text(), st.integers(1, 30))
def test_a_beginning_has_at_most_so_many_tokens(text: str, limit: int) -> None:
    beginning = truncated(text, limit)
    assert text.startswith(beginning)
    assert fake_token_count(beginning) == min(limit, fake_token_count(text))
