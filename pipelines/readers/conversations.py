"""Read what is said and planned: exports of chats, subtitles, calendars and address cards.

A conversation is one text, a line a message, "2025-04-02 18:24 Henrietta: Not enough light", or a line for each time
that somebody speaks, "00:12:09 Emeka Strand: the boats were too slow": each has its sender and time, and stands beside
those it answers. Messages about the chat itself (somebody joined) are left out. The fields of Slack, Discord
(DiscordChatExporter) and Telegram are those of https://slack.com/help/articles/220556107,
https://github.com/Tyrrrz/DiscordChatExporter and https://core.telegram.org/import-export.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from html import unescape
from pathlib import Path
from typing import Any

from conspectus.pipelines.readers.encodings import Unreadable, clean
from conspectus.pipelines.readers.plain import read_whole
from conspectus.pipelines.readers.rows import Draft, Row, as_title, items, labelled, mapping
from conspectus.storage.settings import InputSettings
from conspectus.storage.text.language_tables import by_language

_SLACK_ID = re.compile(r"[UWCGDB][A-Z0-9]{2,20}")
_SLACK_TIME = re.compile(r"\d{9,11}\.\d{1,9}")
_SLACK_MARK = re.compile(r"<(?P<sign>[@#!]?)(?P<target>[^<>|]{1,2000})(?:\|(?P<label>[^<>]{0,2000}))?>")
_TIMES = re.compile(r"(?:(\d{1,4}):)?(\d\d):(\d\d)[.,]\d{1,3}[ \t]+-->")
_VOICE = re.compile(r"<v(?:\.[^\s<>]{0,80})?\s([^<>]{1,200})>")
_SPEAKER = re.compile(r"(?:-|>>|\[)?[ \t]*([^\W\d_][\w.'’ -]{0,40})\]?:[ \t]+")
_TAG = re.compile(r"<[^<>]{0,200}>|\{\\[^{}]{0,200}\}")
_ENDS = tuple(".?!…。？！।؟")
_LONGEST = 400
"""The characters beyond which the next cue begins a new line, whoever speaks."""
_PROPERTY = re.compile(r"(?:[\w-]+\.)?(?P<name>[A-Za-z-]+)(?P<options>(?:;[^:;\"]*(?:\"[^\"]*\")?)*):(?P<value>.*)")
_PROPERTIES = by_language("conspectus.pipelines.readers", "calendars.txt")["properties"]
_WHEN = re.compile(r"(\d{4})(\d\d)(\d\d)(?:T(\d\d)(\d\d)\d\d(Z?))?")
_PERSON = re.compile(r';CN="?([^";:]+)', re.I)
_ITEMS = ("VEVENT", "VTODO", "VJOURNAL", "VCARD")


def read_chat(path: Path, value: Any) -> Iterator[Row] | None:  # noqa: ANN401  (any JSON)
    """Return the rows of a JSON file that is the export of a chat, None if it is none.

    The names of members of Slack are in `users.json` beside the file, or beside its folder.
    """
    rows = [row for row in items(value) if isinstance(row, dict)]
    if rows and len(rows) == len(value):
        if all(_SLACK_TIME.fullmatch(str(row.get("ts"))) and row.get("type") == "message" for row in rows):
            return _conversation(f"#{path.parent.name} {path.stem}", _slack(rows, _members(path)))
        if all(_SLACK_ID.fullmatch(str(row.get("id"))) and "name" in row for row in rows):
            return _conversation(path.stem, map(_slack_entry, rows))
    whole = mapping(value)
    messages = [message for message in items(whole.get("messages")) if isinstance(message, dict)]
    if "messages" in whole and isinstance(whole.get("guild"), dict) and isinstance(whole.get("channel"), dict):
        title = f"{_name(whole['guild'], 'name')} #{_name(whole['channel'], 'name')}"
        return _conversation(title, map(_discord, messages))
    if messages and all("date" in message and "type" in message for message in messages):
        return _conversation(_name(whole, "name"), map(_telegram, messages))
    return None


def _conversation(title: str, lines: Iterator[str]) -> Iterator[Row]:
    text = clean("\n".join(filter(None, lines)))
    if text:
        yield Row(None, None, as_title(title), text, {})


def _line(when: str, sender: str, text: str, files: Iterable[str] = ()) -> str:
    """Return the line of a message; one of several lines continues below. `when` is a time of ISO 8601."""
    said = " ".join([text, *(f"({name})" for name in files if name)]).strip()
    return f"{when[:16].replace('T', ' ')} {sender or '?'}: {said}" if said else ""


def _name(value: object, *keys: str) -> str:
    """Return the first value of an object that is a text."""
    record = mapping(value)
    return next((found.strip() for key in keys if isinstance(found := record.get(key), str) and found.strip()), "")


def _slack(rows: Sequence[Mapping[str, Any]], members: Mapping[str, str]) -> Iterator[str]:
    def shown(mark: re.Match[str]) -> str:
        name = members.get(mark["target"], mark["target"])
        return mark["label"] or (f"@{name}" if mark["sign"] == "@" else f"{mark['sign']}{name}")

    for row in rows:
        if "subtype" in row and row["subtype"] not in ("bot_message", "thread_broadcast", "me_message"):
            continue
        own = _name(row.get("user_profile"), "real_name", "display_name", "name")
        sender = own or members.get(_name(row, "user"), "") or _name(row, "username", "user", "bot_id")
        when = datetime.fromtimestamp(float(row["ts"]), UTC).isoformat()
        text = unescape(_SLACK_MARK.sub(shown, _name(row, "text")))
        yield _line(when, sender, text, (_name(file, "title", "name") for file in items(row.get("files"))))


def _members(path: Path) -> Mapping[str, str]:
    """Return the names of the members of a Slack export by id; none without their list."""
    files = (folder / "users.json" for folder in (path.parent, path.parent.parent))
    with suppress(ValueError, RecursionError, StopIteration):
        found = json.loads(next(file for file in files if file.is_file()).read_bytes())
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
    files = (_name(file, "fileName") for file in items(message.get("attachments")))
    sender = _name(message.get("author"), "nickname", "name")
    return _line(_name(message, "timestamp"), sender, _name(message, "content"), files)


def _telegram(message: Mapping[str, Any]) -> str:
    if message["type"] != "message":
        return ""
    parts = message["text"] if isinstance(message.get("text"), list) else [message.get("text")]
    text = "".join(part if isinstance(part, str) else _name(part, "text") for part in parts)
    return _line(_name(message, "date"), _name(message, "from"), text, [_name(message, "file")])


def read_transcript(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield the cues of a file as one text; consecutive cues of one speaker are one line, with the time of the first.

    Without names, cues are joined up to the end of a sentence, if the file has full stops. Raises Unreadable if no line
    gives the times of a cue.
    """
    blocks = re.split(r"\n(?:[ \t]*\n)+", read_whole(path))
    cues = [cue for block in blocks if (cue := _cue(block)) and cue[2]]
    if not cues:
        raise Unreadable("no subtitles", "no line gives the times of a cue")
    punctuated = 3 * sum(text.endswith(_ENDS) for *_, text in cues) > len(cues)
    lines: list[tuple[str, str, str]] = []
    for when, who, text in cues:
        last = lines[-1] if lines else ("", "?", "")
        goes_on = bool(who) or last[2].endswith(",") or (punctuated and not last[2].endswith(_ENDS))
        if goes_on and last[1] == who and len(last[2]) < _LONGEST:
            lines[-1] = (*last[:2], f"{last[2]} {text}")
            continue
        lines.append((when, who, text))
    yield Row(None, None, None, "\n".join(f"{when} {who}{': ' if who else ''}{text}" for when, who, text in lines), {})


def _cue(block: str) -> tuple[str, str, str] | None:
    """Return the time, the speaker and the words of a cue, None for a comment or a style."""
    lines = block.split("\n")
    times = next(((at, found) for at, line in enumerate(lines[:3]) if (found := _TIMES.match(line.strip()))), None)
    if times is None:
        return None
    said = " ".join(lines[times[0] + 1 :]).strip()
    voice = _VOICE.search(said) or _SPEAKER.match(said)
    said = said[voice.end() :] if voice and voice.re is _SPEAKER else said
    hours, minutes, seconds = times[1].groups()
    who = " ".join(unescape(voice[1]).split()) if voice else ""
    return f"{int(hours or 0):02}:{minutes}:{seconds}", who, " ".join(unescape(_TAG.sub("", said)).split())


def read_calendar(path: Path, _: InputSettings) -> Iterator[Row]:
    """Yield a calendar or cards as one text, each event under its summary; raises Unreadable if there is none."""
    draft = Draft()
    open_items: list[str] = []
    values: dict[str, str] = {}
    title = ""
    for line in re.sub(r"\n[ \t]", "", read_whole(path)).split("\n"):
        found = _PROPERTY.fullmatch(line.rstrip())
        if not found:
            continue
        name, value = found["name"].upper(), _value(found)
        if name == "BEGIN":
            open_items.append(value.upper())
            if value.upper() in _ITEMS:
                values, title = {}, ""
        elif name == "END" and open_items:
            if open_items.pop() in _ITEMS and (title or values):
                draft.begin("heading", title or "?", 1)
                draft.add(title)
                draft.add(labelled(values))
        elif open_items and open_items[-1] in _ITEMS and value:
            if name in ("SUMMARY", "FN"):
                title = value
            elif (label := _PROPERTIES.get(name)) is not None:
                values[label] = f"{values[label]}, {value}" if label in values else value
    if not draft:
        raise Unreadable("no event or card")
    yield draft.row(None, {})


def _value(found: re.Match[str]) -> str:
    """Return the value of a property as people write it."""
    if person := _PERSON.search(found["options"]):
        return person[1].strip()
    value = re.sub(r"\\([nN,;\\])", lambda sign: " " if sign[1] in "nN" else sign[1], found["value"]).strip()
    if time := _WHEN.fullmatch(value):
        year, month, day, hour, minute, utc = time.groups()
        return f"{year}-{month}-{day}" + (f" {hour}:{minute}{' UTC' if utc else ''}" if hour else "")
    return re.sub(r"^mailto:", "", value, flags=re.I)
