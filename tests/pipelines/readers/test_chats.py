"""Exports of chats are conversations: a line a message, with its sender and time."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.readers.reading import read, texts

DISCORD: dict[str, Any] = {
    "guild": {"name": "Boats"}, "channel": {"name": "sails"},
    "messages": [
        {"timestamp": "2025-04-02T18:20:11.1+00:00", "content": "Which thread?", "author": {"name": "ada1"}},
        {
            "timestamp": "2025-04-02T18:24:47.9+00:00", "content": "Waxed. See here",
            "author": {"name": "bo2", "nickname": "Bo"}, "attachments": [{"fileName": "thread.png"}],
        },
    ],
}  # fmt: skip
TELEGRAM = {
    "name": "Stair 4", "messages": [
        {"type": "service", "date": "2025-01-05T09:00:00", "actor": "Ada", "text": ""},
        {"type": "message", "date": "2025-01-06T20:19:00", "from": "Bo", "text": [{"text": "Me!"}, " Sunday"]},
    ],
}  # fmt: skip
SLACK = [
    {
        "type": "message", "user": "U07A1", "ts": "1739264400.000100",
        "text": "<@U07A2> who keeps <https://a.example|the list> &amp; key?",
    },
    {"type": "message", "subtype": "channel_join", "user": "U07A2", "ts": "1739264401.0", "text": "joined"},
    {"type": "message", "user": "U07A9", "ts": "1739264460.000200", "text": "I do"},
]  # fmt: skip
USERS = [{"id": "U07A1", "name": "ada", "profile": {"real_name": "Ada Holm"}}, {"id": "U07A2", "name": "bo"}]


def put(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value), "utf-8")
    return path


@pytest.mark.parametrize(
    ("value", "title", "text"),
    [
        (
            DISCORD, "Boats #sails",
            "2025-04-02 18:20 ada1: Which thread?\n2025-04-02 18:24 Bo: Waxed. See here (thread.png)",
        ),
        (TELEGRAM, "Stair 4", "2025-01-06 20:19 Bo: Me! Sunday"),
    ],
)  # fmt: skip
def test_a_conversation_is_one_text(value: object, title: str, text: str, tmp_path: Path) -> None:
    rows, lost = read(put(tmp_path / "result.json", value))
    assert (list(texts(rows).values()), [row.title for row in rows.values()], lost) == ([text], [title], {})


def test_members_of_slack_have_their_names(tmp_path: Path) -> None:
    put(tmp_path / "users.json", USERS)
    rows, _ = read(put(tmp_path / "kitchen" / "2025-02-11.json", SLACK))
    (row,) = rows.values()
    assert row.title == "#kitchen 2025-02-11"
    assert row.text == "2025-02-11 09:00 Ada Holm: @bo who keeps the list & key?\n2025-02-11 09:01 U07A9: I do"
    rows, _ = read(tmp_path / "users.json")
    assert list(texts(rows).values()) == ["Ada Holm\nbo"]


def test_a_broken_list_of_members_costs_their_names_only(tmp_path: Path) -> None:
    (tmp_path / "users.json").write_text("[{", "utf-8")
    rows, lost = read(put(tmp_path / "kitchen" / "2025-02-11.json", SLACK))
    assert not lost
    assert "U07A1: @U07A2 who keeps" in next(iter(rows.values())).text


@pytest.mark.parametrize(
    "messages", [[{"timestamp": 3, "content": None, "author": []}], [7, "x"], [{"content": {"a": 1}}]]
)
def test_messages_of_another_form_are_left_out(messages: list[object], tmp_path: Path) -> None:
    rows, lost = read(put(tmp_path / "a.json", {**DISCORD, "messages": messages + DISCORD["messages"][:1]}))
    assert list(texts(rows).values()) == ["2025-04-02 18:20 ada1: Which thread?"]
    assert not lost
