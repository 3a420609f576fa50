"""What the server was asked, read once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from typing import Any

STRONG_BIAS = 50.0
"""From here on a logit bias is taken to force its token."""


@dataclass(frozen=True)
class FakeRequest:
    """One request for a chat completion or for embeddings, as rules see it.

    `number` counts all requests of the server from 0, `attempt` those with this very body from 0, and `sample` the
    choices of one request (`n`) from 0.
    """

    path: str
    body: Mapping[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    number: int = 0
    attempt: int = 0
    sample: int = 0

    @property
    def model(self) -> str:
        """The model asked for."""
        return str(self.body.get("model", ""))

    @cached_property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """The role and the text of every message; the texts of a message in parts are joined."""
        messages = self.body.get("messages") or ()
        return tuple((str(each.get("role", "")), text_of(each.get("content"))) for each in messages)

    @cached_property
    def prompt(self) -> str:
        """The texts of all messages (or inputs), a line break between them."""
        if "messages" in self.body:
            return "\n".join(text for _, text in self.messages)
        return text_of(self.body.get("input"))

    @property
    def last(self) -> str:
        """The text of the last message."""
        return self.messages[-1][1] if self.messages else self.prompt

    @property
    def system(self) -> str:
        """The texts of the system (or developer) messages, a line break between them."""
        return "\n".join(text for role, text in self.messages if role in ("system", "developer"))

    @property
    def step(self) -> str:
        """What the request is for, where it says so in `metadata.step` or in the header X-Step; else ""."""
        metadata = self.body.get("metadata")
        step = metadata.get("step") if isinstance(metadata, Mapping) else None
        return str(step if step is not None else self.headers.get("x-step", ""))

    @property
    def format(self) -> str:
        """The type of `response_format`: "text", "json_object" or "json_schema"."""
        wanted = self.body.get("response_format")
        return str(wanted.get("type", "text")) if isinstance(wanted, Mapping) else "text"

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """The JSON schema that the reply must follow, None where none is given."""
        if self.format != "json_schema":
            return None
        schema = self.body["response_format"].get("json_schema", {}).get("schema")
        return schema if isinstance(schema, Mapping) else None

    @property
    def max_tokens(self) -> int | None:
        """The most tokens that the reply may have, under either of its names."""
        limit = self.body.get("max_completion_tokens")
        if limit is None:
            limit = self.body.get("max_tokens")
        return limit if isinstance(limit, int) else None

    @property
    def forced(self) -> tuple[int, ...]:
        """The token ids that `logit_bias` pushes strongly (50 or more), in ascending order."""
        bias = self.body.get("logit_bias") or {}
        return tuple(sorted(int(token) for token, weight in bias.items() if weight >= STRONG_BIAS))

    @cached_property
    def digest(self) -> str:
        """A hash of the messages and of `seed`: what a made-up reply depends on."""
        said = "\x1f".join(text for pair in self.messages for text in pair)
        return blake2b(f"{self.body.get('seed')}\x1f{said}".encode(errors="replace"), digest_size=12).hexdigest()


def text_of(content: object) -> str:
    """Return the text of a message's content or of an input: a string, or parts of which some are text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return text_of(content.get("text"))
    if isinstance(content, Sequence):
        return "\n".join(text_of(part) for part in content)
    return "" if content is None else str(content)
