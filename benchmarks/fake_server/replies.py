"""Replies of a fake server: requests as rules see them, rules in order, and made-up replies if none matches."""

import json
import random
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from conspectus.storage.errors import InputError
from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+|[^\w\s]")


def fake_token_count(text: str) -> int:
    """Return the number of words, punctuation marks and Chinese or Japanese characters.

    >>> fake_token_count('Marley was dead: to begin with.'), fake_token_count('北京 2008')
    (8, 3)
    """
    return len(_TOKEN.findall(text))


def truncated(text: str, limit: int) -> str:
    """Return the longest beginning of the text with at most `limit` tokens.

    >>> truncated('Marley was dead: to begin with.', 3)
    'Marley was dead'
    """
    ends = [match.end() for match in _TOKEN.finditer(text)]
    return text if len(ends) <= limit else text[: ends[limit - 1]]


def last_part(text: str, limit: int) -> str:
    """Return the longest end of the text with at most `limit` tokens.

    >>> last_part('Marley was dead: to begin with.', 3)
    'begin with.'
    """
    starts = [match.start() for match in _TOKEN.finditer(text)]
    return text if len(starts) <= limit else text[starts[-limit] :] if limit > 0 else ""


@dataclass(frozen=True)
class FakeRequest:
    """A request as rules see it: its path and JSON body.

    `number` counts all requests of the server from 0, `attempt` those with the same body from 0.
    """

    path: str
    body: Mapping[str, Any]
    number: int = 0
    attempt: int = 0

    @property
    def model(self) -> str:
        """The requested model."""
        return str(self.body.get("model", ""))

    @cached_property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """Role and text of every message."""
        messages = self.body.get("messages") or ()
        return tuple((str(message.get("role", "")), _text(message.get("content"))) for message in messages)

    @cached_property
    def prompt(self) -> str:
        """The texts of all messages (or embedding inputs), joined by line breaks."""
        if "messages" in self.body:
            return "\n".join(text for _, text in self.messages)
        return _text(self.body.get("input"))

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1][1] if self.messages else self.prompt

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema of `response_format`, None without one."""
        schema: Mapping[str, Any] | None = (self.body.get("response_format") or {}).get("json_schema", {}).get("schema")
        return schema

    @property
    def max_tokens(self) -> int | None:
        """The bound on the reply, under either of its names."""
        limit = self.body.get("max_completion_tokens") or self.body.get("max_tokens")
        return limit if isinstance(limit, int) else None

    @cached_property
    def digest(self) -> str:
        """A hash of the messages and `seed`, which alone determine made-up replies."""
        text = "\x1f".join(part for message in self.messages for part in message)
        return blake2b(f"{self.body.get('seed')}\x1f{text}".encode(errors="replace"), digest_size=12).hexdigest()


def _text(content: object) -> str:
    """Return the text of a message's content or of an input, which may be split into parts."""
    if isinstance(content, Mapping):
        return _text(content.get("text"))
    if isinstance(content, list):
        return "\n".join(map(_text, content))
    return "" if content is None else str(content)


@dataclass(frozen=True, slots=True)
class FakeReply:
    """A reply and how it is sent.

    Args:
        text: The content; None for a null content.
        finish: The finish reason; None for "length" if max_tokens cut the text, otherwise "stop".
        status: From 400 on, an error is sent with `text` as its message.
        latency: Seconds before the reply, instead of the server's.
        reasoning: What is sent before the content, as `reasoning_content`.
    """

    text: str | None = ""
    finish: str | None = None
    status: int = 200
    latency: float | None = None
    reasoning: str = ""


Maker = str | FakeReply | Sequence[str | FakeReply] | Callable[[FakeRequest], str | FakeReply]
"""A fixed reply, several in turn (the last one repeats), or a function of the request."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A reply and the requests it answers.

    Args:
        make: The reply, or a function that makes it.
        match: A regular expression searched in the messages, a function of the request, or None for every request.
        times: How often the rule answers; None for no bound.
    """

    make: Maker
    match: str | re.Pattern[str] | Callable[[FakeRequest], bool] | None = None
    times: int | None = None

    def matches(self, request: FakeRequest) -> bool:
        """Whether the rule answers this request."""
        if isinstance(self.match, str | re.Pattern):
            return re.search(self.match, request.prompt) is not None
        return self.match is None or self.match(request)


class Replies:
    """Rules in order: the first match answers, or `otherwise` if none matches."""

    def __init__(self, rules: Iterable[Rule] = (), otherwise: Maker | None = None) -> None:
        self._rules = (*rules, Rule(made_up if otherwise is None else otherwise))
        self._used = [0] * len(self._rules)

    @classmethod
    def of(cls, replies: "ReplyScript", otherwise: "Maker | None" = None) -> "Replies":
        """Return the rules of a reply, several in turn, a mapping from regular expressions to replies, or rules.

        `otherwise` answers if no rule does, and if no replies are given.
        """
        if isinstance(replies, Replies):
            return replies
        if isinstance(replies, Mapping):
            return cls([Rule(maker, expression) for expression, maker in replies.items()], otherwise)
        if isinstance(replies, Sequence) and not isinstance(replies, str):
            rules = [rule for rule in replies if isinstance(rule, Rule)]
            return cls(rules, otherwise if rules else [reply for reply in replies if not isinstance(reply, Rule)])
        return cls(otherwise=otherwise if replies is None else replies)

    @classmethod
    def read(cls, path: Path, otherwise: "Maker | None" = None) -> "Replies":
        r"""Return the rules of a file with one JSON object a line.

        The keys are those of `Rule` and `FakeReply`; `reply` is text, or JSON to be sent as text:

            {"match": "capital of France", "reply": "Paris"}
            {"match": "Ashgrove", "status": 500, "times": 2}
            {"reply": {"entities": []}, "latency": 0.5}

        Raises:
            InputError: The file cannot be read, or a line is not a rule.
        """
        try:
            lines = path.read_text("utf-8").splitlines()
            rules = [_ScriptLine.model_validate_json(line).rule() for line in lines if line.strip()]
            return cls(rules, otherwise)
        except (OSError, UnicodeDecodeError, ValidationError, re.error) as error:
            raise InputError(f"cannot read the script {path}: {error}") from error

    def answer(self, request: FakeRequest) -> FakeReply:
        """Return the reply to a request."""
        for place, rule in enumerate(self._rules):
            if (rule.times is None or self._used[place] < rule.times) and rule.matches(request):
                break
        turn = self._used[place]
        self._used[place] += 1
        maker = rule.make
        if callable(maker):
            maker = maker(request)
        elif isinstance(maker, Sequence) and not isinstance(maker, str):
            maker = maker[min(turn, len(maker) - 1)]
        return FakeReply(maker) if isinstance(maker, str) else maker


ReplyScript = Replies | Mapping[str, Maker] | Sequence[Rule] | Maker | None
"""What `Replies.of` accepts."""


class _ScriptLine(BaseModel):
    """One line of a script file."""

    model_config = ConfigDict(extra="forbid")
    match: re.Pattern[str] | None = None
    reply: JsonValue = ""
    finish: str | None = None
    status: int = Field(default=200, ge=200, le=599)
    latency: float | None = Field(default=None, ge=0)
    times: int | None = Field(default=None, ge=1)

    def rule(self) -> Rule:
        text = self.reply if isinstance(self.reply, str) else json.dumps(self.reply, ensure_ascii=False)
        return Rule(FakeReply(text, self.finish, self.status, self.latency), self.match, self.times)


_WORDS = (
    "the a of and in to from with over under near old new small large north south river valley mill bridge harbour "
    "market garden winter summer letter paper clock lantern kettle baker miller clerk captain teacher neighbour "
    "council village county museum archive ledger survey record chapter entity report relation community founded "
    "moved opened closed described visited repaired measured counted wrote carried joined led kept found gave took "
    "early later often seldom quietly together again first second third twelve forty hundred long short bright"
).split()


def prose(key: object, characters: int) -> str:
    """Return sentences of about that many characters, always the same for the same key."""
    rng = random.Random(repr(key))
    text = ""
    while len(text) < characters:
        text += " ".join(rng.choices(_WORDS, k=rng.randint(6, 18))).capitalize() + ". "
    return text[: text.index(" ", max(0, characters - 1))].rstrip(".,") + "."


def made_up(request: FakeRequest) -> str:
    """Return the reply if no rule matches: an instance of the JSON schema, a JSON object, or prose."""
    if request.schema is not None:
        rng = random.Random(request.digest)
        return json.dumps(instance(request.schema, request.schema, rng), ensure_ascii=False)
    text = prose(request.digest, 2000)
    return json.dumps({"reply": text}) if "response_format" in request.body else text


def instance(schema: Mapping[str, Any], root: Mapping[str, Any], rng: random.Random, depth: int = 0) -> Any:  # noqa: ANN401 - JSON
    """Return a value that a pydantic model's JSON schema accepts (without patterns, formats and exclusive bounds)."""
    if "$ref" in schema:
        schema = {**root["$defs"][schema["$ref"].removeprefix("#/$defs/")], **schema}
    for options in (schema.get("anyOf"), schema.get("oneOf")):
        if options:
            option = options[-1] if depth > 4 else rng.choice(options)  # None comes last
            return instance(option, root, rng, depth)
    if "const" in schema or "enum" in schema:
        return schema.get("const", rng.choice(schema.get("enum", [None])))
    match schema.get("type"):
        case "object":
            properties = schema.get("properties", {})
            return {name: instance(value, root, rng, depth + 1) for name, value in properties.items()}
        case "array":
            least = schema.get("minItems", 0)
            size = least if depth > 4 else rng.randint(max(1, least), schema.get("maxItems", max(4, least)))
            return [instance(schema.get("items", {}), root, rng, depth + 1) for _ in range(size)]
        case "integer":
            return rng.randint(schema.get("minimum", 0), schema.get("maximum", schema.get("minimum", 0) + 10))
        case "number":
            return round(rng.uniform(schema.get("minimum", 0), schema.get("maximum", 10)), 2)
        case "boolean":
            return rng.random() < 0.5
        case "null":
            return None
    text = " ".join(rng.choices(_WORDS, k=rng.randint(2, 12)))
    return text.ljust(schema.get("minLength", 0), ".")[: schema.get("maxLength")]


def embed(text: str, dimensions: int) -> npt.NDArray[np.float32]:
    """Return a unit vector: texts that share words have similar vectors.

    Every word adds 1 or -1 in eight dimensions determined by its hash.
    """
    vector = np.zeros(dimensions, dtype=np.float32)
    for word in _TOKEN.findall(text.lower()):
        places, signs = _hashed(word, dimensions)
        np.add.at(vector, places, signs)
    length = float(np.linalg.norm(vector))
    if length == 0.0:
        vector[0] = length = 1.0
    return vector / np.float32(length)


@lru_cache(maxsize=1 << 16)
def _hashed(word: str, dimensions: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    numbers = np.frombuffer(blake2b(word.encode(errors="replace"), digest_size=32).digest(), dtype="<u4")
    return (numbers >> 1).astype(np.int64) % dimensions, np.where(numbers & 1, 1.0, -1.0).astype(np.float32)
