"""Rules from a file: one JSON object a line; empty lines and lines that begin with # are skipped.

    {"match": "capital of France", "reply": "Paris"}
    {"match": "Scrooge", "where": "last", "replies": ["first time", "from then on"]}
    {"match": "Marley", "status": 500, "times": 2}
    {"match": "weather", "tool_calls": [{"name": "weather", "arguments": {"city": "Paris"}}]}
    {"match": "report", "malformed": "fence", "latency": 0.5}
    {"reply": {"entities": []}}

`match` is a regular expression, null or absent for every request; `where` is "any" (the default), "last", "system" or
"step". `reply` is text, or JSON that is sent as text; `replies` go in turn and the last one stays. A line that gives
none of reply, replies, status and tool_calls spoils or slows down the made-up reply. The first line that fits answers.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from conspectus.prompts.fake.asked import FakeRequest
from conspectus.prompts.fake.malformed import MalformedKind
from conspectus.prompts.fake.replies import FakeReply, Maker, Rule, ToolCall, Where, made_up
from conspectus.storage.errors import InputError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

Text = str | dict[str, Any] | list[Any]


class _Call(BaseModel):
    model_config = ConfigDict(extra="forbid")
    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)


class _Line(BaseModel):
    model_config = ConfigDict(extra="forbid")
    match: str | None = None
    where: Where = "any"
    times: int | None = Field(default=None, ge=1)
    reply: Text | None = None
    replies: list[Text] | None = Field(default=None, min_length=1)
    tool_calls: list[_Call] = Field(default_factory=list)
    status: int = Field(default=200, ge=200, le=599)
    malformed: MalformedKind | None = None
    finish_reason: str | None = None
    latency: float | None = Field(default=None, ge=0)
    refusal: str | None = None


def read_script(path: Path) -> tuple[Rule, ...]:
    """Return the rules of a script file; InputError names the file, the line and what is wrong with it."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"The script {path} cannot be read: {error}.") from error
    return parse_script(text.splitlines(), str(path))


def parse_script(lines: Sequence[str], name: str = "script") -> tuple[Rule, ...]:
    """Return the rules that the lines of a script give; InputError as in `read_script`.

    >>> parse_script(['{"match": "France", "reply": "Paris"}'])[0].match
    'France'
    """
    numbered = [(i, line) for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")]
    return tuple(_rule(line, f"{name}, line {i}") for i, line in numbered)


def _rule(line: str, place: str) -> Rule:
    try:
        read = _Line.model_validate(json.loads(line))
        if read.match is not None:
            re.compile(read.match)
    except json.JSONDecodeError as error:
        raise InputError(f"{place}: this is not JSON ({error}).") from error
    except re.error as error:
        raise InputError(f"{place}: `match` is not a regular expression ({error}).") from error
    except ValidationError as error:
        told = "; ".join(f"{'.'.join(map(str, each['loc'])) or 'line'}: {each['msg']}" for each in error.errors())
        raise InputError(f"{place}: {told}. Keys: {', '.join(_Line.model_fields)}.") from error
    if read.reply is not None and read.replies is not None:
        raise InputError(f"{place}: give `reply` or `replies`, not both.")
    return Rule(_maker(read), read.match, read.where, read.times)


def _maker(line: _Line) -> Maker:
    calls = tuple(ToolCall(call.name, call.arguments) for call in line.tool_calls)
    shape = FakeReply(None, calls, line.finish_reason, line.status, line.latency, line.malformed, line.refusal)
    texts = line.replies if line.replies is not None else [line.reply] if line.reply is not None else []
    if texts:
        return [replace(shape, text=each if isinstance(each, str) else json.dumps(each)) for each in texts]
    if calls or line.status >= 400 or line.refusal is not None:
        return shape

    def spoilt(request: FakeRequest) -> FakeReply:
        return replace(shape, text=made_up(request).text)

    return spoilt
