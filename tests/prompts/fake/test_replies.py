import json
from pathlib import Path

import openai
import pytest
from conspectus.prompts.fake import MALFORMED, FakeReply, FakeRequest, FakeServer, Replies, Rule
from conspectus.prompts.fake.lengths import CHARACTERS, TOKENS, length
from conspectus.prompts.fake.replies import made_up
from conspectus.prompts.fake.scripts import parse_script
from conspectus.prompts.fake.tokens import count_tokens
from conspectus.storage.errors import InputError

from tests.prompts.fake.conftest import Ask


def request(*texts: str, **body: object) -> FakeRequest:
    roles = ["system", "user"] if len(texts) > 1 else ["user"]
    messages = [{"role": role, "content": text} for role, text in zip(roles, texts, strict=True)]
    return FakeRequest("/v1/chat/completions", {"messages": messages, **body})


def said(replies: Replies, *texts: str, **body: object) -> str | None:
    return replies.answer(request(*texts, **body))[0].text


def test_the_first_rule_that_fits_answers() -> None:
    replies = Replies([Rule("one", "a"), Rule("two", "b"), Rule("three")])
    assert [said(replies, text) for text in ("ab", "b", "c")] == ["one", "two", "three"]


def test_rules_look_where_they_are_told() -> None:
    replies = Replies(
        [
            Rule("last", "mill", where="last"),
            Rule("system", "mill", where="system"),
            Rule("step", "^extract$", where="step"),
            Rule("function", lambda asked: asked.model == "large"),
        ],
        "none",
    )
    assert said(replies, "x", "the mill") == "last"
    assert said(replies, "the mill", "x") == "system"
    assert said(replies, "x", metadata={"step": "extract"}) == "step"
    assert said(replies, "x", model="large") == "function"
    assert said(replies, "x") == "none"


def test_texts_go_in_turn_and_the_last_one_stays() -> None:
    replies = Replies.of(["one", FakeReply("two")])
    assert [said(replies, "x") for _ in range(4)] == ["one", "two", "two", "two"]


def test_a_rule_is_used_up_after_its_times() -> None:
    replies = Replies([Rule("first", times=2)], "then")
    assert [said(replies, "x") for _ in range(3)] == ["first", "first", "then"]


def test_what_replies_can_be_made_of() -> None:
    assert said(Replies.of("text"), "x") == "text"
    assert said(Replies.of({"mill": "yes", "": "no"}), "the mill") == "yes"
    assert said(Replies.of(lambda asked: asked.last.upper()), "x") == "X"
    assert said(Replies.of([Rule("rule")]), "x") == "rule"
    assert said(Replies.of(Replies([], "given")), "x") == "given"
    assert said(Replies.of(None), "x") == made_up(request("x")).text


def test_made_up_replies_depend_on_the_prompt_only() -> None:
    assert said(Replies(), "one") == said(Replies(), "one", model="another", temperature=1)
    assert len({said(Replies(), text) for text in ("one", "two", "three")}) == 3
    assert said(Replies(), "one", seed=1) != said(Replies(), "one", seed=2)
    assert "secret" not in (said(Replies(), "a secret word") or "")


@pytest.mark.parametrize(("prompt", "kind"), [("Write a report", "report"), ("List the entities", "extraction")])
def test_made_up_replies_are_as_long_as_real_ones(prompt: str, kind: str) -> None:
    texts = [said(Replies(), f"{prompt} {i}") or "" for i in range(200)]
    lengths = sorted(map(len, texts))
    real = CHARACTERS[kind]  # type: ignore[index]
    assert real[0] <= lengths[0]
    assert lengths[-1] <= real[-1] + 30
    assert lengths[100] == pytest.approx(real[10], rel=0.15)
    # Made-up words are about as dense in tokens as real replies.
    tokens = sorted(map(count_tokens, texts))
    assert tokens[100] == pytest.approx(TOKENS[kind][10], rel=0.5)  # type: ignore[index]


def test_lengths_rise_with_the_share() -> None:
    found = [length("report", i / 100) for i in range(101)]
    assert found == sorted(found)
    assert length("extraction", 0.5) == CHARACTERS["extraction"][10]


def test_a_script_gives_rules(tmp_path: Path, ask: Ask) -> None:
    path = tmp_path / "script.jsonl"
    lines = [
        '{"match": "France", "reply": "Paris"}',
        "# a remark",
        "",
        '{"match": "turn", "where": "last", "replies": ["one", "two"]}',
        '{"match": "JSON", "reply": {"entities": []}}',
        '{"match": "once", "status": 503, "reply": "Busy.", "times": 1}',
        '{"match": "fenced", "reply": "{}", "malformed": "fence"}',
        '{"match": "spoilt", "malformed": "truncated", "finish_reason": "length"}',
    ]
    path.write_text("\n".join(lines), "utf-8")
    with FakeServer(Replies.read(path)) as server:
        assert ask(server, "capital of France") == "Paris"
        assert [ask(server, "turn") for _ in range(3)] == ["one", "two", "two"]
        assert json.loads(ask(server, "JSON")) == {"entities": []}
        with pytest.raises(openai.InternalServerError, match=r"Busy\."):
            ask(server, "once")
        assert len(ask(server, "once")) > 500
        assert ask(server, "fenced") == "```json\n{}\n```"
        spoilt = MALFORMED["truncated"](made_up(request("spoilt")).text or "")
        assert ask(server, "spoilt") == spoilt


def test_a_script_can_call_tools_and_refuse() -> None:
    (called,) = parse_script(['{"tool_calls": [{"name": "f", "arguments": {"a": 1}}]}'])
    assert isinstance(called.make, FakeReply)
    assert (called.make.text, called.make.tool_calls[0].arguments) == (None, {"a": 1})
    (refused,) = parse_script(['{"refusal": "No."}'])
    assert isinstance(refused.make, FakeReply)
    assert (refused.make.text, refused.make.refusal) == (None, "No.")


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "line 2: this is not JSON"),
        ("[]", "line 2: line: "),
        ('{"rply": "x"}', "line 2: rply: Extra inputs.*Keys: match, where"),
        ('{"match": "(", "reply": "x"}', "line 2: `match` is not a regular expression"),
        ('{"reply": "x", "replies": ["y"]}', "line 2: give `reply` or `replies`, not both"),
        ('{"malformed": "odd"}', "line 2: malformed: .*'fence'"),
        ('{"replies": []}', "line 2: replies: "),
        ('{"status": 42}', "line 2: status: "),
    ],
)
def test_errors_in_a_script_name_the_place(tmp_path: Path, line: str, told: str) -> None:
    path = tmp_path / "script.jsonl"
    path.write_text(f'{{"reply": "fine"}}\n{line}\n', "utf-8")
    with pytest.raises(InputError, match=rf"script\.jsonl, {told}"):
        Replies.read(path)


def test_a_script_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.jsonl cannot be read"):
        Replies.read(tmp_path / "none.jsonl")
