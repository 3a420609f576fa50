"""Exports of chats as JSON: Slack, Discord (DiscordChatExporter) and Telegram.

A conversation is one text, a line a message: "2025-04-02 18:24 Henrietta: Not enough light", so that each message has
its sender and time, and stands beside those it answers. Messages about the chat itself (somebody joined) are left out.
The fields are those of https://slack.com/help/articles/220556107, https://core.telegram.org/import-export and
https://github.com/Tyrrrz/DiscordChatExporter.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.encodings import clean
from conspectus.pipelines.readers.rows import Row, as_title, items, mapping, too_long
from conspectus.storage.settings import InputSettings

_SLACK_ID = re.compile(r"[UWCGDB][A-Z0-9]{2,20}")
_SLACK_TIME = re.compile(r"\d{9,11}\.\d{1,9}")
_SLACK_MARK = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]{1,2000})(?:\|(?P<label>[^<>]{0,2000}))?>")


def read_chat(path: Path, value: Any, settings: InputSettings) -> Iterator[Row] | None:  # noqa: ANN401  (any JSON)
    """Return the rows of a JSON file that is the export of a chat, None if it is none.

    The names of members of Slack are in `users.json` beside the file, or beside its folder.
    """
    rows = value if isinstance(value, list) else []
    if rows and all(_is_slack_message(row) for row in rows):
        return _conversation(f"#{path.parent.name} {path.stem}", _slack(rows, _members(path)), settings)
    if rows and all(
        isinstance(row, dict) and _SLACK_ID.fullmatch(str(row.get("id"))) and "name" in row for row in rows
    ):
        return _conversation(path.stem, map(_slack_entry, rows), settings)
    if not isinstance(value, dict) or not isinstance(messages := value.get("messages"), list):
        return None
    messages = [message for message in messages if isinstance(message, dict)]
    if isinstance(value.get("guild"), dict) and isinstance(channel := value.get("channel"), dict):
        title = f"{_name(value['guild'], 'name')} #{_name(channel, 'name')}"
        return _conversation(title, map(_discord, messages), settings)
    if messages and all("date" in message and "type" in message for message in messages):
        return _conversation(_name(value, "name"), map(_telegram, messages), settings)
    return None


def _conversation(title: str, lines: Iterator[str], settings: InputSettings) -> Iterator[Row]:
    text = clean("\n".join(filter(None, lines)))
    if len(text) > settings.max_characters:
        raise too_long(settings)
    if text:
        yield Row(None, None, as_title(title), text, {})


def _line(when: str, sender: str, text: str) -> str:
    """Return the line of a message; one of several lines continues below."""
    return f"{when} {sender or '?'}: {text.strip()}" if text.strip() else ""


def _name(value: object, *keys: str) -> str:
    """Return the first value of an object that is a text."""
    record = mapping(value)
    return next((found.strip() for key in keys if isinstance(found := record.get(key), str) and found.strip()), "")


def _minute(time: str) -> str:
    """Return a time of ISO 8601 as day, hour and minute."""
    return time[:16].replace("T", " ")


def _is_slack_message(row: object) -> bool:
    return (
        isinstance(row, dict) and _SLACK_TIME.fullmatch(str(row.get("ts"))) is not None and row.get("type") == "message"
    )


def _slack(rows: Sequence[Mapping[str, Any]], members: Mapping[str, str]) -> Iterator[str]:
    def shown(mark: re.Match[str]) -> str:
        name = members.get(mark["target"], mark["target"])
        return mark["label"] or (f"@{name}" if mark["sign"] == "@" else f"{mark['sign']}{name}")

    for row in rows:
        if "subtype" in row and row["subtype"] not in ("bot_message", "thread_broadcast", "me_message"):
            continue
        own = _name(row.get("user_profile"), "real_name", "display_name", "name")
        sender = own or members.get(_name(row, "user"), "") or _name(row, "username", "user", "bot_id")
        files = [_name(file, "title", "name") for file in items(row.get("files"))]
        text = _SLACK_MARK.sub(shown, _name(row, "text"))
        for escaped, sign in (("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
            text = text.replace(escaped, sign)
        when = datetime.fromtimestamp(float(row["ts"]), UTC).strftime("%Y-%m-%d %H:%M")
        yield _line(when, sender, " ".join([text, *(f"({name})" for name in files if name)]))


def _members(path: Path) -> Mapping[str, str]:
    """Return the names of the members of a Slack export by id; none without their list."""
    for folder in (path.parent, path.parent.parent):
        file = folder / "users.json"
        if file.is_file():
            try:
                found = json.loads(file.read_bytes())
            except (ValueError, RecursionError):
                return {}
            return {_name(user, "id"): _member(user) for user in map(mapping, items(found))}
    return {}


def _member(user: Mapping[str, Any]) -> str:
    return _name(user, "real_name") or _name(user.get("profile"), "real_name") or _name(user, "name")


def _slack_entry(row: Mapping[str, Any]) -> str:
    """Return the line of a member or channel: its name and what it is for."""
    told = [_name(about, "value") for key in ("topic", "purpose") if isinstance(about := row.get(key), dict)]
    name = _member(row) if row["id"][0] in "UW" else f"#{_name(row, 'name')}"
    return ": ".join(filter(None, (name, "; ".join(filter(None, told)))))


def _discord(message: Mapping[str, Any]) -> str:
    sender = _name(message.get("author"), "nickname", "name")
    files = [_name(file, "fileName") for file in items(message.get("attachments"))]
    text = " ".join([_name(message, "content"), *(f"({name})" for name in files if name)])
    return _line(_minute(_name(message, "timestamp")), sender, text)


def _telegram(message: Mapping[str, Any]) -> str:
    if message["type"] != "message":
        return ""
    parts = message.get("text")
    parts = parts if isinstance(parts, list) else [parts]
    texts = [part if isinstance(part, str) else _name(part, "text") for part in parts if isinstance(part, str | dict)]
    text = " ".join(filter(None, ("".join(texts), f"({file})" if (file := _name(message, "file")) else "")))
    return _line(_minute(_name(message, "date")), _name(message, "from"), text)
